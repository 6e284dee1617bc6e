// Looks at what is at an address: a connection of its own, driven by the inquiry. A thin shell: it
// turns what a socket tells into events, and what the inquiry wants into writes.

import type { Socket } from 'node:net'
import { ProtocolError } from '../../base/errors.js'
import { OUR_FEATURES } from '../../base/features.js'
import { identity } from '../../base/ids.js'
import { counted } from '../../base/text.js'
import { ProcessSampler } from '../../runtime/process-statistics.js'
import { type Address, codeOf, describeError } from '../../transport/address.js'
import type { IncomingMessage } from '../../transport/options.js'
import { openStream } from '../../transport/stream.js'
import { SubSocket } from '../../transport/sub.js'
import { type ClientHeartbeat, decode, type StateScheduler } from '../../wire/message.js'
import { newClientIdentity } from '../ids.js'
import type { ConnectFinding } from './finding.js'
import { ConnectInquiry, type InquiryAction, type InquiryEvent } from './inquiry.js'

// How far the clock of another machine is from that of this one, by one question and its answer,
// and what is said of that.

/** A difference of clocks. */
export interface ClockDifference {
  /** How far the other clock is ahead of that of this machine, in milliseconds. */
  readonly aheadMs: number
  /**
   * Known up to this, in milliseconds: half of the way there and back, and what clocks of whole
   * milliseconds leave out.
   */
  readonly errorMs: number
}

/**
 * The other clock showed `theirs` when this one showed `ours` (milliseconds since 1970), half way
 * between a question and its answer that were `roundTripMs` apart.
 */
export function clockDifference(
  theirs: number,
  ours: number,
  roundTripMs: number,
): ClockDifference {
  return { aheadMs: round(theirs - ours), errorMs: round(roundTripMs / 2 + 1) }
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10
}

/** Clocks that are set by the network differ by less; above this logs and certificates mislead. */
const FAR_OFF_MS = 5_000

/** Whether the clocks differ by so much that somebody should set them. */
export function isFarOff({ aheadMs, errorMs }: ClockDifference): boolean {
  return Math.abs(aheadMs) - errorMs > FAR_OFF_MS
}

/** `is 3 days ahead of that here (± 1.5 ms)`. */
export function clockText({ aheadMs, errorMs }: ClockDifference): string {
  const difference = Math.abs(aheadMs)
  const side = aheadMs < 0 ? 'behind' : 'ahead of'
  const what =
    difference <= errorMs ? 'agrees with that here' : `is ${spanText(difference)} ${side} that here`
  return `${what} (± ${errorMs} ms)`
}

const SPANS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1_000, 'second'],
] as const

/** In the largest unit of which there are two: more precise nobody needs it. */
function spanText(ms: number): string {
  const [unitMs, unit] = SPANS.find(([each]) => ms >= 2 * each) ?? [1, undefined]
  if (unit === undefined || ms < 10_000) return `${ms} ms`
  return counted(Math.round(ms / unitMs), unit)
}

// One look at what a scheduler tells its monitors: how many workers there are and what they are
// doing. Everything else that looks at a scheduler asks the scheduler itself.

/** What monitors see, in numbers. */
export interface MonitorView {
  /** The workers that the scheduler knows. */
  readonly workers: number
  /** Of these, those that have a process that can take a task. */
  readonly readyWorkers: number
  /** Of these, those that have no task at all. */
  readonly idleWorkers: number
  /** Tasks that wait for a worker, and tasks that workers have. */
  readonly waitingTasks: number
  readonly runningTasks: number
  readonly objects: number
}

/**
 * The next state that is published at `address`, which comes once a second; undefined if none came
 * within `limitMs`.
 */
export function readMonitor(address: string, limitMs: number): Promise<MonitorView | undefined> {
  return new Promise((resolve) => {
    const finish = (view: MonitorView | undefined): void => {
      clearTimeout(timer)
      void socket.close().then(() => resolve(view))
    }
    const timer = setTimeout(() => finish(undefined), limitMs)
    const socket = new SubSocket(address, {
      onConnect: () => {},
      onDisconnect: () => {},
      onConnectFailed: () => {},
      onMessages: (messages) => {
        const state = messages.map(stateOf).find((each) => each !== undefined)
        if (state !== undefined) finish(viewOf(state))
      },
    })
    socket.subscribe('')
  })
}

/** Other things are published, too, and other programs may be there. */
function stateOf(frames: IncomingMessage): StateScheduler | undefined {
  try {
    const message = frames instanceof Uint8Array ? decode(frames) : undefined
    return message?.kind === 'stateScheduler' ? message : undefined
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

/** What it says, in numbers. */
export function viewOf(state: StateScheduler): MonitorView {
  const { workers } = state.workerManager
  const ready = workers.filter(({ itl }) => itl.startsWith('1'))
  const { unassigned, running } = state.taskManager
  return {
    workers: workers.length,
    readyWorkers: ready.length,
    idleWorkers: ready.filter(({ sent }) => sent === 0).length,
    waitingTasks: unassigned,
    runningTasks: running,
    objects: state.objectManager.numberOfObjects,
  }
}

/** How to look. */
export interface ProbeOptions {
  /** Then it is over, with what is known until then. */
  readonly limitMs: number
  /** So many heartbeats a scheduler has to answer; 0 = only the handshake is looked at. */
  readonly heartbeats: number
  /** Whether the last answer shall tell of workers and clients. */
  readonly wantsPeers?: boolean
}

/** One look at an address. Keeps the process alive until it is over. */
export class ConnectProbe {
  /** What was found; never rejects. */
  readonly finished: Promise<ConnectFinding>
  readonly #inquiry: ConnectInquiry
  readonly #socket: Socket
  readonly #timer: NodeJS.Timeout
  readonly #begun = performance.now()
  #resolve: (finding: ConnectFinding) => void = () => {}

  constructor(address: Address, { limitMs, heartbeats, wantsPeers = false }: ProbeOptions) {
    this.finished = new Promise((resolve) => {
      this.#resolve = resolve
    })
    this.#inquiry = new ConnectInquiry({
      address,
      identity: newClientIdentity(),
      heartbeats,
      heartbeat: newHeartbeat(),
      wantsPeers,
    })
    this.#timer = setTimeout(() => this.#tell({ type: 'expired' }), limitMs)
    this.#socket = openStream(address)
    this.#listen(address)
  }

  /** What is known so far, or was found. */
  get finding(): ConnectFinding {
    return this.#inquiry.finding
  }

  /** How long it has looked. */
  get elapsedMs(): number {
    return performance.now() - this.#begun
  }

  /** Ends it with what is known. */
  stop(): void {
    this.#tell({ type: 'expired' })
  }

  #listen(address: Address): void {
    const socket = this.#socket
    socket.on('connectionAttempt', (ip: string, port: number) => {
      this.#tell({ type: 'attempted', remote: remoteText(ip, port) })
    })
    socket.on('connect', () => {
      const { remoteAddress: ip, remotePort: port } = socket
      const isTcp = ip !== undefined && port !== undefined
      const path = address.kind === 'ipc' ? address.path : 'the peer'
      this.#tell({ type: 'connected', remote: isTcp ? remoteText(ip, port) : path })
    })
    socket.on('data', (bytes: Buffer) => this.#tell({ type: 'received', bytes }))
    socket.on('error', (error) => {
      this.#tell({ type: 'failed', code: firstCode(error), reason: describeError(error) })
    })
    socket.on('end', () => this.#tell({ type: 'ended' }))
    socket.on('close', () => this.#tell({ type: 'ended' }))
  }

  #tell(event: InquiryEvent): void {
    this.#inquiry.handle(event, performance.now(), (action) => this.#perform(action))
  }

  #perform(action: InquiryAction): void {
    if (action.type === 'write') {
      this.#socket.write(action.bytes)
      return
    }
    clearTimeout(this.#timer)
    // What was written is sent before the end; who does not read does not hold us.
    if (this.#socket.connecting) this.#socket.destroy()
    else this.#socket.destroySoon()
    this.#socket.unref()
    this.#resolve(action.finding)
  }
}

function newHeartbeat(): ClientHeartbeat {
  return {
    kind: 'clientHeartbeat',
    resource: new ProcessSampler().sample().resource,
    latencyUS: 0,
    features: OUR_FEATURES,
    runtime: `node/${process.versions.node}`,
    worker: identity(''),
    wantsReport: true,
    wantsPeers: false,
    info: [],
  }
}

/** Of several attempts the first that is no refusal tells more. */
function firstCode(error: Error): string {
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  const codes = errors.map((each) => codeOf(each) ?? '')
  return codes.find((code) => code !== 'ECONNREFUSED') ?? codes[0] ?? ''
}

function remoteText(ip: string, port: number): string {
  return `${ip} port ${port}`
}

// Examines a scheduler once, for `scaler doctor`: sends some heartbeats, which it must answer.

import { ProtocolError } from '../../base/errors.js'
import {
  FEATURES_WITHOUT_OBJECTS,
  isStorageServer,
  NO_SCHEDULER_HERE,
} from '../../base/features.js'
import { identity, type SchedulerId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import { ProcessSampler } from '../../runtime/process-statistics.js'
import { type Address, formatAddress } from '../../transport/address.js'
import { DealerSocket } from '../../transport/dealer.js'
import type { IncomingMessage } from '../../transport/options.js'
import { SubSocket } from '../../transport/sub.js'
import {
  type ClientHeartbeat,
  type ClientHeartbeatEcho,
  decode,
  encodeFrame,
  type SchedulerReport,
  type StateScheduler,
} from '../../wire/message.js'
import { newIdentity } from '../../runtime/peer-info.js'
import { type NoScheduler, placeOf } from './no-scheduler.js'

/** The answer of a scheduler. */
export interface SchedulerAnswer {
  readonly kind: 'scheduler'
  /** Where it is: `127.0.0.1 port 2345`. */
  readonly remote: string
  /** '' = a 1.9.9 scheduler. */
  readonly schedulerId: SchedulerId
  readonly features: number
  /** Of each heartbeat, in milliseconds. */
  readonly roundTripsMs: readonly number[]
  /** The report with the shortest round trip; undefined for a 1.9.9 scheduler. */
  readonly report: TimedReport | undefined
  /** The last report. */
  readonly last: SchedulerReport | undefined
}

/** A report, and when it was made. */
interface TimedReport {
  readonly report: SchedulerReport
  /** Half way between question and answer. */
  readonly at: InstantMs
  readonly roundTripMs: number
}

/** The limits of an examination. */
interface ProbeOptions {
  /** After this time, the result is what is known so far. */
  readonly limitMs: number
  /** The number of heartbeats that are sent; at least one. */
  readonly heartbeats: number
  /** Whether the last answer must list workers and clients. */
  readonly wantsPeers?: boolean
}

/** Enough for a thousand workers and clients. */
const MAX_FRAME_BYTES = 67_108_864
/** How long the end of the connection may take. The process stays alive until then. */
const LINGER_MS = 200

/** Examines the scheduler at an address once. */
export function probeScheduler(
  address: Address,
  options: ProbeOptions,
): Promise<SchedulerAnswer | NoScheduler> {
  return new Promise((resolve) => new SchedulerProbe(address, options, resolve))
}

class SchedulerProbe {
  readonly #options: ProbeOptions
  readonly #remote: string
  readonly #heartbeat = newHeartbeat()
  readonly #roundTripsMs: number[] = []
  readonly #socket: DealerSocket
  readonly #timer: NodeJS.Timeout
  #resolve: ((finding: SchedulerAnswer | NoScheduler) => void) | undefined
  #askedAt: InstantMs = 0
  #echo: ClientHeartbeatEcho | undefined
  #report: TimedReport | undefined

  constructor(
    address: Address,
    options: ProbeOptions,
    resolve: (finding: SchedulerAnswer | NoScheduler) => void,
  ) {
    this.#options = options
    this.#remote = placeOf(address)
    this.#resolve = resolve
    const { limitMs } = options
    this.#timer = setTimeout(() => this.#finish(this.#finding), limitMs)
    const handler = {
      onConnect: () => this.#onConnect(),
      onMessages: (messages: readonly IncomingMessage[]) => this.#onMessages(messages),
      onDisconnect: () => this.#finish(this.#finding),
      onConnectFailed: () => this.#finish(this.#finding),
      onDrain: () => {},
    }
    this.#socket = new DealerSocket(formatAddress(address), newIdentity('Client'), handler, {
      handshakeTimeoutMs: limitMs,
      maxFrameBytes: MAX_FRAME_BYTES,
      lingerMs: LINGER_MS,
    })
  }

  /** What is known so far. */
  get #finding(): SchedulerAnswer | NoScheduler {
    if (this.#echo === undefined) return this.#socket.end
    const { schedulerId, features, reports } = this.#echo
    return {
      kind: 'scheduler',
      remote: this.#remote,
      schedulerId,
      features,
      roundTripsMs: this.#roundTripsMs,
      report: this.#report,
      last: reports[0],
    }
  }

  #onConnect(): void {
    const { end } = this.#socket
    if (end.peerType === 'ROUTER') this.#ask()
    else this.#finish({ ...end, kind: 'wrongSocket' })
  }

  #ask(): void {
    const { heartbeats, wantsPeers = false } = this.#options
    const isLast = this.#roundTripsMs.length === heartbeats - 1
    this.#askedAt = performance.now()
    this.#socket.send(encodeFrame({ ...this.#heartbeat, wantsPeers: wantsPeers && isLast }))
  }

  #onMessages(messages: readonly IncomingMessage[]): void {
    try {
      for (const frames of messages) this.#onEcho(echoOf(frames))
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#finish({ kind: 'notScheduler', reason: error.message })
    }
  }

  #onEcho(echo: ClientHeartbeatEcho): void {
    if (isStorageServer(echo)) throw new ProtocolError(NO_SCHEDULER_HERE)
    const now = performance.now()
    const roundTripMs = now - this.#askedAt
    const [report] = echo.reports
    this.#echo = echo
    this.#roundTripsMs.push(roundTripMs)
    if (report !== undefined && roundTripMs < (this.#report?.roundTripMs ?? Infinity)) {
      this.#report = { report, at: (now + this.#askedAt) / 2, roundTripMs }
    }
    if (this.#roundTripsMs.length < this.#options.heartbeats) return this.#ask()
    this.#socket.send(encodeFrame({ kind: 'clientDisconnect', disconnectType: 'disconnect' }))
    this.#finish(this.#finding)
  }

  #finish(finding: SchedulerAnswer | NoScheduler): void {
    clearTimeout(this.#timer)
    this.#resolve?.(finding)
    this.#resolve = undefined
    void this.#socket.close()
  }
}

/** Throws `ProtocolError` for any other message. */
function echoOf(frames: IncomingMessage): ClientHeartbeatEcho {
  if (!(frames instanceof Uint8Array)) throw new ProtocolError('a message of several frames')
  const message = decode(frames)
  if (message.kind === 'clientHeartbeatEcho') return message
  throw new ProtocolError(`a ${message.kind} message instead of an echo`)
}

function newHeartbeat(): ClientHeartbeat {
  return {
    kind: 'clientHeartbeat',
    resource: new ProcessSampler().sample().resource,
    latencyUS: 0,
    features: FEATURES_WITHOUT_OBJECTS,
    runtime: `node/${process.versions.node}`,
    worker: identity(''),
    wantsReport: true,
    wantsPeers: false,
    info: [],
  }
}

// Reads once what a scheduler publishes for monitors.

/** What monitors see, as numbers. */
export interface MonitorView {
  /** The workers that the scheduler knows. */
  readonly workers: number
  /** The number of them that have a process that can accept a task. */
  readonly readyWorkers: number
  /** The number of them that have no task. */
  readonly idleWorkers: number
  /** Tasks that wait for a worker, and tasks that workers have. */
  readonly waitingTasks: number
  readonly runningTasks: number
  readonly objects: number
}

/**
 * The next state published at `address`, one a second; undefined if none arrived within `limitMs`.
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

/** Undefined for any other message: more is published, and another program may be there. */
function stateOf(frames: IncomingMessage): StateScheduler | undefined {
  try {
    const message = frames instanceof Uint8Array ? decode(frames) : undefined
    return message?.kind === 'stateScheduler' ? message : undefined
  } catch (error) {
    if (error instanceof ProtocolError) return undefined
    throw error
  }
}

/** A state in numbers. */
function viewOf(state: StateScheduler): MonitorView {
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

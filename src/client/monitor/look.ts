// Looks at a cluster as a monitor: a connection of its own beside that of the client, so that what
// it receives holds up no task. docs/protocol.md#monitors

import { unreachable } from '../../base/assert.js'
import { ConfigError, ConnectError, ProtocolError, TimeoutError } from '../../base/errors.js'
import { OUR_FEATURES } from '../../base/features.js'
import { identity, type Identity, taskId } from '../../base/ids.js'
import type { Logger } from '../../base/logger.js'
import { checkNames } from '../../base/option.js'
import type { ClusterEvent, ClusterInfo } from './cluster-info.js'
import {
  type MonitorAction,
  type MonitorEvent,
  MonitorMachine,
  type MonitorWishes,
} from '../../core/monitor/monitor-machine.js'
import { ClusterPicture } from './picture.js'
import { type OperatorReply, operatorReply } from './operator-reply.js'
import { Driver } from '../../runtime/driver.js'
import { peerInfo } from '../../runtime/peer-info.js'
import { ProcessSampler } from '../../runtime/process-statistics.js'
import { DealerSocket } from '../../transport/dealer.js'
import type { IncomingMessage } from '../../transport/options.js'
import {
  decode,
  encodeFrame,
  type MonitorReport,
  type OperatorAnswer,
  type OperatorRequest,
} from '../../wire/message.js'
import { newClientIdentity } from '../ids.js'

/** Options of `Client.info` and `Client.events`. */
export interface LookOptions {
  /** Aborting it ends the call or the loop, which then throws its reason. */
  readonly signal?: AbortSignal | undefined
}

/** What is looked at, and how. */
export interface MonitorSetup {
  readonly address: string
  readonly heartbeatIntervalMs: number
  readonly logger: Logger
}

/** How a link tells what it sees. */
interface MonitorHandler {
  /** One report. `events` is empty if there is nothing to tell. */
  onReport(events: readonly ClusterEvent[], picture: ClusterPicture, link: MonitorLink): void
  /** The answer to the request. */
  onAnswer?(answer: OperatorAnswer): void
  /** The scheduler serves no monitors of this kind. */
  onRefused(): void
  /** A bug of ours. */
  onFault(error: unknown): void
}

/** The connection of one monitor. Keeps the process alive until it is closed. */
export class MonitorLink {
  readonly #identity: Identity = newClientIdentity()
  readonly #handler: MonitorHandler
  readonly #logger: Logger
  readonly #sampler = new ProcessSampler()
  readonly #driver: Driver<MonitorEvent, MonitorAction>
  readonly #socket: DealerSocket
  #picture: ClusterPicture

  constructor(setup: MonitorSetup, wishes: MonitorWishes | undefined, handler: MonitorHandler) {
    const { address, heartbeatIntervalMs, logger } = setup
    this.#handler = handler
    this.#logger = logger
    this.#picture = new ClusterPicture(address)
    this.#driver = new Driver({
      machine: new MonitorMachine({ wishes, heartbeatIntervalMs }),
      tick: { type: 'tick' },
      perform: (action) => this.#perform(action),
      onFault: (error) => handler.onFault(error),
    })
    const dealer = {
      onConnect: () => this.#driver.handle({ type: 'connected' }),
      onDisconnect: () => this.#driver.handle({ type: 'disconnected' }),
      onConnectFailed: () => {},
      onDrain: () => {},
      onMessages: (messages: readonly IncomingMessage[]) => {
        for (const message of messages) this.#onMessage(message)
      },
    }
    const options = { queueWhileDisconnected: false, logger }
    this.#socket = new DealerSocket(address, this.#identity, dealer, options)
  }

  /** The reader has taken all of one report: the scheduler may send another one. */
  read(): void {
    this.#driver.handle({ type: 'reportRead' })
  }

  /** Sends a request, once the scheduler takes it. One at a time. */
  request(request: OperatorRequest): void {
    this.#driver.handle({ type: 'requested', request })
  }

  /** Leaves. */
  async close(): Promise<void> {
    this.#driver.stop()
    this.#socket.send(encodeFrame({ kind: 'clientDisconnect', disconnectType: 'disconnect' }))
    await this.#socket.close()
  }

  #onMessage(frames: IncomingMessage): void {
    try {
      if (!(frames instanceof Uint8Array)) throw new ProtocolError('more than one frame')
      this.#driver.handle({ type: 'messageReceived', message: decode(frames) })
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#logger.warn('dropped a malformed message', { error: error.message })
    }
  }

  #perform(action: MonitorAction): void {
    switch (action.type) {
      case 'send':
        this.#socket.send(encodeFrame(action.message))
        return
      case 'sendHeartbeat':
        return this.#sendHeartbeat()
      case 'greet':
        return this.#picture.onEcho(action.report)
      case 'report':
        return this.#onReport(action.report, action.isFirst)
      case 'answer':
        return this.#handler.onAnswer?.(action.answer)
      case 'refuse':
        return this.#handler.onRefused()
      case 'log':
        return this.#logger[action.level](action.text, action.fields)
      default:
        unreachable(action)
    }
  }

  #onReport(report: MonitorReport, isFirst: boolean): void {
    if (isFirst) this.#picture = this.#picture.ofNextScheduler()
    const events: ClusterEvent[] = []
    this.#picture.onReport(report, Date.now(), (event) => events.push(event))
    this.#handler.onReport(events, this.#picture, this)
  }

  #sendHeartbeat(): void {
    const heartbeat = {
      kind: 'clientHeartbeat',
      resource: this.#sampler.sample().resource,
      latencyUS: 0,
      features: OUR_FEATURES,
      runtime: `node/${process.versions.node}`,
      worker: identity(''),
      wantsReport: true,
      wantsPeers: false,
      info: [peerInfo({ name: '' })],
    } as const
    this.#socket.send(encodeFrame(heartbeat))
  }
}

/** What a cluster is like now. See `Client.info`. */
export function lookAtCluster(
  setup: MonitorSetup,
  { timeoutMs, ...options }: LookOptions & { readonly timeoutMs: number },
): Promise<ClusterInfo> {
  const signal = checkedSignal('info', options)
  const question = { setup, timeoutMs, signal, wishes: { events: false, failures: true } }
  return answerTo<ClusterInfo>(question, (answer, fail) => ({
    onReport: (_, picture, link) => {
      const info = picture.isComplete ? picture.info(Date.now()) : undefined
      if (info !== undefined) answer(info)
      else link.read()
    },
    onRefused: () => fail(refusal(setup.address)),
    onFault: fail,
  }))
}

/** A question or an order, about a task (its id or the beginning of it) or about a worker. */
export interface OperatorQuestion {
  readonly action: OperatorRequest['action']
  readonly task?: string
  readonly worker?: string
  /** logs: at most so many. */
  readonly lines?: number
  /** drain: how long running tasks get, in milliseconds. */
  readonly limitMs?: number
}

/** Asks as an operator. docs/protocol.md#operators */
export function requestOf(
  setup: MonitorSetup,
  question: OperatorQuestion,
  timeoutMs: number,
): Promise<OperatorReply> {
  const { action, task = '', worker = '', lines = 0, limitMs: limitMS = 0 } = question
  const about = { action, task, taskId: taskId(''), worker: identity(worker), lines, limitMS }
  const request = { kind: 'operatorRequest', number: 1, ...about } as const
  const asked = { setup, timeoutMs, signal: undefined, wishes: undefined, request }
  return answerTo<OperatorReply>(asked, (answer, fail) => ({
    onReport: () => {},
    onAnswer: (sent) => answer(operatorReply(sent, Date.now())),
    onRefused: () => fail(requestRefusal(setup.address)),
    onFault: fail,
  }))
}

/** What is asked over a connection of its own, which is closed after the answer. */
interface Question {
  readonly setup: MonitorSetup
  readonly timeoutMs: number
  readonly signal: AbortSignal | undefined
  readonly wishes: MonitorWishes | undefined
  readonly request?: OperatorRequest
}

/** Rejects with `TimeoutError` without an answer, and with the reason of the signal. */
async function answerTo<T>(
  { setup, timeoutMs, signal, wishes, request }: Question,
  handler: (answer: (value: T) => void, fail: (error: unknown) => void) => MonitorHandler,
): Promise<T> {
  signal?.throwIfAborted()
  let resolve: (value: T) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle))
  const link = new MonitorLink(setup, wishes, handler(resolve, reject))
  if (request !== undefined) link.request(request)
  const onAbort = (): void => reject(signal?.reason)
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => {
    const text = `no answer from the scheduler at ${setup.address} within ${timeoutMs} ms`
    reject(new TimeoutError(text, { reason: 'no-scheduler' }))
  }, timeoutMs)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
    await link.close()
  }
}

/** What happens in a cluster from now on. See `Client.events`. */
export async function* watchCluster(
  setup: MonitorSetup,
  { closed, ...options }: LookOptions & { readonly closed: Promise<void> },
): AsyncGenerator<ClusterEvent, void, undefined> {
  const signal = checkedSignal('events', options)
  signal?.throwIfAborted()
  /** Reports that have come and were not taken; the scheduler sends no more than a few. */
  const reports: (readonly ClusterEvent[])[] = []
  let wake = (): void => {}
  let end: (() => void) | undefined
  const finish = (how: () => void): void => {
    end ??= how
    wake()
  }
  const onAbort = (): void => finish(() => signal?.throwIfAborted())
  signal?.addEventListener('abort', onAbort, { once: true })
  void closed.then(() => finish(() => {}))
  const link = new MonitorLink(
    setup,
    { events: true, failures: false },
    {
      onReport: (events) => {
        reports.push(events)
        wake()
      },
      onRefused: () => finish(() => thrown(refusal(setup.address))),
      onFault: (error) => finish(() => thrown(error)),
    },
  )
  try {
    while (end === undefined) {
      const report = reports.shift()
      if (report === undefined) {
        await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      yield* report
      link.read()
    }
    end()
  } finally {
    signal?.removeEventListener('abort', onAbort)
    await link.close()
  }
}

function checkedSignal(call: string, options: LookOptions): AbortSignal | undefined {
  checkNames(call, { signal: true }, options)
  const { signal } = options
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw new ConfigError('option signal: expected an AbortSignal')
}

function thrown(error: unknown): never {
  throw error
}

function requestRefusal(address: string): ConnectError {
  return new ConnectError(
    `the scheduler at ${address} takes no requests: it is older, or one of Python Scaler`,
  )
}

function refusal(address: string): ConnectError {
  return new ConnectError(
    `the scheduler at ${address} serves no monitors: it is one of Python Scaler`,
  )
}

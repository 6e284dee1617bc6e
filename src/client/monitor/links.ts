// The connections over which a cluster is looked at: to a scheduler that serves monitors, or to
// what a scheduler of Python Scaler publishes. docs/protocol.md#monitors, docs/protocol.md#monitor

import { unreachable } from '../../base/assert.js'
import { ConnectError, ProtocolError } from '../../base/errors.js'
import { FEATURES_WITHOUT_OBJECTS } from '../../base/features.js'
import { identity, type Identity } from '../../base/ids.js'
import type { Logger } from '../../base/logger.js'
import {
  type MonitorAction,
  type MonitorEvent,
  MonitorMachine,
  type MonitorWishes,
} from '../../core/monitor/monitor-machine.js'
import { PublishedState } from '../../core/monitor/published.js'
import { Driver } from '../../runtime/driver.js'
import { newIdentity, peerInfo } from '../../runtime/peer-info.js'
import { ProcessSampler } from '../../runtime/process-statistics.js'
import { formatAddress, parseConnectAddress } from '../../transport/address.js'
import { DealerSocket } from '../../transport/dealer.js'
import type { ConnectionEnd } from '../../transport/end.js'
import type { IncomingMessage } from '../../transport/options.js'
import { SubSocket } from '../../transport/sub.js'
import {
  type AllocatorStatus,
  decode,
  encodeFrame,
  type Message,
  type MonitorReport,
  type OperatorAnswer,
  type OperatorRequest,
} from '../../wire/message.js'
import type { TlsOption } from '../../transport/tls/options.js'
import { monitorBeside } from '../connect/no-scheduler.js'
import type { ClusterEvent } from './cluster-info.js'
import { ClusterPicture } from './picture.js'

/** What is looked at, and how. */
export interface MonitorSetup extends TlsOption {
  /** Of the scheduler; undefined if only what it publishes is known. */
  readonly address: string | undefined
  /**
   * Where a scheduler of Python Scaler publishes; undefined: two ports above `address`. At least
   * one of both addresses is known.
   */
  readonly monitorAddress?: string | undefined
  readonly heartbeatIntervalMs: number
  readonly logger: Logger
}

/** A connection to look through. Keeps the process alive until it is closed. */
export interface Link {
  /** The beginning of a sentence that says who has not answered: `no answer from …`. */
  readonly silence: string
  /** The reader has taken all of one report: the scheduler may send another one. */
  read(): void
  /** Leaves. */
  close(): Promise<void>
}

/** How a link tells what it sees. */
interface MonitorHandler {
  /** One report. `events` is empty if there is nothing to tell. */
  onReport(events: readonly ClusterEvent[], picture: ClusterPicture, link: Link): void
  /** The answer to a request. */
  onAnswer?(answer: OperatorAnswer): void
  /** An order for an allocator. */
  onOrder?(request: OperatorRequest): void
  /** The scheduler serves no monitors, or takes no requests: it is older, or of Python Scaler. */
  onRefused?(): void
  /** The scheduler has no room for another monitor, until a report comes all the same. */
  onCrowded?(error: ConnectError): void
  /** An attempt to connect to the scheduler has failed; another one follows. */
  onConnectFailed?(end: ConnectionEnd): void
  /** A bug of ours. */
  onFault(error: unknown): void
}

/**
 * Looks at a cluster: through the scheduler, or if that serves no monitors, through what it
 * publishes.
 */
export class ClusterLink implements Link {
  #link: Link

  constructor(setup: MonitorSetup, wishes: MonitorWishes, handler: MonitorHandler) {
    const { address } = setup
    if (address === undefined) {
      this.#link = new PublishedLink(setup, handler)
      return
    }
    const onRefused = (): void => {
      void this.#link.close()
      this.#link = new PublishedLink(setup, handler)
    }
    this.#link = new MonitorLink({ ...setup, address }, wishes, { ...handler, onRefused })
  }

  get silence(): string {
    return this.#link.silence
  }

  read(): void {
    this.#link.read()
  }

  close(): Promise<void> {
    return this.#link.close()
  }
}

/** The setup of a link that talks to the scheduler. */
export type SchedulerSetup = MonitorSetup & { readonly address: string }

/** A connection to a scheduler that serves monitors. */
export class MonitorLink implements Link {
  readonly silence: string
  readonly #address: string
  readonly #identity: Identity = newIdentity('Client')
  readonly #handler: MonitorHandler
  readonly #logger: Logger
  readonly #sampler = new ProcessSampler()
  readonly #driver: Driver<MonitorEvent, MonitorAction>
  readonly #socket: DealerSocket
  #picture: ClusterPicture

  constructor(setup: SchedulerSetup, wishes: MonitorWishes | undefined, handler: MonitorHandler) {
    const { address, heartbeatIntervalMs, logger, tls } = setup
    this.silence = `no answer from the scheduler at ${address}`
    this.#address = address
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
      onConnectFailed: (end: ConnectionEnd) => handler.onConnectFailed?.(end),
      onDrain: () => {},
      onMessages: (messages: readonly IncomingMessage[]) => {
        for (const message of messages) this.#onMessage(message)
      },
    }
    const options = { queueWhileDisconnected: false, logger, tls }
    this.#socket = new DealerSocket(address, this.#identity, dealer, options)
  }

  read(): void {
    this.#driver.handle({ type: 'reportRead' })
  }

  /** Announces an allocator, if the scheduler understands it. */
  announce(status: AllocatorStatus): void {
    this.#driver.handle({ type: 'announced', status })
  }

  /** Answers an order. */
  answer(answer: OperatorAnswer): void {
    this.#driver.handle({ type: 'answered', answer })
  }

  /** Sends a request, once the scheduler takes it. Each has another number. */
  request(request: OperatorRequest): void {
    this.#driver.handle({ type: 'requested', request })
  }

  async close(): Promise<void> {
    this.#driver.stop()
    this.#socket.send(encodeFrame({ kind: 'clientDisconnect', disconnectType: 'disconnect' }))
    await this.#socket.close()
  }

  #onMessage(frames: IncomingMessage): void {
    const message = decoded(frames, this.#logger)
    if (message !== undefined) this.#driver.handle({ type: 'messageReceived', message })
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
      case 'order':
        return this.#handler.onOrder?.(action.request)
      case 'refuse':
        return this.#handler.onRefused?.()
      case 'crowded':
        return this.#onCrowded(action.note)
      case 'log':
        return this.#logger[action.level](action.text, action.fields)
      default:
        unreachable(action)
    }
  }

  #onReport(report: MonitorReport, isFirst: boolean): void {
    if (isFirst) this.#picture = this.#picture.ofNextScheduler()
    tell(report, this.#picture, this.#handler, this)
  }

  #onCrowded(note: string): void {
    const text = `the scheduler at ${this.#address} has no room for another monitor: ${note}`
    if (this.#handler.onCrowded === undefined) this.#logger.warn(text)
    else this.#handler.onCrowded(new ConnectError(`${text}; try again later`))
  }

  #sendHeartbeat(): void {
    const heartbeat = {
      kind: 'clientHeartbeat',
      resource: this.#sampler.sample().resource,
      latencyUS: 0,
      features: FEATURES_WITHOUT_OBJECTS,
      runtime: `node/${process.versions.node}`,
      worker: identity(''),
      wantsReport: true,
      wantsPeers: false,
      info: [peerInfo({ name: '' })],
    } as const
    this.#socket.send(encodeFrame(heartbeat))
  }
}

/** Reports that may be unread; of further ones, events are only counted. */
const MAX_UNREAD = 4

/** A connection to what a scheduler publishes: all that one of Python Scaler tells. */
class PublishedLink implements Link {
  readonly silence: string
  readonly #socket: SubSocket
  readonly #published = new PublishedState()
  readonly #handler: MonitorHandler
  readonly #logger: Logger
  readonly #picture: ClusterPicture
  #unread = 0
  #lostEvents = 0

  constructor({ address, logger, tls, ...setup }: MonitorSetup, handler: MonitorHandler) {
    const monitorAddress = setup.monitorAddress ?? publishedBeside(address)
    this.silence = `no monitor message was published at ${monitorAddress}`
    this.#handler = handler
    this.#logger = logger
    this.#picture = new ClusterPicture(address, monitorAddress)
    const sub = {
      onConnect: () => {},
      onDisconnect: () => {},
      onConnectFailed: () => {},
      onMessages: (messages: readonly IncomingMessage[]) => {
        for (const message of messages) this.#onMessage(message)
      },
    }
    this.#socket = new SubSocket(monitorAddress, sub, { logger, tls })
    this.#socket.subscribe('')
  }

  read(): void {
    this.#unread -= 1
  }

  close(): Promise<void> {
    return this.#socket.close()
  }

  #onMessage(frames: IncomingMessage): void {
    const message = decoded(frames, this.#logger)
    const report = message && this.#published.handle(message, performance.now())
    if (report === undefined) return
    // A publisher does not wait for its readers.
    if (this.#unread >= MAX_UNREAD) {
      this.#lostEvents += report.events.length + report.lostEvents
      return
    }
    this.#unread += 1
    const lostEvents = report.lostEvents + this.#lostEvents
    this.#lostEvents = 0
    tell({ ...report, lostEvents }, this.#picture, this.#handler, this)
  }
}

function publishedBeside(address: string | undefined): string {
  const beside = address === undefined ? undefined : monitorBeside(parseConnectAddress(address))
  return beside === undefined ? '' : formatAddress(beside)
}

/** Undefined for a malformed message, which is logged. */
function decoded(frames: IncomingMessage, logger: Logger): Message | undefined {
  try {
    if (!(frames instanceof Uint8Array)) throw new ProtocolError('more than one frame')
    return decode(frames)
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error
    logger.warn('dropped a malformed message', { error: error.message })
    return undefined
  }
}

function tell(
  report: MonitorReport,
  picture: ClusterPicture,
  handler: MonitorHandler,
  link: Link,
): void {
  const events: ClusterEvent[] = []
  picture.onReport(report, Date.now(), (event) => events.push(event))
  handler.onReport(events, picture, link)
}

// The scheduler's shell: a ROUTER for clients and workers, a PUB for monitors, and the machine
// between them. It turns frames into events and actions into frames; the machine decides.

import { randomBytes } from 'node:crypto'
import { bytesToLatin1 } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { type Identity, schedulerId, type SchedulerId } from '../base/ids.js'
import { type LogFields, type Logger, type LogLevel, logsTasks } from '../base/logger.js'
import type { ReportedEcho, SchedulerAction, SchedulerEvent } from '../core/scheduler/events.js'
import type { StorageLimits } from '../core/scheduler/object/room.js'
import type { SchedulerMachine } from '../core/scheduler/scheduler-machine.js'
import { argumentError, asCalled, captureSite } from '../runtime/call-site.js'
import { requireNode } from '../runtime/child-environment.js'
import { Driver } from '../runtime/driver.js'
import { type CodeLog, openCodeLog } from '../runtime/log/log.js'
import { OutputGate } from '../runtime/log/output-gate.js'
import { MessageReader } from '../runtime/message-reader.js'
import { packageVersion, ProcessSampler } from '../runtime/process-statistics.js'
import { formatAddress, parseAddress } from '../transport/address.js'
import { DescriptorRoom } from '../transport/descriptor-room.js'
import type { IncomingMessage } from '../transport/options.js'
import { PubSocket } from '../transport/pub.js'
import { RouterSocket } from '../transport/router.js'
import { encodeFrame, type Message, type SharedObject, type WorkerReport } from '../wire/message.js'
import {
  type CheckedSchedulerOptions,
  checkSchedulerOptions,
  type SchedulerStartOptions,
} from './scheduler-options.js'
import { boundedLogger } from './bounded-logger.js'
import { MetricsServer } from './metrics-server.js'
import { bindMonitor, checkMonitorPort, monitorError } from './monitor-address.js'
import { ObjectStorage } from './object-storage.js'
import { PeerPlaces } from './peer-places.js'
import { TurnMeter } from './turn-meter.js'

/** The reason when the program itself closes the scheduler. */
const CLOSED = 'closed'
/** How often the full state is published to monitors. */
const STATUS_INTERVAL_MS = 1000

/** Requests about copies of objects, to a scheduler that only stores objects. */
const COPY_REQUESTS: ReadonlySet<SharedObject['type']> = new Set(['copy', 'source'])

/** Answers such a request. Never rejects. @internal */
type AnswerCopy = (message: SharedObject) => Promise<SharedObject>

/** What a scheduler is made of. */
interface SchedulerParts {
  /** Handles requests for copies of objects, if it only stores objects. */
  readonly answer: AnswerCopy | undefined
  readonly log: CodeLog
  readonly options: CheckedSchedulerOptions
  readonly newMachine: (storage: StorageLimits) => SchedulerMachine
}

function isParts(given: object | undefined): given is SchedulerParts {
  return given instanceof Object && 'newMachine' in given
}

/** Why a scheduler has stopped. */
export interface SchedulerEnd {
  /** Why it has stopped, as a text. */
  readonly reason: string
  /** Whether an internal error stopped it. */
  readonly isFailure: boolean
}

/** Requests of a monitor with more unread bytes than this are ignored. */
const MAX_UNREAD_BYTES = 4 * 2 ** 20

/** A scheduler in this process. It keeps the process alive until it is closed. */
export class Scheduler implements AsyncDisposable {
  /** Resolves when the scheduler has stopped: closed, shut down by a client, or after a bug. */
  readonly ended: Promise<SchedulerEnd>
  readonly #answerCopy: AnswerCopy | undefined
  readonly #log: CodeLog
  readonly #logger: Logger
  readonly #driver: Driver<SchedulerEvent, SchedulerAction>
  readonly #reader = new MessageReader((text, fields) => this.#tell('warn', text, fields))
  readonly #places = new PeerPlaces()
  readonly #storage: ObjectStorage
  readonly #sampler = new ProcessSampler()
  /** Read once: later there may be no file descriptor for it. */
  readonly #version = packageVersion()
  readonly #machine: SchedulerMachine
  readonly #outputGate = new OutputGate({
    send: (client, frame) => this.#router?.send(client, frame),
    queuedBytes: (client) => this.#router?.queuedBytes(client) ?? 0,
  })
  readonly #turns = new TurnMeter()
  #router: RouterSocket | undefined
  #monitor: PubSocket | undefined
  #metrics: MetricsServer | undefined
  #isReady = false
  #statusTimer: NodeJS.Timeout | undefined
  #closing: Promise<void> | undefined
  #end: (end: SchedulerEnd) => void = () => {}

  private constructor(parts: SchedulerParts | SchedulerStartOptions | undefined) {
    // The compiler refuses `new`; JavaScript does not.
    if (!isParts(parts)) {
      throw argumentError('new Scheduler() starts nothing; use await Scheduler.start(options)')
    }
    const { log, options, newMachine, answer } = parts
    this.#answerCopy = answer
    this.#storage = new ObjectStorage({
      send: (to, message) => {
        let isTaken = true
        this.#try({ type: 'send', to, message }, () => {
          isTaken = this.#router?.send(to, encodeFrame(message)) ?? true
        })
        return isTaken
      },
      onEvent: (event) => {
        this.#turns.begin()
        this.#driver.handle(event)
      },
      onOutdated: (peer, objectIds) =>
        this.#driver.handle({ type: 'responseOutdated', peer, objectIds }),
      setReading: (peer, isReading) => {
        if (isReading) this.#router?.startReading(peer)
        else this.#router?.stopReading(peer)
      },
      logger: log.logger,
      tls: options.tls,
      tell: (text, fields) => this.#tell('warn', text, fields ?? {}),
    })
    const machine = newMachine(this.#storage.open(options))
    this.#machine = machine
    this.#log = log
    this.#logger = log.logger
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#driver = new Driver({
      machine,
      tick: { type: 'tick' },
      perform: (action) => this.#perform(action),
      onFault: (error) => this.#onFault(error),
      onDue: () => {
        this.#turns.begin()
        this.#driver.handle({ type: 'tick' })
      },
    })
  }

  /**
   * Binds both addresses and serves. With port 0 the system chooses a port. Rejects with
   * `ConfigError` for a bad option or address, and with the system's error if it cannot bind;
   * nothing is left open then.
   */
  static start(options: SchedulerStartOptions): Promise<Scheduler> {
    return asCalled(captureSite(1), () => Scheduler.#start(options))
  }

  /**
   * A scheduler that only stores objects. `answer` handles requests for copies. Rejects like
   * `start`. @internal
   */
  static startStorage(options: SchedulerStartOptions, answer: AnswerCopy): Promise<Scheduler> {
    return Scheduler.#start(options, answer)
  }

  static async #start(options: SchedulerStartOptions, answer?: AnswerCopy): Promise<Scheduler> {
    requireNode()
    const isStorage = answer !== undefined
    const checked = checkSchedulerOptions(options)
    // Most programs that import the library start no scheduler.
    const { SchedulerMachine } = await import('../core/scheduler/scheduler-machine.js')
    const id = schedulerId(bytesToLatin1(randomBytes(16)))
    const opened = await openCodeLog(options)
    const { logger, close } = boundedLogger(opened.logger)
    const closeAll = (): Promise<void> => {
      close()
      return opened.close()
    }
    const log = { ...opened, logger, close: closeAll }
    const core = { ...checked, schedulerId: id, isStorage, logsTasks: logsTasks(log.logger) }
    const newMachine = (storage: StorageLimits): SchedulerMachine =>
      new SchedulerMachine({ ...core, storage })
    let scheduler: Scheduler | undefined
    try {
      scheduler = new Scheduler({ log, options: checked, newMachine, answer })
      await scheduler.#bind(options, checked)
    } catch (error) {
      if (scheduler !== undefined) await scheduler.#abandon()
      await log.close()
      throw error
    }
    scheduler.#startStatus()
    scheduler.#isReady = true
    return scheduler
  }

  /** It could not start. */
  async #abandon(): Promise<void> {
    await this.#router?.close()
    await this.#metrics?.close()
    await this.#storage.close()
  }

  /** New each time that a scheduler starts. @internal */
  get id(): SchedulerId {
    return this.#machine.id
  }

  /** Where clients and workers connect, with the actual port. */
  get address(): string {
    return this.#router?.address ?? ''
  }

  /** Where monitors subscribe, with the actual port. */
  get monitorAddress(): string {
    return this.#monitor?.address ?? ''
  }

  /** Where metrics are served, as `host:port` with the actual port; empty if nowhere. */
  get metricsAddress(): string {
    return this.#metrics?.address ?? ''
  }

  /** Stops. Peers receive no message, as with any scheduler: they notice. Safe to call twice. */
  close(): Promise<void> {
    return this.#finish({ reason: CLOSED, isFailure: false })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #bind(options: SchedulerStartOptions, checked: CheckedSchedulerOptions): Promise<void> {
    const { maxMessageBytes: maxFrameBytes, maxQueuedBytes, handshakeTimeoutMs } = checked
    const address = parseAddress(options.address)
    const descriptorRoom = new DescriptorRoom()
    await this.#serveMetrics(options.metricsAddress, descriptorRoom)
    if (options.monitorAddress === undefined) checkMonitorPort(address)
    const both = { handshakeTimeoutMs, descriptorRoom, logger: this.#logger, tls: checked.tls }
    const limits = { ...both, maxFrameBytes, maxQueuedBytes }
    const router = await RouterSocket.bind(formatAddress(address), this.#handler(), limits)
    this.#router = router
    this.#storage.onListening(router.address, checked)
    const onSubscriptions = (count: number): void =>
      this.#driver.handle({ type: 'subscribersChanged', count })
    const bind = (at: string): Promise<PubSocket> =>
      PubSocket.bind(at, onSubscriptions, both, router.address).catch((error: unknown) => {
        throw monitorError(error, options.monitorAddress, router.address)
      })
    const { monitorAddress } = options
    if (monitorAddress === '') return
    this.#monitor = await (monitorAddress === undefined
      ? bindMonitor(address, router.address, bind)
      : bind(monitorAddress))
  }

  async #serveMetrics(address: string | undefined, descriptorRoom: DescriptorRoom): Promise<void> {
    if (address === undefined) return
    this.#metrics = await MetricsServer.listen(address, {
      snapshot: () => {
        this.#turns.begin()
        return { ...this.#machine.metrics, turns: this.#turns.total }
      },
      isReady: () => this.#isReady,
      onError: (error, count) => this.#tell('warn', 'cannot serve metrics', { error, count }),
      descriptorRoom,
    })
  }

  #handler(): Parameters<typeof RouterSocket.bind>[1] {
    return {
      onMessages: (from, messages) => {
        this.#turns.begin()
        for (const message of messages) this.#onMessage(from, message)
      },
      onConnect: (peer, remote) => this.#places.onConnected(peer, remote),
      onDisconnect: (peer, reason) => {
        if (reason !== '') this.#tell('info', 'connection lost', { peer, reason })
        this.#outputGate.forget(peer)
        this.#storage.forget(peer)
        this.#driver.handle({ type: 'peerDisconnected', peer })
        this.#places.onDisconnected(peer)
      },
      onDrain: (peer) => this.#storage.onDrain(peer),
      onProgress: (peer) => this.#driver.handle({ type: 'peerProgressed', peer }),
    }
  }

  #onMessage(from: Identity, frames: IncomingMessage): void {
    const message = this.#reader.read(frames, from)
    if (message === undefined) return
    if (message.kind === 'objectFiles') return this.#storage.prove(from, message.proof)
    if (message.kind === 'storageServers') {
      return this.#storage.onServers(from, message, this.#places.ipOf(from))
    }
    const isAboutCopy = message.kind === 'sharedObject' && COPY_REQUESTS.has(message.type)
    if (isAboutCopy && this.#answerCopy !== undefined) {
      void this.#answerCopy(message).then((answer) => this.#router?.send(from, encodeFrame(answer)))
      return
    }
    const offer = this.#storage.offerTo(from, message)
    if (offer !== undefined) this.#router?.send(from, encodeFrame(offer))
    // A monitor that asks for more without reading what it has: docs/protocol.md#monitors
    const isQuestion = message.kind === 'monitorRequest' || message.kind === 'operatorRequest'
    if (isQuestion && this.#hasUnread(from)) return
    this.#driver.handle({
      type: 'messageReceived',
      from,
      message: this.#storage.claimed(from, message),
    })
  }

  #hasUnread(peer: Identity): boolean {
    return (this.#router?.queuedBytes(peer) ?? 0) > MAX_UNREAD_BYTES
  }

  #perform(action: SchedulerAction): void {
    switch (action.type) {
      case 'send':
        this.#try(action, () => this.#send(action.to, action.message))
        break
      case 'moveToDisk':
        this.#storage.moveToDisk(action)
        break
      case 'removeFile':
        this.#storage.remove(action.path)
        break
      case 'removeStored':
        this.#storage.removeStored(action.content)
        break
      case 'forward':
        this.#router?.send(action.to, action.bytes)
        break
      case 'passOutput':
        this.#outputGate.pass(action.message)
        break
      case 'report':
        this.#perform({ type: 'send', to: action.to, message: this.#echo(action.report) })
        break
      case 'publish':
        this.#try(action, () => this.#monitor?.publish(encodeFrame(action.message)))
        break
      case 'disconnect':
        this.#router?.disconnect(action.peer, action.reason)
        break
      case 'log':
        this.#tell(action.level, action.text, action.fields)
        break
      case 'stop':
        void this.#finish({ reason: action.reason, isFailure: false })
        break
    }
  }

  /** Logs a line; one about a peer includes its address. */
  #tell(level: LogLevel, text: string, fields: LogFields): void {
    this.#logger[level](text, this.#places.addTo(fields))
  }

  #send(to: Identity, message: Message): void {
    const isResponse = message.kind === 'objectResponse'
    const rest = isResponse ? this.#storage.takeResponse(to, message) : this.#placed(message)
    if (rest !== undefined) this.#router?.send(to, encodeFrame(rest))
  }

  /** Adds what only this process knows: the addresses of workers. */
  #placed(message: Message): Message {
    if (message.kind !== 'monitorReport') return message
    const placed = (reports: readonly WorkerReport[]): readonly WorkerReport[] => {
      return reports.map((report) => {
        return { ...report, address: this.#places.ipOf(report.worker.workerId) }
      })
    }
    const states = message.states.map((state) => {
      return { ...state, workerReports: placed(state.workerReports) }
    })
    const peers = message.peers.map((change) => ({ ...change, worker: placed(change.worker) }))
    return { ...message, states, peers }
  }

  #echo({ report, ...echo }: ReportedEcho): Message {
    const own = {
      version: this.#version,
      runtime: `node/${process.versions.node}`,
      clockMS: Date.now(),
      monitorAddress: this.monitorAddress,
    }
    return { ...echo, reports: [{ ...own, ...report }] }
  }

  /** A message that grew too long is a peer's fault, not a bug: log it and keep running. */
  #try(action: SchedulerAction & { readonly message: Message }, send: () => unknown): void {
    try {
      send()
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      const peer = action.type === 'send' ? action.to : 'monitors'
      const fields = { peer, kind: action.message.kind, error: error.message }
      this.#tell('error', 'could not send a message', fields)
    }
  }

  #startStatus(): void {
    const sample = (): void => {
      this.#turns.begin()
      const { resource, rssFree } = this.#sampler.sample()
      const turnP99Ms = this.#turns.sample()
      const { storageServers } = this.#storage
      const own = { scheduler: resource, rssFree, turnP99Ms, storageServers }
      this.#driver.handle({ type: 'statisticsSampled', ...own })
    }
    sample()
    this.#statusTimer = setInterval(sample, STATUS_INTERVAL_MS)
  }

  #onFault(error: unknown): void {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    this.#logger.error('internal error, shutting down the scheduler', { error: text })
    void this.#finish({ reason: 'a bug in the scheduler', isFailure: true })
  }

  #finish(end: SchedulerEnd): Promise<void> {
    this.#closing ??= this.#close(end)
    return this.#closing
  }

  /** Connected clients continue with the next scheduler at this address, as workers do. */
  #tellWhoWaits(): void {
    const { clients, tasks: unfinishedTasks } = this.#machine.counts
    if (clients === 0) return
    const text = 'clients are still connected; they wait for a scheduler at this address'
    this.#logger.info(text, { clients, unfinishedTasks })
  }

  async #close(end: SchedulerEnd): Promise<void> {
    this.#isReady = false
    this.#driver.stop()
    if (end.reason === CLOSED && this.#answerCopy === undefined) this.#tellWhoWaits()
    this.#reader.close()
    clearInterval(this.#statusTimer)
    await Promise.all([this.#router?.close(), this.#monitor?.close()])
    await this.#storage.close()
    await this.#metrics?.close()
    await this.#log.close()
    this.#end(end)
  }
}

// The client's shell: a socket to the scheduler, the machine, and the two-way traffic between
// them. It turns frames into events and actions into frames, and tells the owners of tasks how
// they ended.

import { unreachable } from '../base/assert.js'
import { NO_BYTES } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import { OUR_FEATURES } from '../base/features.js'
import { identity, type Identity, type TaskId } from '../base/ids.js'
import type { Logger } from '../base/logger.js'
import { ClientMachine } from '../core/client/client-machine.js'
import type { ClientAction, ClientEvent, TaskSubmission } from '../core/client/events.js'
import type { Clock } from '../runtime/clock.js'
import { Driver } from '../runtime/driver.js'
import { ProcessSampler } from '../runtime/process-statistics.js'
import type { DealerHandler } from '../transport/dealer.js'
import type { IncomingMessage } from '../transport/socket.js'
import { decode, encodeFrame, type Message } from '../wire/message.js'
import { serializerName } from '../wire/object-content.js'
import type { ClientSettings } from './client-options.js'
import { openDealer, type ClientSocket, type ClientSocketSetup } from './client-socket.js'
import { clientSerializer, type ClientSerializer } from './client-serializer.js'
import { newClientIdentity, ObjectIds } from './ids.js'
import { ResultReader } from './result-reader.js'
import type { TaskOwner } from './task-owner.js'

/** A `map` pulls no input while tasks of so many bytes wait to be sent. */
const MAX_WAITING_BYTES = 1024 ** 2
/** Nor while the arguments of unfinished tasks take so much, as they are kept for a reconnect. */
const MAX_HELD_BYTES = 1024 ** 3

/** What a connection is made of. */
export interface ConnectionSetup {
  readonly address: string
  readonly settings: ClientSettings
  /** Instead of that of the settings. For tests. */
  readonly serializer?: ClientSerializer
  readonly clock?: Clock
  readonly openSocket?: (setup: ClientSocketSetup) => ClientSocket
}

/** Somebody who would submit more if there were room. */
export interface Feeder {
  /** There is room now. May be called when there is none any more. */
  feed(): void
  /** The client was closed. */
  onClosed(): void
}

/** What has happened on the way to a scheduler. */
export interface ConnectionWatcher {
  /** The scheduler has answered. */
  onOpen(): void
  /** An attempt failed, or a connection was lost. */
  onFailure(reason: string): void
  /** There will be no further attempt. */
  onEnd(): void
}

/**
 * The connection of one client. Keeps the process alive while something is unfinished, else not.
 */
export class ClientConnection {
  readonly address: string
  readonly identity: Identity
  readonly settings: ClientSettings
  readonly serializer: ClientSerializer
  readonly objectIds: ObjectIds
  readonly #logger: Logger
  readonly #results: ResultReader
  readonly #machine: ClientMachine<TaskOwner>
  readonly #driver: Driver<ClientEvent<TaskOwner>, ClientAction<TaskOwner>>
  readonly #socket: ClientSocket
  readonly #sampler = new ProcessSampler()
  /** Events that came while another one was handled, in order. */
  readonly #postponed: ClientEvent<TaskOwner>[] = []
  #isHandling = false
  /** Feeders for which there was no room. */
  readonly #starved = new Set<Feeder>()
  readonly #feeders = new Set<Feeder>()
  readonly #watchers = new Set<ConnectionWatcher>()
  /** What keeps the process alive. */
  #retainCount = 0
  /** The transport has told that it is full, and will tell when it is not any more. */
  #isCongested = false
  #isFlushWanted = false
  #lastQueuedBytes = 0
  #hasDrained = false
  #malformedCount = 0
  #hasClosed = false
  #isSocketClosing = false
  readonly #closed: Promise<void>
  #resolveClosed: () => void = () => {}
  readonly #flush = (): void => {
    if (this.#isCongested) this.#isFlushWanted = true
    else this.#post({ type: 'writable' })
    this.#feedStarved()
  }

  /** Connects in the background. Throws `ConfigError` for a wrong address. */
  constructor(setup: ConnectionSetup) {
    const { address, settings } = setup
    this.address = address
    this.settings = settings
    this.serializer = setup.serializer ?? clientSerializer(settings.serializer)
    this.#results = new ResultReader(this.serializer.codec)
    this.identity = newClientIdentity()
    this.objectIds = new ObjectIds(this.identity)
    this.#logger = settings.logger
    this.#closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    this.#machine = new ClientMachine({
      identity: this.identity,
      serializer: {
        id: this.objectIds.serializer,
        name: serializerName(),
        content: this.serializer.content,
      },
      timeoutMs: settings.timeoutMs,
      heartbeatIntervalMs: settings.heartbeatIntervalMs,
      inlineLimitBytes: settings.inlineLimitBytes,
      reconnect: settings.reconnect,
      objectIdOf: (content) => this.objectIds.of(content),
    })
    this.#driver = new Driver({
      machine: this.#machine,
      tick: { type: 'tick' },
      perform: (action) => this.#perform(action),
      onFault: (error) => this.#onFault(error),
      ...(setup.clock === undefined ? {} : { clock: setup.clock }),
    })
    const openSocket = setup.openSocket ?? openDealer
    const { identity } = this
    const handler = this.#handler()
    this.#socket = openSocket({ address, identity, handler, logger: settings.logger })
    this.#socket.unref()
  }

  /** Whether the user has closed the client. */
  get isClosed(): boolean {
    return this.#hasClosed
  }

  /** Tasks that have not ended. */
  get unfinishedTasks(): number {
    return this.#machine.unfinishedTasks
  }

  /** Whether a `map` may submit more. `isBounded`: its user has bounded it himself. */
  hasRoom(isBounded: boolean): boolean {
    const machine = this.#machine
    if (machine.unfinishedTasks >= this.settings.maxUnfinishedTasks) return false
    if (machine.waitingBytes >= MAX_WAITING_BYTES) return false
    return isBounded || machine.heldBytes < MAX_HELD_BYTES
  }

  /** Whether an unfinished task was handed to the scheduler. */
  isSent(id: TaskId): boolean {
    return this.#machine.isSent(id) || this.#results.has(id)
  }

  /** Submits a task. Its owner is told of its end, possibly before this returns. */
  submit(task: TaskSubmission<TaskOwner>): void {
    this.#post({ type: 'taskSubmitted', task })
  }

  /** Cancels a task that has not ended. */
  cancel(taskId: TaskId): void {
    if (!this.#results.end(taskId, 'cancelled')) this.#post({ type: 'cancelRequested', taskId })
    this.#feedStarved()
  }

  /** Cancels all unfinished tasks with an owner that `isMeant`. Takes time for all there are. */
  cancelAll(isMeant: (owner: TaskOwner) => boolean): void {
    for (const { owner, taskId } of this.#machine.unfinished()) {
      if (isMeant(owner)) this.#post({ type: 'cancelRequested', taskId })
    }
    this.#results.endAll('cancelled', isMeant)
    this.#feedStarved()
  }

  /** Something is unfinished: the process stays alive until as many calls of `release`. */
  retain(): void {
    this.#retainCount += 1
    if (this.#retainCount === 1) this.#socket.ref()
  }

  /** See `retain`. */
  release(): void {
    this.#retainCount -= 1
    if (this.#retainCount === 0) this.#socket.unref()
  }

  /** A feeder that is told when the client is closed, until `detach`. */
  attach(feeder: Feeder): void {
    this.#feeders.add(feeder)
  }

  /** See `attach`. */
  detach(feeder: Feeder): void {
    this.#feeders.delete(feeder)
    this.#starved.delete(feeder)
  }

  /** Calls `feed` once there is room. */
  awaitRoom(feeder: Feeder): void {
    this.#starved.add(feeder)
  }

  /** Tells `watcher` what happens, until the returned function is called. */
  watch(watcher: ConnectionWatcher): () => void {
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  /**
   * Ends every task, leaves the scheduler, closes. Resolves when that is written; may be
   * repeated.
   */
  close(): Promise<void> {
    this.#hasClosed = true
    this.#post({ type: 'closeRequested' })
    this.#results.endAll('closed', () => true)
    for (const feeder of this.#feeders) feeder.onClosed()
    return this.#closed
  }

  #handler(): DealerHandler {
    return {
      onConnect: () => {
        this.#isCongested = false
        this.#isFlushWanted = false
        this.#post({ type: 'connected' })
      },
      onDisconnect: (reason) => {
        const text = reason === '' ? 'the scheduler closed the connection' : reason
        this.#logger.info('lost the connection to the scheduler', { reason: text })
        this.#post({ type: 'disconnected', reason: text })
        for (const watcher of this.#watchers) watcher.onFailure(text)
      },
      onConnectFailed: (reason) => {
        this.#logger.debug('could not connect to the scheduler', { reason })
        this.#post({ type: 'connectFailed', reason })
        for (const watcher of this.#watchers) watcher.onFailure(reason)
      },
      onMessages: (messages) => {
        for (const message of messages) this.#onMessage(message)
        this.#feedStarved()
      },
      onProgress: () => this.#post({ type: 'progressed' }),
      onDrain: () => this.#onDrain(),
    }
  }

  #onDrain(): void {
    this.#hasDrained = true
    this.#isCongested = false
    if (!this.#isFlushWanted) return
    this.#isFlushWanted = false
    this.#flush()
  }

  #onMessage(frames: IncomingMessage): void {
    let message: Message
    try {
      if (!(frames instanceof Uint8Array)) throw new ProtocolError('more than one frame')
      message = decode(frames)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.#onMalformed(error)
      return
    }
    this.#post({ type: 'messageReceived', message })
  }

  /** Logs the first, second, fourth, … so that a hostile peer cannot fill the log. */
  #onMalformed(error: ProtocolError): void {
    this.#malformedCount += 1
    const count = this.#malformedCount
    if ((count & (count - 1)) !== 0) return
    this.#logger.warn('dropped a malformed message', { count, error: error.message })
    for (const watcher of this.#watchers) watcher.onFailure(`malformed message: ${error.message}`)
  }

  /** Handles an event now, or after the one that is being handled: an owner may act at once. */
  #post(event: ClientEvent<TaskOwner>): void {
    if (this.#isHandling) {
      this.#postponed.push(event)
      return
    }
    this.#isHandling = true
    try {
      this.#driver.handle(event)
      if (this.#postponed.length > 0) this.#handlePostponed()
    } finally {
      this.#isHandling = false
    }
  }

  #handlePostponed(): void {
    // The list may grow meanwhile.
    for (const event of this.#postponed) this.#driver.handle(event)
    this.#postponed.length = 0
  }

  #perform(action: ClientAction<TaskOwner>): void {
    switch (action.type) {
      case 'send':
        return this.#send(action.message)
      case 'finishTask':
        return this.#results.finish(action)
      case 'endTask':
        return action.owner.end(action.reason, action.detail)
      case 'requestFlush':
        if (action.when === 'soon') queueMicrotask(this.#flush)
        else setImmediate(this.#flush)
        return
      case 'sendHeartbeat':
        return this.#sendHeartbeat(action.latencyUS)
      case 'probeLink':
        return this.#probe()
      case 'announceOpen':
        for (const watcher of this.#watchers) watcher.onOpen()
        return
      case 'log':
        return this.#logger[action.level](action.text, action.fields)
      case 'closeLink':
        return this.#closeSocket()
      default:
        unreachable(action)
    }
  }

  #send(message: Message): void {
    if (!this.#socket.send(encodeFrame(message))) this.#isCongested = true
  }

  #sendHeartbeat(latencyUS: number): void {
    this.#send({
      kind: 'clientHeartbeat',
      resource: this.#sampler.sample().resource,
      latencyUS,
      features: OUR_FEATURES,
      runtime: `node/${process.versions.node}`,
      worker: identity(''),
    })
  }

  /** A heartbeat can be stuck behind gigabytes: as long as they move, the scheduler lives. */
  #probe(): void {
    const { queuedBytes } = this.#socket
    const hasMoved = this.#hasDrained || queuedBytes < this.#lastQueuedBytes
    this.#lastQueuedBytes = queuedBytes
    this.#hasDrained = false
    if (hasMoved) this.#post({ type: 'progressed' })
  }

  #feedStarved(): void {
    if (this.#isHandling || this.#starved.size === 0 || !this.hasRoom(true)) return
    // A copy: who gets too little waits again.
    const feeders = [...this.#starved]
    this.#starved.clear()
    for (const feeder of feeders) feeder.feed()
  }

  #closeSocket(): void {
    if (this.#isSocketClosing) return
    this.#isSocketClosing = true
    for (const watcher of this.#watchers) watcher.onEnd()
    void this.#socket.close().then(() => {
      this.#post({ type: 'linkClosed' })
      this.#resolveClosed()
    })
  }

  /** The machine has thrown: a bug of ours. What it was responsible for is ended here. */
  #onFault(error: unknown): void {
    this.#logger.error('the client failed and is closed', { error: String(error) })
    for (const { owner } of this.#machine.unfinished()) owner.fail(error, NO_BYTES)
    this.#hasClosed = true
    this.#closeSocket()
  }
}

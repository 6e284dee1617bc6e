// A client's connection to its scheduler, for everything that is submitted over it: notifies the
// owners of tasks of their outcome, and decides whether the process stays alive.

import { unreachable } from '../base/assert.js'
import { NO_BYTES } from '../base/bytes.js'
import { ClientClosedError, DisconnectedError } from '../base/errors.js'
import { identity, idToHex, type Identity, type ObjectId, type TaskId } from '../base/ids.js'
import { logsTasks, type Logger } from '../base/logger.js'
import type { WaitingReason } from '../base/waiting-reason.js'
import { ClientMachine, type TaskWhereabouts } from '../core/client/client-machine.js'
import { NOTHING_FOUND, type SharedAnswer, type TaskSubmission } from '../core/client/events.js'
import { MAX_DELAY_MS, systemClock, type Clock } from '../runtime/driver.js'
import type { ObjectFiles } from '../runtime/object-files.js'
import { newIdentity } from '../runtime/peer-info.js'
import type { ConnectionEnd } from '../transport/end.js'
import { serializerName } from '../wire/object-content.js'
import { CancelReasons } from './submit/signal.js'
import type { ClientSettings } from './options.js'
import {
  type ClientSocket,
  type ClientSocketSetup,
  ClientTraffic,
  type ConnectionEvent,
  openDealer,
  type OtherAction,
  type TrafficEvent,
} from './traffic.js'
import { clientSerializer, type ClientSerializer } from './travel.js'
import { Feeders, MAX_HELD_BYTES, MAX_WAITING_BYTES } from './map/input.js'
import { ObjectIds } from './ids.js'
import { OutputPrinter, ProgramOutput } from './output.js'
import { ResultReader, StoredResults } from './future/result-reader.js'
import { ShutdownCall, type ShutdownAnswer } from './shutdown-call.js'
import { describeWaiting, Explanations, type WaitingState, warnOfWaiting } from './explanation.js'
import { type AnyOwner, endEach, failEach, ownerOfTask, type TaskOwner } from './future/home.js'
import type { HeldTasks } from './submit/runs.js'

/** The parts of a connection. */
export interface ConnectionSetup {
  readonly address: string
  readonly settings: ClientSettings
  /** The worker of the tasks that contain the client, which does not keep that process alive. */
  readonly worker?: Identity | undefined
  /** It is only used for a health check. */
  readonly isVisitor?: boolean
  /** Overrides the serializer of the settings. */
  readonly serializer?: ClientSerializer | undefined
  readonly clock?: Clock
  readonly openSocket?: (setup: ClientSocketSetup) => ClientSocket
  readonly programOutput?: ProgramOutput
}

const NO_WORKER = identity('')
const NO_REPORT = { metadata: NO_BYTES, worker: NO_WORKER, failedTaskId: undefined }

/** Tasks that have waited for less are not reported as waiting. */
const NOTICEABLE_MS = 1_000

/** The connection of one client. Keeps the process alive while something is unfinished. */
export class ClientConnection {
  readonly address: string
  readonly identity: Identity
  readonly settings: ClientSettings
  readonly serializer: ClientSerializer
  readonly objectIds: ObjectIds
  readonly feeders: Feeders = new Feeders(() => this.request({ type: 'reportRequested' }))
  readonly cancelReasons: CancelReasons = new CancelReasons()
  readonly explanations: Explanations = new Explanations((taskId) =>
    this.request({ type: 'explanationRequested', taskId }),
  )
  /** Who gets the answers about names of objects, by ticket. */
  readonly sharedCalls: Map<number, (answer: SharedAnswer) => void> = new Map()
  held: HeldTasks | undefined
  readonly #logger: Logger
  readonly #isNested: boolean
  readonly #results: ResultReader
  readonly #storedResults: StoredResults
  readonly #programOutput: ProgramOutput
  readonly #printer: OutputPrinter
  readonly #machine: ClientMachine<AnyOwner>
  readonly #clock: Clock
  readonly #traffic: ClientTraffic
  readonly #listeners = new Set<(event: ConnectionEvent) => void>()
  /** The number of reasons to keep the process alive. */
  #retainCount = 0
  #alive: NodeJS.Timeout | undefined
  #hasClosed = false
  readonly #isVisitor: boolean
  #hasOpened = false
  #isSocketClosing = false
  #shutdown: ShutdownCall | undefined
  /** Called when the scheduler has been notified of everything. */
  readonly #onQuiet: (() => void)[] = []
  readonly #closed: Promise<void>
  #resolveClosed: () => void = () => {}

  /** Connects in the background. Throws `ConfigError` for a wrong address. */
  constructor(setup: ConnectionSetup) {
    const { address, settings, worker = NO_WORKER } = setup
    this.address = address
    this.settings = settings
    this.serializer = setup.serializer ?? clientSerializer(settings.serializer)
    this.identity = newIdentity('Client')
    this.objectIds = new ObjectIds(this.identity)
    this.#logger = settings.logger
    this.#isNested = worker !== NO_WORKER
    this.#isVisitor = setup.isVisitor === true
    this.#results = new ResultReader(this.serializer.codec)
    this.#storedResults = new StoredResults((taskId) =>
      this.request({ type: 'resultDropped', taskId }),
    )
    this.#programOutput = setup.programOutput ?? new ProgramOutput()
    this.#printer = new OutputPrinter(this.#programOutput)
    this.#closed = new Promise((resolve) => (this.#resolveClosed = resolve))
    this.#machine = this.#newMachine()
    this.#clock = setup.clock ?? systemClock
    this.#traffic = new ClientTraffic({
      address,
      identity: this.identity,
      worker,
      isVisitor: this.#isVisitor,
      // Inside a task: the output of the task's worker.
      name: this.#isNested ? '' : settings.name,
      logger: settings.logger,
      tls: settings.tls,
      machine: this.#machine,
      perform: (action) => this.#perform(action),
      wantsReport: () => this.feeders.workers.isWanted,
      onHandled: () => this.#onHandled(),
      onFailure: () => this.#tell({ type: 'failed' }),
      onFault: (error) => this.#onFault(error),
      openSocket:
        setup.openSocket ?? ((socket) => openDealer(socket, settings.heartbeatIntervalMs)),
      clock: setup.clock,
    })
  }

  /** Whether the user has closed the client. */
  get isClosed(): boolean {
    return this.#hasClosed
  }

  /** Throws `ClientClosedError`, or `DisconnectedError` if a lost connection has closed it. */
  checkOpen(): void {
    if (this.#hasClosed) throw new ClientClosedError()
    if (!this.#isSocketClosing) return
    const why = this.#machine.linkTrouble
    throw new DisconnectedError(`the client is closed: ${why}`, { reason: 'no-scheduler' })
  }

  /** The files that this process shares with the scheduler. */
  get files(): ObjectFiles {
    return this.#traffic.files
  }

  /** How the connection would end now, or how the last one ended. */
  get end(): ConnectionEnd {
    return this.#traffic.end
  }

  /** Unfinished tasks. */
  get unfinishedTasks(): number {
    return this.#machine.unfinishedTasks + (this.held?.count ?? 0)
  }

  /**
   * How many tasks a `map` may submit, of small arguments: more than 0 if it may submit any.
   * `isBounded`: its user has set a limit.
   */
  roomFor(isBounded: boolean): number {
    const { waitingBytes, heldBytes } = this.#machine
    if (waitingBytes >= MAX_WAITING_BYTES) return 0
    if (!isBounded && heldBytes >= MAX_HELD_BYTES) return 0
    return this.settings.maxUnfinishedTasks - this.unfinishedTasks
  }

  /** Where an unfinished task is, as far as is known. */
  whereIs(id: TaskId): TaskWhereabouts {
    return this.#machine.whereIs(id) ?? (this.#results.has(id) ? 'running' : 'pending')
  }

  /** Why a task waits, also as text; undefined if it does not wait, or the reason is unknown. */
  waitingOf(id: TaskId): WaitingState | undefined {
    const reason = this.#machine.waitingReasonOf(id)
    if (reason === undefined) return undefined
    const { linkTrouble, waitingCause } = this.#machine
    const needs = reason === 'no-capability' ? waitingCause?.needs : undefined
    const { what: text } = describeWaiting(reason, this.address, needs ?? linkTrouble)
    return { reason, text, needs }
  }

  /** The tasks whose results a task needs before it can be sent. */
  dependenciesOf(id: TaskId): readonly TaskId[] {
    return this.#machine.dependenciesOf(id)
  }

  /** Why all tasks of this client have been waiting for some time; undefined if they have not. */
  get waitingReason(): WaitingReason | undefined {
    const cause = this.#machine.waitingCause
    if (cause === undefined || this.#clock.now() - cause.since < NOTICEABLE_MS) return undefined
    return cause.reason
  }

  /** Whether the result of a task can be an argument without having been fetched. */
  has(id: TaskId): boolean {
    this.held?.send()
    return this.#machine.has(id)
  }

  /** The serialized value of a task, if it has arrived but cannot be read yet. */
  payloadOf(id: TaskId): Uint8Array | undefined {
    return this.#results.payloadOf(id)
  }

  /** Submits a task. Its owner is notified of its end, possibly before this returns. */
  submit(task: TaskSubmission<AnyOwner>): void {
    this.held?.send()
    this.submitHeld(task)
  }

  /** Submits tasks that were held. */
  submitHeld(task: TaskSubmission<AnyOwner>): void {
    this.#traffic.post({ type: 'taskSubmitted', task })
  }

  /** Cancels an unfinished task. */
  cancel(taskId: TaskId, reason: unknown): void {
    this.cancelReasons.add(taskId, reason)
    if (!this.#results.end(taskId, 'cancelled')) this.request({ type: 'cancelRequested', taskId })
  }

  /** Cancels the unfinished tasks with an owner for which `isMeant` holds; looks at each task. */
  cancelAll(isMeant: (owner: AnyOwner) => boolean): void {
    this.held?.send()
    for (const { owner, taskId, count } of this.#machine.unfinished()) {
      if (isMeant(owner)) this.request({ type: 'cancelRequested', taskId, count })
    }
    this.#results.endAll('cancelled', isMeant)
  }

  /** Passes the value of a pinned object to `owner`, as if its task had returned it. */
  readObject(owner: TaskOwner, id: ObjectId): void {
    const payload = this.#traffic.contentOf(id)
    if (payload === undefined) return owner.end('missingObject', idToHex(id), undefined)
    this.#results.finish({ owner, isSuccess: true, payload, ...NO_REPORT })
  }

  /** Fetches an offered result; `owner` is notified. */
  want(owner: TaskOwner): void {
    this.#storedResults.take(owner)
    this.request({ type: 'resultRequested', taskId: owner.taskId, owner })
  }

  /** Leaves an offered result where it is, as long as `owner` is in memory. */
  leave(owner: TaskOwner): void {
    const resting = this.#storedResults.leave(owner)
    this.request({ type: 'resultLeft', taskId: owner.taskId, owner: resting })
  }

  /** Any other request to the core. */
  request(event: TrafficEvent): void {
    this.held?.send()
    this.#traffic.post(event)
    this.#onHandled()
  }

  /** Something is unfinished: keeps the process alive until `release` was called once per call. */
  retain(): void {
    this.#retainCount += 1
    if (this.#retainCount > 1 || this.#isNested) return
    this.#traffic.ref()
    // Between two connections the socket may have nothing that keeps the process alive.
    this.#alive = setInterval(() => {}, MAX_DELAY_MS)
  }

  /** See `retain`. */
  release(): void {
    this.#retainCount -= 1
    if (this.#retainCount > 0) return
    this.#traffic.unref()
    clearInterval(this.#alive)
  }

  /** Calls `listener` for each event, until the returned function is called. */
  listen(listener: (event: ConnectionEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Cancels every task and deletes every object. Resolves when the scheduler has been notified, or
   * immediately if there is none; then it is notified when it is back. Rejects as `checkOpen`
   * throws.
   */
  async clear(): Promise<void> {
    this.checkOpen()
    this.request({ type: 'clearRequested' })
    this.#results.endAll('cleared', () => true)
    this.feeders.clear()
    if (this.#machine.isQuiet) return
    this.retain()
    await new Promise<void>((resolve) => this.#onQuiet.push(resolve))
    this.release()
  }

  /**
   * Ends every task, leaves the scheduler, closes. Resolves when that is written, and keeps the
   * process alive until then; may be repeated. If no task is unfinished, it waits for `lastWords`
   * before it leaves, so that these are printed.
   */
  close(lastWords?: () => Promise<void>): Promise<void> {
    this.held?.send()
    this.retain()
    void this.#closed.then(() => this.release())
    const leave = (): void => this.#traffic.post({ type: 'closeRequested' })
    const waits = lastWords !== undefined && !this.#hasClosed && this.unfinishedTasks === 0
    this.#hasClosed = true
    if (waits) void lastWords().then(leave, leave)
    else leave()
    this.#results.endAll('closed', () => true)
    this.feeders.close()
    return this.#closed
  }

  /** Stops the whole cluster, and closes this client. Rejects like `Client.shutdown`. */
  async shutdown(): Promise<void> {
    this.checkOpen()
    const call = this.#shutdown ?? new ShutdownCall()
    if (this.#shutdown === undefined) {
      this.#shutdown = call
      this.retain()
      this.request({ type: 'shutdownRequested' })
    }
    await call.promise
    await this.close()
  }

  #newMachine(): ClientMachine<AnyOwner> {
    const { settings, objectIds, serializer } = this
    return new ClientMachine({
      identity: this.identity,
      logsTasks: logsTasks(settings.logger),
      serializer: {
        id: objectIds.serializer,
        name: serializerName(),
        content: serializer.content,
      },
      timeoutMs: settings.timeoutMs,
      heartbeatIntervalMs: settings.heartbeatIntervalMs,
      inlineLimitBytes: settings.inlineLimitBytes,
      reconnect: settings.reconnect,
      objectIdOf: (content) => objectIds.of(content),
      serializedValues: (packed) => this.#results.serializedValues(packed),
    })
  }

  #perform(action: OtherAction): void {
    switch (action.type) {
      case 'finishTask':
        return this.#results.finish({ ...action, owner: ownerOfTask(action) })
      case 'finishRun':
        return this.#results.finishRun(action)
      case 'endTask':
        return endEach(action, action)
      case 'offerResult':
        return ownerOfTask(action).offer(action.metadata, action.worker)
      case 'requestAttempts':
        return this.explanations.expect(ownerOfTask(action), action.taskId)
      case 'reportAttempts':
        return this.explanations.remember(ownerOfTask(action), action.attempts)
      case 'explainTask':
        return this.explanations.answer(action.taskId, action.explanation)
      case 'answerShared':
        return this.sharedCalls.get(action.ticket)?.(action.answer)
      case 'printOutput':
        return this.#printer.print(action.output)
      case 'endOutput':
        return this.#printer.endAll()
      case 'reportProgress':
        return ownerOfTask(action).progress(action.done, action.total)
      case 'warnWaiting':
        // A command says it itself, once it gives up.
        return this.#isVisitor ? undefined : warnOfWaiting(action.warning, this.address)
      case 'reportWorkers':
        return this.feeders.onWorkers(action.count)
      case 'announceOpen':
        this.#hasOpened = true
        this.feeders.onOpen(action.schedulerId !== '')
        return this.#tell({ type: 'opened' })
      case 'answerShutdown':
        return this.#onShutdownAnswer(action.answer, action.detail)
      case 'closeLink':
        return this.#closeSocket()
      default:
        unreachable(action)
    }
  }

  #tell(event: ConnectionEvent): void {
    for (const listener of this.#listeners) listener(event)
  }

  #onHandled(): void {
    if (this.#traffic.isHandling) return
    this.cancelReasons.clear()
    if (this.feeders.areStarved && this.roomFor(true) > 0) this.feeders.feed()
    if (this.#onQuiet.length > 0 && this.#machine.isQuiet) this.#tellQuiet()
  }

  #tellQuiet(): void {
    for (const callback of this.#onQuiet.splice(0)) callback()
  }

  #onShutdownAnswer(answer: ShutdownAnswer, detail: string): void {
    const call = this.#shutdown
    if (call === undefined) return
    this.#shutdown = undefined
    this.release()
    if (answer === 'accepted') this.#hasClosed = true
    call.answer(answer, detail, this.#hasOpened)
  }

  #closeSocket(): void {
    if (this.#isSocketClosing) return
    this.#isSocketClosing = true
    this.#tell({ type: 'ended', reason: this.#machine.linkTrouble })
    void this.#traffic.close().then(() => {
      this.#printer.endAll()
      this.#programOutput.warn()
      this.#resolveClosed()
    })
  }

  /** Everything that the machine was responsible for ends here. */
  #onFault(error: unknown): void {
    this.#logger.error('the client failed and is closed', { error: String(error) })
    const report = { ...NO_REPORT, isLocal: true }
    this.#hasClosed = true
    for (const owner of this.held?.take() ?? []) owner.fail(error, report)
    for (const tasks of this.#machine.unfinished()) failEach(tasks, error, report)
    this.#results.endAll('closed', () => true)
    this.explanations.endAll()
    for (const end of this.sharedCalls.values()) end({ ...NOTHING_FOUND, outcome: 'closed' })
    // Feeders that wait for room, or for their input, have no task that could notify them.
    this.feeders.close()
    this.#onShutdownAnswer('closed', String(error))
    this.#tellQuiet()
    this.#closeSocket()
  }
}

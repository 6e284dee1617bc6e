// A running map: pulls inputs while there is room for tasks, submits them, and ends when all have
// ended or one has failed. docs/client.md#map-and-starmap

import { ClientClosedError, TaskCancelledError } from '../../base/errors.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type { ArgumentSource, TaskOptions } from '../../core/client/events.js'
import { FailedInput } from '../submit/arguments.js'
import type { TaskScope } from '../../runtime/task-scope.js'
import type { TaskSpan } from '../../runtime/tracing.js'
import type { ClientConnection } from '../connection.js'
import type { FailureCount } from '../future/home.js'
import type { MapInput } from './input.js'
import type { FunctionObject } from '../submit/function-objects.js'
import type { InputSources } from '../submit/inputs.js'
import type { TaskIds } from '../ids.js'
import { MapPacker, PACKED } from './packer.js'
import type { MapCounts, MapWatcher } from './progress.js'
import { MapResults, type MapEnd } from './results.js'
import { outcomeError, type OutcomeDetails } from '../future/error.js'
import { isPartOf, MapPart, MapTask } from './task.js'
import { MapWindow, PullPace } from './window.js'
import type { Cancellable } from '../submit/signal.js'
import type { SubmitContext } from '../submit/submitter.js'
import { blameCaller, moveToSite, placeError, type CallSite } from '../../runtime/call-site.js'

/** Asynchronous inputs pulled in one turn, so that results are handled in between. */
const INPUTS_PER_TURN = 8_192

/** The parts that a map needs. */
interface MapSetup {
  readonly connection: ClientConnection
  readonly failures: FailureCount
  readonly ids: TaskIds
  readonly function: FunctionObject
  readonly context: SubmitContext
  readonly span: TaskSpan | undefined
  readonly input: MapInput
  /** Whether each input is a list of arguments. */
  readonly isSpread: boolean
  /** The arguments for each input. */
  readonly sources: InputSources
  readonly isOrdered: boolean
  /**
   * The most tasks in flight; while iterating, including results that have not been taken.
   * Undefined: as the work is measured.
   */
  readonly concurrency: number | undefined
  /** Whether the user has set the limit. */
  readonly isBounded: boolean
  /** Observes the progress of the map. */
  readonly watcher: MapWatcher | undefined
  readonly site: CallSite
}

/** One map. */
export class MapRun implements Cancellable, MapCounts {
  readonly results: MapResults
  readonly #setup: MapSetup
  readonly #connection: ClientConnection
  readonly #options: TaskOptions
  /** Inputs that will be submitted as a run. Undefined: each is submitted alone. */
  #packer: MapPacker | undefined
  readonly #window: MapWindow
  readonly #pace = new PullPace(() => performance.now())
  #isSendDue = false
  /** Something was submitted since the last look at the room. */
  #hasSubmitted = false
  #inputCount = 0
  #inFlight = 0
  /** No more input is pulled. */
  #isInputOver = false
  /** The input has ended. */
  #isInputRead = false
  #isPulling = false
  #isPullDue = false
  /** Inputs pulled from an asynchronous source in a row: it may have them all at hand. */
  #streak = 0
  #hasEnded = false
  #isRetained = false
  /** While the first inputs are pulled, no consumer can be there yet: failures have to wait. */
  #isStarting = true
  readonly #pullNow = (): void => {
    this.#isPullDue = false
    this.#pull()
  }
  readonly #pullInTurn = (): void => {
    this.#pace.reset()
    this.#pullNow()
  }
  readonly #sendNow = (): void => {
    this.#isSendDue = false
    this.#sendRun()
  }

  constructor(setup: MapSetup) {
    this.#setup = setup
    this.#connection = setup.connection
    this.#options = setup.context.optionsIn(setup.span)
    this.#window = new MapWindow(setup.concurrency, setup.connection.feeders.workers)
    this.#packer = new MapPacker(setup)
    this.results = new MapResults(setup.isOrdered, setup.failures, this)
  }

  /** Pulls the first inputs immediately: they travel as they are now. */
  start(): void {
    this.#connection.held?.send()
    this.#connection.feeders.attach(this)
    this.#window.begin()
    this.#setup.context.begin(this)
    this.#setup.watcher?.begin(this)
    this.#pull()
    this.#isStarting = false
    this.#pullInNextTurn()
  }

  /** The task that maps. */
  get scope(): TaskScope | undefined {
    return this.#setup.context.scope
  }

  get inputCount(): number {
    return this.#inputCount
  }

  get inFlight(): number {
    return this.#inFlight
  }

  get waitingReason(): WaitingReason | undefined {
    return this.#inFlight === 0 ? undefined : this.#connection.waitingReason
  }

  get failureCount(): number {
    return this.results.failureCount
  }

  get isInputRead(): boolean {
    return this.#isInputRead
  }

  /** Cancels all unfinished tasks. False if all had ended. */
  cancel(reason: unknown): boolean {
    if (this.#hasEnded) return false
    this.#stop('cancelled', new TaskCancelledError('the map was cancelled', { cause: reason }))
    return true
  }

  /** There is room now. May be called when it has been used up again. */
  feed(): void {
    this.#pull()
  }

  /** The client was closed. */
  onClosed(): void {
    const message = 'the map was cancelled: its client was closed'
    this.#stop('cancelled', new TaskCancelledError(message, { cause: new ClientClosedError() }))
  }

  /** The client was cleared: its tasks are cancelled. */
  onCleared(): void {
    this.#stop('cancelled', new TaskCancelledError('the map was cancelled: its client was cleared'))
  }

  /**
   * A result was taken, or is about to be waited for: there may be room for more. A loop takes what
   * there is in one turn: the inputs that follow are one run.
   */
  onConsumed(): void {
    this.#pullInNextTurn()
  }

  /** The rest of the results is not needed. */
  onAbandoned(): void {
    this.cancel(undefined)
  }

  /** The result of a pull. */
  onInput(value: unknown): void {
    if (this.#hasEnded) return
    this.#submit(value)
    if (!this.#setup.input.isAsync) return
    this.#isPulling = false
    this.#sendSoon()
    this.#pull()
  }

  /** There is no more. */
  onInputEnd(): void {
    this.#sendRun()
    this.#isInputOver = true
    this.#isInputRead = true
    this.#afterTask()
  }

  /** The input itself threw. */
  onInputError(error: unknown): void {
    this.#sendRun()
    this.#isInputOver = true
    this.#afterStart(() => this.#stop('failed', error))
  }

  /** A task has returned a large value: it is needed here. */
  onTaskOffered(task: MapTask): void {
    this.#connection.want(task)
  }

  /** `count` tasks have returned; their values follow. The profiles are read during the call. */
  onReturned(profiles: Uint8Array, count: number): void {
    this.#window.measure(profiles, count)
  }

  /** The tasks of consecutive inputs have returned; `onDone` follows. */
  onValues(firstIndex: number, values: readonly unknown[]): void {
    this.#inFlight -= values.length
    if (!this.#hasEnded) this.results.succeedAll(firstIndex, values)
  }

  /** Tasks that arrived together have returned. */
  onDone(): void {
    this.#afterTask()
  }

  /** A task has thrown. */
  onTaskFailed(index: number, error: unknown, isLocal: boolean): void {
    this.#inFlight -= 1
    if (this.#hasEnded) return
    placeError(error, this.#setup.site, isLocal)
    this.#afterStart(() => this.#fail(index, error))
  }

  /** A task has ended in another way. */
  onTaskEnded(task: MapTask, details: OutcomeDetails): void {
    this.#inFlight -= 1
    if (this.#hasEnded) return
    if (details.reason === 'closed') return this.onClosed()
    if (details.reason === 'cleared') return this.onCleared()
    const cause = this.#connection.cancelReasons.of(details.failedTaskId)
    const { taskName } = this.#setup.site
    const name = `${taskName === '' ? '' : `${taskName}, `}input ${task.index}`
    const error = outcomeError(task.taskId, { ...details, name, cause })
    moveToSite(error, this.#setup.site)
    this.#afterStart(() => this.#fail(task.index, error))
  }

  #fail(index: number, error: unknown): void {
    if (this.#hasEnded) return
    this.results.fail(index, error)
    if (this.results.isTolerant) this.#afterTask()
    else this.#stop('failed', error)
  }

  #afterStart(act: () => void): void {
    if (this.#isStarting) queueMicrotask(act)
    else act()
  }

  #afterTask(): void {
    if (this.#hasEnded) return
    if (!this.#isInputOver) {
      if (this.results.isIterated) this.#pullInNextTurn()
      else this.#pullSoon()
    } else if (this.#inFlight === 0) this.#afterStart(() => this.#end('done', undefined))
    if (this.#inFlight === 0) this.#updateRetain()
  }

  #pullSoon(): void {
    if (this.#isPullDue || this.#isPulling || this.#isInputOver) return
    this.#isPullDue = true
    queueMicrotask(this.#pullNow)
  }

  #pullInNextTurn(): void {
    if (this.#isPullDue || this.#isPulling || this.#isInputOver) return
    this.#isPullDue = true
    setImmediate(this.#pullInTurn)
  }

  #pull(): void {
    if (this.#isPulling || this.#isPullDue) return
    this.#isPulling = true
    if (this.#setup.input.isAsync) this.#pullAsync()
    else this.#pullSync()
    this.#updateRetain()
  }

  #pullSync(): void {
    const pace = this.#pace
    pace.begin()
    for (let room = this.#findRoom(); room > 0 && !pace.isSpent; room = this.#findRoom()) {
      pace.count(this.#pullUpTo(Math.min(room, pace.ahead)))
    }
    pace.end()
    this.#setup.sources.endPass()
    this.#isPulling = false
    this.#sendRun()
    if (pace.isSpent && this.#findRoom() > 0) this.#pullInNextTurn()
  }

  /** Pulls inputs while they only become part of a run. Returns how many. */
  #pullUpTo(most: number): number {
    const { input } = this.#setup
    let count = 0
    this.#hasSubmitted = false
    while (count < most && !this.#isInputOver && !this.#hasSubmitted) {
      input.pull(this)
      count += 1
    }
    return count
  }

  #pullAsync(): void {
    if (this.#findRoom() <= 0) {
      this.#isPulling = false
      this.#sendRun()
    } else if (this.#streak < INPUTS_PER_TURN) {
      this.#streak += 1
      this.#setup.input.pull(this)
    } else {
      this.#streak = 0
      this.#isPulling = false
      this.#isPullDue = true
      setImmediate(this.#pullNow)
    }
  }

  /** How many small inputs may be pulled now, if more than 0; if the client has no room, waits. */
  #findRoom(): number {
    const ownRoom = this.#hasEnded || this.#isInputOver ? 0 : this.#ownRoom
    if (ownRoom <= 0) return 0
    const isBounded = this.#setup.isBounded || this.#inFlight === 0
    const room = this.#connection.roomFor(isBounded) - (this.#packer?.count ?? 0)
    if (room <= 0) this.#connection.feeders.awaitRoom(this)
    return Math.min(ownRoom, room)
  }

  /** The same by the map's own limit. */
  get #ownRoom(): number {
    return this.#window.roomFor(this.#inFlight, this.results)
  }

  #submit(input: unknown): void {
    const index = this.#inputCount
    this.#inputCount += 1
    const added = this.#packer?.add(input, index)
    if (added === PACKED) {
      this.#inFlight += 1
      if (this.#packer?.isFull === true) this.#sendRun()
      return
    }
    this.#sendRun()
    let args: readonly ArgumentSource[]
    try {
      args = this.#setup.sources.of(input, index, added)
    } catch (error) {
      if (error instanceof FailedInput) this.#inherit(index, error)
      else this.#afterStart(() => this.#fail(index, error))
      return
    }
    const { function: stored, attachments } = this.#setup.function
    const options = this.#options
    const taskId = this.#setup.ids.next()
    const owner = new MapTask(this, index, taskId)
    this.#inFlight += 1
    this.#hasSubmitted = true
    this.#connection.submit({ taskId, function: stored, attachments, args, options, owner })
  }

  /** Submits the run. */
  #sendRun(): void {
    const count = this.#packer?.count ?? 0
    if (this.#packer === undefined || count === 0) return
    const { firstIndex } = this.#packer
    const packed = this.#packer.finish()
    const { function: stored, attachments } = this.#setup.function
    const taskId = this.#setup.ids.takeRun(count)
    const owner = new MapPart(this, firstIndex, taskId)
    const more = { args: [], options: this.#options, owner, run: { count, packed } }
    this.#hasSubmitted = true
    this.#connection.submit({ taskId, function: stored, attachments, ...more })
  }

  /** Inputs from an asynchronous source that come in one turn are one run. */
  #sendSoon(): void {
    if (this.#isSendDue || this.#packer === undefined || this.#packer.count === 0) return
    this.#isSendDue = true
    setImmediate(this.#sendNow)
  }

  /** The input needs a future that failed or was cancelled, or will be. */
  #inherit(index: number, { state }: FailedInput): void {
    if (!state.hasEnded) {
      this.#inFlight += 1
      state.listen({
        onEnd: () => {
          this.#inFlight -= 1
          this.#inherit(index, new FailedInput(state))
        },
      })
      return
    }
    const { outcome } = state
    const error = outcome?.isSuccess === false ? outcome.error : undefined
    this.#afterStart(() => this.#fail(index, error))
  }

  /** Ends the map before all tasks have ended. */
  #stop(kind: 'failed' | 'cancelled', error: unknown): void {
    if (this.#hasEnded) return
    if (kind === 'cancelled') blameCaller(error, this.#setup.site)
    const hasTasks = this.#inFlight > 0
    const isInputOpen = !this.#isInputOver
    this.#end(kind, error)
    if (isInputOpen) this.#setup.input.close()
    if (hasTasks) this.#connection.cancelAll((owner) => isPartOf(owner, this))
  }

  #end(kind: MapEnd['kind'], error: unknown): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#isInputOver = true
    this.#packer = undefined
    this.#connection.feeders.detach(this)
    this.#window.end()
    this.#setup.context.end(this)
    this.#updateRetain()
    this.results.finish({ kind, error, isInputRead: this.#isInputRead })
    this.#setup.watcher?.end(kind)
    this.#setup.span?.end({
      outcome: kind,
      error,
      attributes: {
        'messaging.batch.message_count': this.#inputCount,
        'scaler.failures': this.failureCount,
      },
    })
  }

  /**
   * While only the consumer of the results can advance the map, the map does not keep the process
   * alive.
   */
  #updateRetain(): void {
    const needsConsumer = this.results.isIterated && this.#inFlight === 0 && this.#ownRoom <= 0
    const isRetained = !this.#hasEnded && !needsConsumer
    if (isRetained === this.#isRetained) return
    this.#isRetained = isRetained
    if (isRetained) this.#connection.retain()
    else this.#connection.release()
  }
}

// The worker's core: every decision of one worker identity. It routes events to its parts and
// handles the life of the worker itself: registering, leaving, ending.

import { unreachable } from '../../base/assert.js'
import { Heartbeat } from '../../base/heartbeat.js'
import { type InstantMs, type Machine, Turn } from '../../base/machine.js'
import { Silence } from '../../base/silence.js'
import { FEATURE_PEERS, FEATURE_RECOVERY, hasFeature } from '../../base/features.js'
import {
  type ClientDisconnect,
  type Message,
  type OperatorRequest,
  PLAIN_HEARTBEAT,
  type WorkerHeartbeatEcho,
} from '../../wire/message.js'
import { Answers } from './task/ends.js'
import { Departure, type Leaving, Outage } from './life.js'
import { send, type WorkerAction, type WorkerCoreOptions, type WorkerEvent } from './events.js'
import { ownHeartbeat } from './own-heartbeat.js'
import { answerOperator, StackRequests, storiesOf } from './operators.js'
import { causeOf, lastLineOf, certainFailureOf } from './processor/death.js'
import { IdleCollection, ProcessorSlot } from './processor/slot.js'
import { WorkerTaskFlow } from './task/flow.js'
import { fieldsOf, taskCountOf } from './task/task.js'

/** One worker. Its first event must be `started`; after `end` it ignores all events. */
export class WorkerMachine implements Machine<WorkerEvent, WorkerAction> {
  /** Since when it has had no task; undefined while it has one, or no scheduler. */
  idleSince: InstantMs | undefined
  readonly #options: WorkerCoreOptions
  readonly #turn = new Turn<WorkerAction>()
  readonly #heartbeat: Heartbeat
  readonly #slot: ProcessorSlot
  readonly #answers: Answers
  readonly #flow: WorkerTaskFlow
  readonly #departure: Departure
  readonly #outage: Outage
  readonly #silence: Silence
  readonly #idleCollection: IdleCollection
  readonly #stacks: StackRequests
  #hasEnded = false
  #isConnected = false
  /** Whether the list of recoverable tasks was sent to the scheduler of this connection, */
  #hasReported = false
  /** and whether that scheduler has answered. */
  #isGreeted = false
  /** The worker registers only when its first processor is ready. */
  #canRegister = false
  #isRegistered = false
  /** Whether the scheduler of this connection supports leaving and returning workers. */
  #canRecover = false
  /** Whether it accepts lists of running tasks. */
  #acceptsRuns = false
  /** Whether DisconnectRequest was sent. Invariant: false unless the worker is leaving. */
  #hasSentDisconnect = false
  /** Whether the shell has requested it to leave; an operator may have done so before. */
  #isStopping = false
  /** Why it leaves, for `end`. */
  #leavesBecause = 'stopped'

  constructor(options: WorkerCoreOptions) {
    this.#options = options
    const turn = this.#turn
    this.#heartbeat = new Heartbeat(turn, options.heartbeatIntervalMs, () => this.#onHeartbeatDue())
    this.#silence = new Silence(turn, options.deathTimeoutMs)
    this.#departure = new Departure(turn)
    this.#outage = new Outage(turn, () => this.#onLongOutage())
    this.#slot = new ProcessorSlot(turn, options.gateway?.name)
    this.#idleCollection = new IdleCollection(turn, {
      garbageCollectIntervalMs: options.garbageCollectIntervalMs ?? 0,
      trimMemoryThresholdBytes: options.trimMemoryThresholdBytes ?? 0,
    })
    this.#stacks = new StackRequests(turn, this.#slot)
    this.#answers = new Answers(options, turn)
    this.#flow = new WorkerTaskFlow({ options, turn, answers: this.#answers, slot: this.#slot })
  }

  get deadline(): InstantMs | undefined {
    return this.#hasEnded ? undefined : this.#turn.nextAlarmAt
  }

  /** The number of tasks that still run while the worker drains. */
  get drainingCount(): number {
    return this.#departure.phase === 'draining' ? taskCountOf(this.#flow.running) : 0
  }

  handle(event: WorkerEvent, now: InstantMs, act: (action: WorkerAction) => void): void {
    if (this.#hasEnded) return
    this.#turn.begin(now, act)
    this.#route(event)
    if (this.#departure.phase === 'draining' && this.#flow.isIdle) this.#finishDrain()
    if (!this.#isWorking) return
    if (this.#slot.isStartDue) this.#startProcessor()
    this.#flow.dispatch()
    const { hasNoTasks } = this.#flow
    this.#idleCollection.update(this.#slot.state === 'ready' && hasNoTasks)
    const isIdle = hasNoTasks && this.#isRegistered && this.#isConnected
    this.idleSince = isIdle ? (this.idleSince ?? now) : undefined
  }

  /** The worker has ended and its processor is gone: the units of its tasks become free. */
  giveUnitsBack(): void {
    this.#flow.giveUnitsBack()
  }

  checkInvariants(): void {
    this.#turn.checkInvariants()
    if (this.#isWorking) this.#flow.checkInvariants()
  }

  get #isLeaving(): boolean {
    return this.#departure.phase === 'leaving'
  }

  get #isWorking(): boolean {
    return !this.#hasEnded && !this.#isLeaving
  }

  #route(event: WorkerEvent): void {
    switch (event.type) {
      case 'started':
        return this.#silence.watch()
      case 'connected':
        return this.#onConnected()
      case 'disconnected':
        return this.#onDisconnected(event.reason)
      case 'messageReceived':
        return this.#onMessage(event.message)
      case 'schedulerProgressed':
        this.#silence.heard()
        return this.#departure.onProgress()
      case 'congested':
        return this.#flow.setCongested(this.#isConnected)
      case 'drained':
        return this.#flow.setCongested(false)
      case 'resultHeld':
        return this.#answers.onHeld(event, event.isHeld)
      case 'stopRequested':
        return this.#onStopRequested(event.isUrgent === true, event.drainMs)
      case 'tick':
        return this.#onTick()
      case 'outputReported':
      case 'outputRead':
        return this.#onOutput(event)
      case 'processorReady':
      case 'objectsLost':
      case 'taskAnswered':
      case 'taskUpdated':
      case 'statusReported':
      case 'stackReported':
      case 'tasksRetracted':
      case 'processorExited':
        if (!this.#slot.isCurrent(event.processor)) return undefined
        if (this.#isWorking) return this.#onProcessorEvent(event)
        return event.type === 'processorExited' ? this.#sendDisconnect() : undefined
      default:
        return unreachable(event)
    }
  }

  #onConnected(): void {
    this.#isConnected = true
    this.#hasReported = false
    this.#isGreeted = false
    this.#departure.onConnected()
    this.#turn.log('info', 'connected to the scheduler')
    if (this.#canRegister) this.#heartbeat.start()
  }

  #onDisconnected(reason: string): void {
    if (this.#isLeaving) return this.#endLeaving()
    if (!this.#isConnected) return
    this.#isConnected = false
    this.#heartbeat.stop()
    this.#canRecover = false
    this.#acceptsRuns = false
    this.#answers.onDisconnected()
    this.#flow.onDisconnected()
    this.#departure.onDisconnected()
    this.#turn.log('warn', 'lost the connection to the scheduler', { reason })
  }

  #onMessage(message: Message): void {
    this.#silence.heard()
    if (this.#isLeaving) {
      if (message.kind === 'disconnectResponse') this.#endLeaving()
      return
    }
    switch (message.kind) {
      case 'task':
        return this.#flow.orders.onTask(message)
      case 'taskCancel':
        return this.#flow.orders.onTaskCancel(message)
      case 'objectResponse':
        return this.#flow.fetcher.onObjectResponse(message)
      case 'objectInstruction':
        return this.#flow.fetcher.onObjectInstruction(message)
      case 'sharedObject':
        return this.#flow.fetcher.onSharedObject(message)
      case 'workerHeartbeatEcho':
        return this.#onWorkerHeartbeatEcho(message)
      case 'clientDisconnect':
        return this.#onClientDisconnect(message)
      case 'operatorRequest':
        return this.#onOperatorRequest(message)
      default:
        return this.#turn.log('warn', 'ignored a message that is not for workers', {
          kind: message.kind,
        })
    }
  }

  #onWorkerHeartbeatEcho({ features }: WorkerHeartbeatEcho): void {
    this.#heartbeat.onEcho(features !== 0)
    this.#answers.onEcho(features)
    this.#canRecover = hasFeature(features, FEATURE_RECOVERY)
    this.#acceptsRuns = hasFeature(features, FEATURE_PEERS)
    if (!this.#isGreeted) {
      this.#isGreeted = true
      this.#flow.onRecoverableReported(this.#canRecover)
    }
    if (this.#departure.phase === 'draining' && !this.#canRecover) this.#leave()
    if (this.#isRegistered) return
    this.#isRegistered = true
    this.#turn.act({ type: 'registered' })
  }

  #onClientDisconnect({ disconnectType }: ClientDisconnect): void {
    if (disconnectType === 'shutdown')
      this.#end('the scheduler is shutting down the cluster', false)
  }

  #onOperatorRequest(request: OperatorRequest): void {
    const { number, action, lines, limitMS } = request
    switch (action) {
      case 'logs':
        return this.#turn.act({ type: 'sendLines', number, most: lines })
      case 'stack':
        return this.#stacks.onRequest(request)
      case 'drain':
        return this.#onDrainOrder(number, limitMS)
      default:
        return answerOperator(this.#turn, number, { outcome: 'unsupported' })
    }
  }

  #onDrainOrder(number: number, graceMs: number): void {
    const { running } = this.#flow
    const tasks = storiesOf(running, this.#turn.now)
    const fields = { tasks: taskCountOf(running), graceMs }
    this.#turn.log('info', 'leaving, by order of an operator', fields)
    answerOperator(this.#turn, number, { outcome: 'done', tasks })
    this.#leavesBecause = 'drained by an operator'
    this.#drain(graceMs)
  }

  /** Output that clients no longer wait for goes to the log. */
  #onOutput(event: OutputEvent): void {
    const isReachable = this.#isWorking || (this.#isLeaving && !this.#hasSentDisconnect)
    const isWanted = isReachable && this.#slot.isCurrent(event.processor)
    const { outputs } = this.#answers
    if (!isWanted) outputs.log(event.type === 'outputRead' ? event : event.output)
    else if (event.type === 'outputRead') outputs.onRead(event.stream, event.content)
    else outputs.onReported(event.output)
  }

  #onProcessorEvent(event: ProcessorEvent): void {
    switch (event.type) {
      case 'processorReady':
        return this.#onProcessorReady(event.pid)
      case 'objectsLost':
        return this.#flow.fetcher.onLost(event.objectIds)
      case 'taskAnswered':
        return this.#flow.onTasksAnswered(event.result)
      case 'taskUpdated':
        return this.#flow.onTaskUpdated(event.update)
      case 'statusReported':
        return this.#flow.onStatusTold(event.status)
      case 'stackReported':
        return this.#stacks.onReport(event.report, this.#flow.running)
      case 'tasksRetracted':
        return this.#flow.onTasksRetracted(event.retracted)
      case 'processorExited':
        return this.#onProcessorExited(event)
      default:
        return unreachable(event)
    }
  }

  /** With the first processor, the worker can run tasks, and registers. */
  #onProcessorReady(pid: number): void {
    this.#slot.onReady(pid)
    this.#outage.end()
    if (this.#canRegister) return
    this.#canRegister = true
    if (this.#isConnected) this.#heartbeat.start()
  }

  #onProcessorExited(event: ProcessorExited): void {
    const { exitCode, signal, stderr } = event.death
    if (this.#options.gateway !== undefined && this.#canRegister) this.#outage.begin()
    const isFirst = !this.#canRegister && !this.#outage.isLong
    const failure = isFirst ? certainFailureOf(event.death) : undefined
    if (failure !== undefined) {
      // The next one would fail in the same way.
      const { name } = this.#options.gateway ?? {}
      const what = name === undefined ? 'Node cannot start a processor' : `no ${name}`
      return this.#end(`${what}: ${failure}`, true)
    }
    const wasKilled = this.#slot.state === 'dying'
    const text = `the ${this.#options.gateway?.name ?? 'processor'} ${causeOf(event.death)}`
    const { pid } = this.#slot
    const fields = pid === 0 ? { stderr: event.death.stderr } : { processorId: pid }
    this.#stacks.onProcessorExited()
    const isUnstarted = pid === 0 && exitCode === undefined && signal === undefined
    const isUnusable = event.lastRun === 'unusable'
    const reason = isUnstarted ? stderr : undefined
    this.#slot.onExited({ reason, isUnusable, lastLine: lastLineOf(stderr) })
    const because = this.#flow.onProcessorExited(event.death, event.lastRun)
    if (isUnstarted || isUnusable) return
    this.#turn.log(wasKilled ? 'info' : 'warn', text, { ...fields, ...because })
  }

  /** As if the connection was lost. The worker registers again when it has a gateway. */
  #onLongOutage(): void {
    this.#canRegister = false
    if (!this.#isConnected) return
    const reason = `there is no ${this.#options.gateway?.name}`
    this.#turn.log('warn', `${reason} for some time; its tasks may run elsewhere meanwhile`)
    send(this.#turn, { kind: 'disconnectRequest', worker: this.#options.identity })
    this.#turn.act({ type: 'reconnect', reason })
  }

  #onStopRequested(isUrgent: boolean, drainMs = this.#options.drainMs): void {
    if (this.#isLeaving) return
    if (!this.#isConnected) return this.#endLeaving()
    const isFirst = !this.#isStopping
    this.#isStopping = true
    const mayDrain = isFirst && !isUrgent && this.#canRecover && drainMs > 0
    if (mayDrain && !this.#flow.isIdle) this.#drain(drainMs)
    else this.#leave({ isPatient: false, isUrgent })
  }

  /**
   * The scheduler is notified first, or it would assign the returned tasks to this worker again.
   */
  #drain(limitMs: number): void {
    this.#departure.drain(limitMs)
    this.#heartbeat.sendNow()
    this.#flow.leave()
  }

  /** No task runs any more, or the time for draining is over. */
  #finishDrain(): void {
    const { running } = this.#flow
    const [first] = running
    if (first !== undefined) {
      const afterMs = this.#departure.drainMs
      const fields = { tasks: taskCountOf(running), afterMs, ...fieldsOf(first) }
      this.#turn.log('warn', 'leaving while tasks are still running', fields)
    }
    if (this.#isConnected) this.#leave({ isPatient: true })
    else this.#endLeaving()
  }

  /**
   * If a client prints the processor's output, the processor exits first, so that its last output
   * still arrives.
   */
  #leave({ isPatient = false, isUrgent = false }: Leaving = {}): void {
    this.#departure.leave(isPatient)
    const isDone = this.#slot.state === 'ready' && this.#flow.isIdle
    const mayPrint = isDone && !isUrgent && this.#answers.outputs.isForwarding
    if (!mayPrint) this.#sendDisconnect()
    this.#turn.act({ type: 'endProcessor' })
  }

  #sendDisconnect(): void {
    if (!this.#isLeaving || this.#hasSentDisconnect) return
    this.#hasSentDisconnect = true
    send(this.#turn, { kind: 'disconnectRequest', worker: this.#options.identity })
  }

  #onTick(): void {
    this.#silence.onTick()
    this.#turn.ring()
    if (this.#departure.isOverdue) this.#hurry()
    else if (this.#silence.isTooLong) this.#giveUp()
  }

  /** Draining or leaving has taken too long. */
  #hurry(): void {
    if (!this.#isLeaving) return this.#finishDrain()
    this.#sendDisconnect()
    this.#endLeaving()
  }

  #giveUp(): void {
    // A scheduler sends nothing to workers that are not registered.
    if (this.#outage.isLong && this.#isConnected) return this.#silence.watch()
    const problem = this.#canRegister
      ? 'received nothing from the scheduler'
      : `no ${this.#options.gateway?.name ?? 'processor'} could be started`
    this.#end(`${problem} for ${this.#options.deathTimeoutMs} ms`, true)
  }

  #startProcessor(): void {
    this.#slot.start()
    this.#idleCollection.onProcessorStarted()
    this.#flow.onProcessorStarted()
  }

  #onHeartbeatDue(): void {
    this.#answers.onHeartbeat()
    const isFirst = !this.#hasReported
    this.#hasReported = true
    const { isBusy, queuedCount } = this.#flow
    this.#turn.act({
      type: 'sendHeartbeat',
      heartbeat: ownHeartbeat(this.#options, {
        isFirst,
        isBusy,
        queuedCount,
        pid: this.#slot.pid,
        latencyUs: this.#heartbeat.latencyUs,
        recoverable: isFirst ? this.#flow.recoverable : PLAIN_HEARTBEAT,
        runs: this.#acceptsRuns ? this.#flow.runs : PLAIN_HEARTBEAT.running,
        isDraining: this.#departure.phase === 'draining',
      }),
    })
  }

  #endLeaving(): void {
    this.#end(this.#leavesBecause, false)
  }

  #end(reason: string, isFailure: boolean): void {
    this.#hasEnded = true
    this.#turn.act({ type: 'end', reason, isFailure })
  }
}

type ProcessorExited = WorkerEvent & { readonly type: 'processorExited' }
type OutputEvent = WorkerEvent & { readonly type: 'outputReported' | 'outputRead' }
type ProcessorEvent = Exclude<Extract<WorkerEvent, { readonly processor: number }>, OutputEvent>

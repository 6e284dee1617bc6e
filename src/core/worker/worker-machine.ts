// The worker's core: everything that one worker identity decides. It routes events to the parts
// that they concern, and owns the life of the worker itself: registering, leaving, ending.

import { unreachable } from '../../base/assert.js'
import { Heartbeat } from '../../base/heartbeat.js'
import { type InstantMs, type Machine, Turn } from '../../base/machine.js'
import { Silence } from '../../base/silence.js'
import { FEATURE_PEERS, FEATURE_RECOVERY, hasFeature, OUR_FEATURES } from '../../base/features.js'
import {
  type ClientDisconnect,
  type Message,
  PLAIN_HEARTBEAT,
  type WorkerHeartbeatEcho,
} from '../../wire/message.js'
import { Answers } from './task/ends.js'
import { Departure } from './life.js'
import { send, type WorkerAction, type WorkerCoreOptions, type WorkerEvent } from './events.js'
import { causeOf } from './processor/death.js'
import { IdleCollection, ProcessorSlot } from './processor/slot.js'
import { TaskFlow } from './task/flow.js'
import { fieldsOf } from './task/task.js'

const NO_RESOURCE = { cpu: 0, rss: 0 }

/** Node ends with this code where it does not know an option that it was given. */
const BAD_OPTION_EXIT_CODE = 9

/** One worker. Its first event must be `started`; after `end` it ignores everything. */
export class WorkerMachine implements Machine<WorkerEvent, WorkerAction> {
  readonly #options: WorkerCoreOptions
  readonly #turn = new Turn<WorkerAction>()
  readonly #heartbeat: Heartbeat
  readonly #slot: ProcessorSlot
  readonly #answers: Answers
  readonly #flow: TaskFlow
  readonly #departure: Departure
  readonly #silence: Silence
  readonly #idleCollection: IdleCollection
  #hasEnded = false
  #isConnected = false
  /** Whether the scheduler of this connection has the list of recoverable tasks, */
  #hasTold = false
  /** and has answered. */
  #isGreeted = false
  /** The worker registers only once a processor is ready. */
  #isPresentable = false
  #isRegistered = false
  /** Whether the scheduler of this connection understands what is said of leaving and returning. */
  #canRecover = false
  /** Whether it accepts lists of running tasks. */
  #tellsRuns = false
  /** Whether the goodbye was sent. Invariant: false unless the worker is leaving. */
  #hasSaidGoodbye = false

  constructor(options: WorkerCoreOptions) {
    this.#options = options
    const turn = this.#turn
    this.#heartbeat = new Heartbeat(turn, options.heartbeatIntervalMs, () => this.#onHeartbeatDue())
    this.#silence = new Silence(turn, options.deathTimeoutMs)
    this.#departure = new Departure(turn)
    this.#slot = new ProcessorSlot(turn)
    this.#idleCollection = new IdleCollection(turn, {
      garbageCollectIntervalMs: options.garbageCollectIntervalMs ?? 0,
      trimMemoryThresholdBytes: options.trimMemoryThresholdBytes ?? 0,
    })
    this.#answers = new Answers(options, turn)
    this.#flow = new TaskFlow({ options, turn, answers: this.#answers, slot: this.#slot })
  }

  get deadline(): InstantMs | undefined {
    if (this.#hasEnded) return undefined
    return this.#isLeaving ? this.#departure.deadline : this.#turn.deadline
  }

  /** How many tasks still run while the worker drains. */
  get drainingCount(): number {
    return this.#departure.phase === 'draining' ? this.#flow.running.length : 0
  }

  handle(event: WorkerEvent, now: InstantMs, act: (action: WorkerAction) => void): void {
    if (this.#hasEnded) return
    this.#turn.begin(now, act)
    this.#route(event)
    if (this.#departure.phase === 'draining' && this.#flow.isIdle) this.#finishDrain()
    if (!this.#isWorking) return
    if (this.#slot.isStartDue) this.#startProcessor()
    this.#flow.dispatch()
    this.#idleCollection.update(this.#slot.state === 'ready' && this.#flow.hasNoTasks)
  }

  /** The worker has ended and its processor is gone: others may have the units of its tasks. */
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
      case 'stopRequested':
        return this.#onStopRequested(event.isUrgent === true)
      case 'tick':
        return this.#onTick()
      case 'outputTold':
      case 'outputRead':
        return this.#onOutput(event)
      case 'processorReady':
      case 'taskAnswered':
      case 'taskUpdated':
      case 'statusTold':
      case 'tasksRetracted':
      case 'processorExited':
        if (!this.#slot.isCurrent(event.processor)) return undefined
        if (this.#isWorking) return this.#onProcessorEvent(event)
        return event.type === 'processorExited' ? this.#sayGoodbye() : undefined
      default:
        return unreachable(event)
    }
  }

  #onConnected(): void {
    this.#isConnected = true
    this.#hasTold = false
    this.#isGreeted = false
    this.#departure.onConnected()
    this.#turn.log('info', 'connected to the scheduler')
    if (this.#isPresentable) this.#heartbeat.start()
  }

  #onDisconnected(reason: string): void {
    if (this.#isLeaving) return this.#end('stopped', false)
    if (!this.#isConnected) return
    this.#isConnected = false
    this.#heartbeat.stop()
    this.#canRecover = false
    this.#tellsRuns = false
    this.#answers.onDisconnected()
    this.#flow.onDisconnected()
    this.#departure.onDisconnected()
    this.#turn.log('warn', 'lost the connection to the scheduler', { reason })
  }

  #onMessage(message: Message): void {
    this.#silence.heard()
    if (this.#isLeaving) {
      if (message.kind === 'disconnectResponse') this.#end('stopped', false)
      return
    }
    switch (message.kind) {
      case 'task':
        return this.#flow.onTask(message)
      case 'taskCancel':
        return this.#flow.onTaskCancel(message)
      case 'objectResponse':
        return this.#flow.onObjectResponse(message)
      case 'objectInstruction':
        return this.#flow.onObjectInstruction(message)
      case 'workerHeartbeatEcho':
        return this.#onWorkerHeartbeatEcho(message)
      case 'clientDisconnect':
        return this.#onClientDisconnect(message)
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
    this.#tellsRuns = hasFeature(features, FEATURE_PEERS)
    if (!this.#isGreeted) {
      this.#isGreeted = true
      this.#flow.onTold(this.#canRecover)
    }
    if (this.#departure.phase === 'draining' && !this.#canRecover) this.#leave()
    if (this.#isRegistered) return
    this.#isRegistered = true
    this.#turn.act({ type: 'registered' })
  }

  #onClientDisconnect({ disconnectType }: ClientDisconnect): void {
    if (disconnectType === 'shutdown') this.#end('the scheduler shuts the cluster down', false)
  }

  /** Output that no client waits for any more goes to the log. */
  #onOutput(event: OutputEvent): void {
    const isHeard = this.#isWorking || (this.#isLeaving && !this.#hasSaidGoodbye)
    const isWanted = isHeard && this.#slot.isCurrent(event.processor)
    const { outputs } = this.#answers
    if (!isWanted) outputs.log(event.type === 'outputRead' ? event : event.output)
    else if (event.type === 'outputRead') outputs.onRead(event.stream, event.content)
    else outputs.onTold(event.output)
  }

  #onProcessorEvent(event: ProcessorEvent): void {
    switch (event.type) {
      case 'processorReady':
        return this.#onProcessorReady(event.pid)
      case 'taskAnswered':
        return this.#flow.onTaskAnswered(event.result)
      case 'taskUpdated':
        return this.#flow.onTaskUpdated(event.update)
      case 'statusTold':
        return this.#flow.onStatusTold(event.status)
      case 'tasksRetracted':
        return this.#flow.onTasksRetracted(event.retracted)
      case 'processorExited':
        return this.#onProcessorExited(event)
      default:
        return unreachable(event)
    }
  }

  /** With the first processor, the worker can do something, and registers. */
  #onProcessorReady(pid: number): void {
    this.#slot.onReady(pid)
    if (this.#isPresentable) return
    this.#isPresentable = true
    if (this.#isConnected) this.#heartbeat.start()
  }

  #onProcessorExited(event: ProcessorExited): void {
    const { exitCode, signal, stderr } = event.death
    if (!this.#isPresentable && exitCode === BAD_OPTION_EXIT_CODE) {
      // The next one would fail in the same way.
      return this.#end(`Node starts no processor: ${stderr.trim().split('\n', 1)[0]}`, true)
    }
    const wasKilled = this.#slot.state === 'dying'
    const text = `the processor ${causeOf(event.death)}`
    const { pid } = this.#slot
    const fields = pid === 0 ? { stderr: event.death.stderr } : { processorId: pid }
    const isUnstarted = pid === 0 && exitCode === undefined && signal === undefined
    this.#slot.onExited(isUnstarted ? stderr : undefined)
    const because = this.#flow.onProcessorExited(event.death, event.lastRun)
    if (isUnstarted) return
    this.#turn.log(wasKilled ? 'info' : 'warn', text, { ...fields, ...because })
  }

  #onStopRequested(isUrgent: boolean): void {
    if (this.#isLeaving) return
    if (!this.#isConnected) return this.#end('stopped', false)
    const isFirst = this.#departure.phase === 'staying'
    const mayDrain = isFirst && !isUrgent && this.#canRecover && this.#options.drainMs > 0
    if (mayDrain && !this.#flow.isIdle) this.#drain()
    else this.#leave({ isPatient: false, isUrgent })
  }

  /** The scheduler is notified first, or it would send what is given back here again. */
  #drain(): void {
    this.#departure.drain(this.#options.drainMs)
    this.#heartbeat.sendNow()
    this.#flow.leave()
  }

  /** Nothing runs any more, or the time for that is over. */
  #finishDrain(): void {
    const { running } = this.#flow
    const [first] = running
    if (first !== undefined) {
      const fields = { tasks: running.length, afterMs: this.#options.drainMs, ...fieldsOf(first) }
      this.#turn.log('warn', 'leaves though tasks still run', fields)
    }
    if (this.#isConnected) this.#leave({ isPatient: true })
    else this.#end('stopped', false)
  }

  /** What a processor prints at its end goes to the client that hears what it prints. */
  #leave({ isPatient = false, isUrgent = false }: Leaving = {}): void {
    this.#departure.leave(isPatient)
    const isDone = this.#slot.state === 'ready' && this.#flow.isIdle
    const mayPrint = isDone && !isUrgent && this.#answers.outputs.isForwarding
    if (!mayPrint) this.#sayGoodbye()
    this.#turn.act({ type: 'endProcessor' })
  }

  #sayGoodbye(): void {
    if (!this.#isLeaving || this.#hasSaidGoodbye) return
    this.#hasSaidGoodbye = true
    send(this.#turn, { kind: 'disconnectRequest', worker: this.#options.identity })
  }

  /** A worker that is leaving waits for nothing but its departure. */
  #onTick(): void {
    this.#silence.onTick()
    if (!this.#isLeaving) this.#turn.ring()
    if (this.#departure.isOverdue) this.#hurry()
    else if (this.#silence.isTooLong) this.#giveUp()
  }

  /** Draining or leaving has taken too long. */
  #hurry(): void {
    if (!this.#isLeaving) return this.#finishDrain()
    this.#sayGoodbye()
    this.#end('stopped', false)
  }

  #giveUp(): void {
    const silence = `for ${this.#options.deathTimeoutMs} ms`
    const problem = this.#isPresentable
      ? 'the scheduler has not been heard of'
      : 'no processor could be started'
    this.#end(`${problem} ${silence}`, true)
  }

  #startProcessor(): void {
    this.#slot.start()
    this.#idleCollection.onProcessorStarted()
    this.#flow.onProcessorStarted()
  }

  #onHeartbeatDue(): void {
    this.#answers.onHeartbeat()
    const isFirst = !this.#hasTold
    this.#hasTold = true
    const { isBusy, queuedCount } = this.#flow
    const { info } = this.#options
    const { pid } = this.#slot
    this.#turn.act({
      type: 'sendHeartbeat',
      heartbeat: {
        kind: 'workerHeartbeat',
        agent: NO_RESOURCE,
        rssFree: 0,
        queuedTasks: queuedCount,
        latencyUS: this.#heartbeat.latencyUs,
        // What 1.9.9 workers practically always say, and monitors show.
        taskLock: true,
        processors:
          pid !== 0
            ? [{ pid, initialized: true, hasTask: isBusy, suspended: false, resource: NO_RESOURCE }]
            : [],
        features: OUR_FEATURES,
        runtime: this.#options.runtime,
        ...PLAIN_HEARTBEAT,
        capabilities: this.#options.units?.capabilities ?? PLAIN_HEARTBEAT.capabilities,
        agentId: this.#options.agentId ?? PLAIN_HEARTBEAT.agentId,
        tasks: isFirst ? this.#flow.recoverableIds : PLAIN_HEARTBEAT.tasks,
        info: isFirst && info !== undefined ? [info] : PLAIN_HEARTBEAT.info,
        running: this.#tellsRuns ? this.#flow.runs : PLAIN_HEARTBEAT.running,
        isLeaving: this.#departure.phase === 'draining',
      },
    })
  }

  #end(reason: string, isFailure: boolean): void {
    this.#hasEnded = true
    this.#turn.act({ type: 'end', reason, isFailure })
  }
}

/** How a worker leaves. */
interface Leaving {
  /** Whether results may still be on their way. */
  readonly isPatient?: boolean
  /** Whether results and output are not awaited any more. */
  readonly isUrgent?: boolean
}

type ProcessorExited = WorkerEvent & { readonly type: 'processorExited' }
type OutputEvent = WorkerEvent & { readonly type: 'outputTold' | 'outputRead' }
type ProcessorEvent = WorkerEvent & {
  readonly type:
    | 'processorReady'
    | 'taskAnswered'
    | 'taskUpdated'
    | 'statusTold'
    | 'tasksRetracted'
    | 'processorExited'
}

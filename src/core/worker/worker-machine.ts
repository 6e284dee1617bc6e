// The worker's core: everything that one worker identity decides. It routes events to the parts
// that they concern, and owns the life of the worker itself: registering, leaving, ending.

import { unreachable } from '../../base/assert.js'
import { earliest, type InstantMs, type Machine } from '../../base/machine.js'
import { FEATURE_PEERS, FEATURE_RECOVERY, hasFeature, OUR_FEATURES } from '../../base/features.js'
import {
  type ClientDisconnect,
  type Message,
  PLAIN_HEARTBEAT,
  type WorkerHeartbeatEcho,
} from '../../wire/message.js'
import { Answers } from './task/ends.js'
import { Contact, Departure, Heartbeat } from './life.js'
import type { Act, WorkerAction, WorkerCoreOptions, WorkerEvent } from './events.js'
import { Output } from './output.js'
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
  readonly #output = new Output()
  readonly #heartbeat: Heartbeat
  readonly #slot: ProcessorSlot
  readonly #answers: Answers
  readonly #flow: TaskFlow
  readonly #departure = new Departure()
  readonly #contact: Contact
  readonly #idleCollection: IdleCollection
  #hasEnded = false
  #isConnected = false
  /** Whether the scheduler of this connection was told which tasks it can recover, */
  #hasTold = false
  /** and has answered. */
  #isGreeted = false
  /** The scheduler hears of this worker once it can do something. */
  #isPresentable = false
  #isRegistered = false
  /** Whether the scheduler of this connection understands what is said of leaving and returning. */
  #canRecover = false
  /** Whether it wants to know what runs. */
  #tellsRuns = false
  /** Whether the scheduler was told that this worker leaves. Invariant: false unless it does. */
  #hasSaidGoodbye = false

  constructor(options: WorkerCoreOptions) {
    this.#options = options
    this.#heartbeat = new Heartbeat(options.heartbeatIntervalMs)
    this.#contact = new Contact(options.deathTimeoutMs)
    this.#slot = new ProcessorSlot(this.#output)
    this.#idleCollection = new IdleCollection(this.#output, {
      garbageCollectIntervalMs: options.garbageCollectIntervalMs ?? 0,
      trimMemoryThresholdBytes: options.trimMemoryThresholdBytes ?? 0,
    })
    this.#answers = new Answers(options, this.#output)
    this.#flow = new TaskFlow({
      options,
      output: this.#output,
      answers: this.#answers,
      slot: this.#slot,
    })
  }

  get deadline(): InstantMs | undefined {
    if (this.#hasEnded) return undefined
    const departAt = this.#departure.deadline
    if (this.#isLeaving) return departAt
    const heartbeatAt = this.#isPresentable ? this.#heartbeat.dueAt : undefined
    const slotAt = earliest(this.#slot.deadline, this.#idleCollection.deadline)
    const workAt = earliest(slotAt, this.#flow.deadline)
    const goneAt = earliest(this.#contact.giveUpAt, departAt)
    return earliest(earliest(heartbeatAt, goneAt), workAt)
  }

  /** How many tasks a worker still runs that was told to leave. */
  get drainingCount(): number {
    return this.#departure.phase === 'draining' ? this.#flow.running.length : 0
  }

  handle(event: WorkerEvent, now: InstantMs, act: Act): void {
    if (this.#hasEnded) return
    this.#output.direct(act)
    this.#route(event, now)
    if (this.#departure.phase === 'draining') this.#checkDrained(now)
    if (this.#isWorking) this.#runDue(now)
    if (this.#isWorking) this.#flow.dispatch(now)
    if (this.#isWorking) this.#collectIdle(now)
  }

  /** The worker has ended and its processor is gone: others may have the units of its tasks. */
  giveUnitsBack(): void {
    this.#flow.giveUnitsBack()
  }

  checkInvariants(): void {
    if (this.#isWorking) this.#flow.checkInvariants()
  }

  get #isLeaving(): boolean {
    return this.#departure.phase === 'leaving'
  }

  get #isWorking(): boolean {
    return !this.#hasEnded && !this.#isLeaving
  }

  #route(event: WorkerEvent, now: InstantMs): void {
    switch (event.type) {
      case 'started':
        this.#contact.heard(now)
        return this.#startProcessor(now)
      case 'connected':
        return this.#onConnected(now)
      case 'disconnected':
        return this.#onDisconnected(event.reason, now)
      case 'messageReceived':
        return this.#onMessage(event.message, now)
      case 'schedulerProgressed':
        this.#contact.heard(now)
        return this.#departure.onProgress(now)
      case 'congested':
        return this.#flow.setCongested(this.#isConnected)
      case 'drained':
        return this.#flow.setCongested(false)
      case 'stopRequested':
        return this.#onStopRequested(event.isUrgent === true, now)
      case 'tick':
        return this.#onTick(now)
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
        if (this.#isWorking) return this.#onProcessorEvent(event, now)
        return event.type === 'processorExited' ? this.#sayGoodbye() : undefined
      default:
        return unreachable(event)
    }
  }

  #onConnected(now: InstantMs): void {
    this.#isConnected = true
    this.#hasTold = false
    this.#isGreeted = false
    this.#departure.onConnected()
    this.#heartbeat.onConnected(now)
    this.#output.log('info', 'connected to the scheduler')
  }

  #onDisconnected(reason: string, now: InstantMs): void {
    if (this.#isLeaving) return this.#end('stopped', false)
    if (!this.#isConnected) return
    this.#isConnected = false
    this.#heartbeat.onDisconnected()
    this.#canRecover = false
    this.#tellsRuns = false
    this.#answers.onDisconnected()
    this.#flow.onDisconnected()
    this.#departure.onDisconnected(now)
    this.#output.log('warn', 'lost the connection to the scheduler', { reason })
  }

  #onMessage(message: Message, now: InstantMs): void {
    this.#contact.heard(now)
    if (this.#isLeaving) {
      if (message.kind === 'disconnectResponse') this.#end('stopped', false)
      return
    }
    switch (message.kind) {
      case 'task':
        return this.#flow.onTask(message)
      case 'taskCancel':
        return this.#flow.onTaskCancel(message, now)
      case 'objectResponse':
        return this.#flow.onObjectResponse(message, now)
      case 'objectInstruction':
        return this.#flow.onObjectInstruction(message)
      case 'workerHeartbeatEcho':
        return this.#onWorkerHeartbeatEcho(message, now)
      case 'clientDisconnect':
        return this.#onClientDisconnect(message)
      default:
        return this.#output.log('warn', 'ignored a message that is not for workers', {
          kind: message.kind,
        })
    }
  }

  #onWorkerHeartbeatEcho({ features }: WorkerHeartbeatEcho, now: InstantMs): void {
    this.#heartbeat.onEcho(now, features !== 0)
    this.#answers.onEcho(features)
    this.#canRecover = hasFeature(features, FEATURE_RECOVERY)
    this.#tellsRuns = hasFeature(features, FEATURE_PEERS)
    if (!this.#isGreeted) {
      this.#isGreeted = true
      this.#flow.onTold(this.#canRecover, now)
    }
    if (this.#departure.phase === 'draining' && !this.#canRecover) this.#leave(now)
    if (this.#isRegistered) return
    this.#isRegistered = true
    this.#output.act({ type: 'registered' })
  }

  #onClientDisconnect({ disconnectType }: ClientDisconnect): void {
    if (disconnectType === 'shutdown') this.#end('the scheduler shuts the cluster down', false)
  }

  /** What is printed when nobody waits for it any more is for the log. */
  #onOutput(event: OutputEvent): void {
    const isHeard = this.#isWorking || (this.#isLeaving && !this.#hasSaidGoodbye)
    const isWanted = isHeard && this.#slot.isCurrent(event.processor)
    const { outputs } = this.#answers
    if (!isWanted) outputs.log(event.type === 'outputRead' ? event : event.output)
    else if (event.type === 'outputRead') outputs.onRead(event.stream, event.content)
    else outputs.onTold(event.output)
  }

  #onProcessorEvent(event: ProcessorEvent, now: InstantMs): void {
    switch (event.type) {
      case 'processorReady':
        this.#isPresentable = true
        return this.#slot.onReady(event.pid)
      case 'taskAnswered':
        return this.#flow.onTaskAnswered(event.result, now)
      case 'taskUpdated':
        return this.#flow.onTaskUpdated(event.update, now)
      case 'statusTold':
        return this.#flow.onStatusTold(event.status, now)
      case 'tasksRetracted':
        return this.#flow.onTasksRetracted(event.retracted)
      case 'processorExited':
        return this.#onProcessorExited(event, now)
      default:
        return unreachable(event)
    }
  }

  #onProcessorExited(event: ProcessorExited, now: InstantMs): void {
    const { exitCode, signal, stderr } = event.death
    if (!this.#isPresentable && exitCode === BAD_OPTION_EXIT_CODE) {
      // The next one would fare no better.
      return this.#end(`Node starts no processor: ${stderr.trim().split('\n', 1)[0]}`, true)
    }
    const wasKilled = this.#slot.state === 'dying'
    const text = `the processor ${causeOf(event.death)}`
    const { pid } = this.#slot
    const fields = pid === 0 ? { stderr: event.death.stderr } : { processorId: pid }
    const isUnstarted = pid === 0 && exitCode === undefined && signal === undefined
    this.#slot.onExited(now, isUnstarted ? stderr : undefined)
    const because = this.#flow.onProcessorExited(event.death, event.lastRun, now)
    if (isUnstarted) return
    this.#output.log(wasKilled ? 'info' : 'warn', text, { ...fields, ...because })
  }

  #onStopRequested(isUrgent: boolean, now: InstantMs): void {
    if (this.#isLeaving) return
    if (!this.#isConnected) return this.#end('stopped', false)
    const isFirst = this.#departure.phase === 'staying'
    const mayDrain = isFirst && !isUrgent && this.#canRecover && this.#options.drainMs > 0
    if (mayDrain && !this.#flow.isIdle) this.#drain(now)
    else this.#leave(now, { isPatient: false, isUrgent })
  }

  /** The scheduler hears of it first, or it would send what is given back here again. */
  #drain(now: InstantMs): void {
    this.#departure.drain(now, this.#options.drainMs)
    this.#beat(now)
    this.#flow.leave()
  }

  #checkDrained(now: InstantMs): void {
    const { isIdle, running } = this.#flow
    if (!isIdle && !this.#departure.isOver(now)) return
    const [first] = running
    if (first !== undefined) {
      const fields = { tasks: running.length, afterMs: this.#options.drainMs, ...fieldsOf(first) }
      this.#output.log('warn', 'leaves though tasks still run', fields)
    }
    if (this.#isConnected) this.#leave(now, { isPatient: true })
    else this.#end('stopped', false)
  }

  /** What a processor prints at its end goes to the client that hears what it prints. */
  #leave(now: InstantMs, { isPatient = false, isUrgent = false }: Leaving = {}): void {
    this.#departure.leave(now, isPatient)
    const isDone = this.#slot.state === 'ready' && this.#flow.isIdle
    const mayPrint = isDone && !isUrgent && this.#answers.outputs.isForwarding
    if (!mayPrint) this.#sayGoodbye()
    this.#output.act({ type: 'endProcessor' })
  }

  #sayGoodbye(): void {
    if (!this.#isLeaving || this.#hasSaidGoodbye) return
    this.#hasSaidGoodbye = true
    this.#output.send({ kind: 'disconnectRequest', worker: this.#options.identity })
  }

  #onTick(now: InstantMs): void {
    if (!this.#isLeaving) return this.#flow.onTick(now)
    if (!this.#departure.isOver(now)) return
    this.#sayGoodbye()
    this.#end('stopped', false)
  }

  /** What time alone brings about. */
  #runDue(now: InstantMs): void {
    const { startAt } = this.#slot
    if (startAt !== undefined && now >= startAt) this.#startProcessor(now)
    this.#slot.giveUpStart(now)
    const heartbeatAt = this.#heartbeat.dueAt
    if (this.#isPresentable && heartbeatAt !== undefined && now >= heartbeatAt) this.#beat(now)
    if (!this.#contact.isLost(now)) return
    const silence = `for ${this.#options.deathTimeoutMs} ms`
    const problem = this.#isPresentable
      ? 'the scheduler has not been heard of'
      : 'no processor could be started'
    this.#end(`${problem} ${silence}`, true)
  }

  #startProcessor(now: InstantMs): void {
    this.#slot.start(now)
    this.#idleCollection.onProcessorStarted(now)
    this.#flow.onProcessorStarted()
  }

  #collectIdle(now: InstantMs): void {
    this.#idleCollection.run(this.#slot.state === 'ready' && this.#flow.hasNoTasks, now)
  }

  #beat(now: InstantMs): void {
    this.#heartbeat.onSent(now)
    this.#answers.onHeartbeat()
    const isFirst = !this.#hasTold
    this.#hasTold = true
    const { isBusy, queuedCount } = this.#flow
    const { info } = this.#options
    const { pid } = this.#slot
    this.#output.act({
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
        running: this.#tellsRuns ? this.#flow.runs(now) : PLAIN_HEARTBEAT.running,
        isLeaving: this.#departure.phase === 'draining',
      },
    })
  }

  #end(reason: string, isFailure: boolean): void {
    this.#hasEnded = true
    this.#output.act({ type: 'end', reason, isFailure })
  }
}

/** How a worker leaves. */
interface Leaving {
  /** Whether results may still be on their way. */
  readonly isPatient?: boolean
  /** Whether nobody waits for anything. */
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

// The worker's core: everything that one worker identity decides. It routes events to the parts
// that they concern, and owns the life of the worker itself: registering, leaving, ending.

import { unreachable } from '../../base/assert.js'
import { earliest } from '../../base/earliest.js'
import { OUR_FEATURES } from '../../base/features.js'
import type { InstantMs, Machine } from '../../base/machine.js'
import type { ClientDisconnect, Message, WorkerHeartbeatEcho } from '../../wire/message.js'
import { PLAIN_HEARTBEAT } from '../../wire/plain.js'
import { Answers } from './answers.js'
import type { Act, WorkerAction, WorkerEvent } from './events.js'
import { Heartbeat } from './heartbeat.js'
import type { WorkerCoreOptions } from './options.js'
import { Output } from './output.js'
import { causeOf } from './processor-death.js'
import { ProcessorSlot } from './processor-slot.js'
import { TaskFlow } from './task-flow.js'

/** How long a leaving worker waits for the scheduler to say that it knows, in milliseconds. */
const LEAVE_TIMEOUT_MS = 1_000

const NO_RESOURCE = { cpu: 0, rss: 0 }

/** One worker. Its first event must be `started`; after `end` it ignores everything. */
export class WorkerMachine implements Machine<WorkerEvent, WorkerAction> {
  readonly #options: WorkerCoreOptions
  readonly #output = new Output()
  readonly #heartbeat: Heartbeat
  readonly #slot: ProcessorSlot
  readonly #answers: Answers
  readonly #flow: TaskFlow
  #phase: 'running' | 'leaving' | 'ended' = 'running'
  #isConnected = false
  /** The scheduler hears of this worker once it can do something. */
  #isPresentable = false
  #isRegistered = false
  /** When the scheduler was last heard of. */
  #lastContact: InstantMs | undefined
  #leaveBy: InstantMs | undefined

  constructor(options: WorkerCoreOptions) {
    this.#options = options
    this.#heartbeat = new Heartbeat(options.heartbeatIntervalMs)
    this.#slot = new ProcessorSlot(this.#output)
    this.#answers = new Answers(options, this.#output)
    this.#flow = new TaskFlow({
      options,
      output: this.#output,
      answers: this.#answers,
      slot: this.#slot,
    })
  }

  get deadline(): InstantMs | undefined {
    if (this.#phase === 'ended') return undefined
    if (this.#phase === 'leaving') return this.#leaveBy
    const heartbeatAt = this.#isPresentable ? this.#heartbeat.dueAt : undefined
    return earliest(
      earliest(heartbeatAt, this.#deathAt),
      earliest(this.#slot.deadline, this.#flow.deadline),
    )
  }

  handle(event: WorkerEvent, now: InstantMs, act: Act): void {
    if (this.#phase === 'ended') return
    this.#output.direct(act)
    this.#route(event, now)
    if (this.#phase !== 'running') return
    this.#runDue(now)
    this.#flow.dispatch(now)
  }

  checkInvariants(): void {
    if (this.#phase === 'running') this.#flow.checkInvariants()
  }

  get #deathAt(): InstantMs | undefined {
    return this.#lastContact === undefined
      ? undefined
      : this.#lastContact + this.#options.deathTimeoutMs
  }

  #route(event: WorkerEvent, now: InstantMs): void {
    switch (event.type) {
      case 'started':
        this.#lastContact = now
        return this.#startProcessor(now)
      case 'connected':
        return this.#onConnected(now)
      case 'disconnected':
        return this.#onDisconnected(event.reason)
      case 'messageReceived':
        return this.#onMessage(event.message, now)
      case 'schedulerProgressed':
        this.#lastContact = now
        return undefined
      case 'congested':
        return this.#flow.setCongested(this.#isConnected)
      case 'drained':
        return this.#flow.setCongested(false)
      case 'stopRequested':
        return this.#onStopRequested(now)
      case 'tick':
        return this.#onTick(now)
      case 'processorReady':
      case 'taskAnswered':
      case 'taskUpdated':
      case 'statusTold':
      case 'processorExited':
        if (this.#phase === 'running' && this.#slot.isCurrent(event.processor)) {
          this.#onProcessorEvent(event, now)
        }
        return undefined
      default:
        return unreachable(event)
    }
  }

  #onConnected(now: InstantMs): void {
    this.#isConnected = true
    this.#heartbeat.onConnected(now)
    this.#output.log('info', 'connected to the scheduler')
  }

  #onDisconnected(reason: string): void {
    if (this.#phase === 'leaving') return this.#end('stopped', false)
    if (!this.#isConnected) return
    this.#isConnected = false
    this.#heartbeat.onDisconnected()
    this.#answers.setFeatures(0)
    this.#flow.onDisconnected()
    this.#output.log('warn', 'lost the connection to the scheduler', { reason })
  }

  #onMessage(message: Message, now: InstantMs): void {
    this.#lastContact = now
    if (this.#phase === 'leaving') {
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

  #onWorkerHeartbeatEcho(echo: WorkerHeartbeatEcho, now: InstantMs): void {
    this.#heartbeat.onEcho(now)
    this.#answers.setFeatures(echo.features)
    if (this.#isRegistered) return
    this.#isRegistered = true
    this.#output.act({ type: 'registered' })
  }

  #onClientDisconnect({ disconnectType }: ClientDisconnect): void {
    if (disconnectType === 'shutdown') this.#end('the scheduler shuts the cluster down', false)
  }

  #onProcessorEvent(event: ProcessorEvent, now: InstantMs): void {
    switch (event.type) {
      case 'processorReady':
        this.#isPresentable = true
        return this.#slot.onReady(event.pid)
      case 'taskAnswered':
        return this.#flow.onTaskAnswered(event.result, now)
      case 'taskUpdated':
        return this.#flow.onTaskUpdated(event.update)
      case 'statusTold':
        return this.#flow.onStatusTold(event.status, now)
      case 'processorExited':
        return this.#onProcessorExited(event, now)
      default:
        return unreachable(event)
    }
  }

  #onProcessorExited(event: ProcessorExited, now: InstantMs): void {
    const wasKilled = this.#slot.state === 'dying'
    const text = `the processor ${causeOf(event.death)}`
    const { pid } = this.#slot
    const fields = pid === 0 ? { stderr: event.death.stderr } : { processorId: pid }
    this.#output.log(wasKilled ? 'info' : 'warn', text, fields)
    this.#slot.onExited(now)
    this.#flow.onProcessorExited(event.death, event.lastRun, now)
  }

  #onStopRequested(now: InstantMs): void {
    if (this.#phase === 'leaving') return
    if (!this.#isConnected) return this.#end('stopped', false)
    this.#phase = 'leaving'
    this.#leaveBy = now + LEAVE_TIMEOUT_MS
    this.#output.send({ kind: 'disconnectRequest', worker: this.#options.identity })
  }

  #onTick(now: InstantMs): void {
    if (this.#phase === 'leaving') {
      if (this.#leaveBy !== undefined && now >= this.#leaveBy) this.#end('stopped', false)
      return
    }
    this.#flow.onTick(now)
  }

  /** What time alone brings about. */
  #runDue(now: InstantMs): void {
    const { startAt } = this.#slot
    if (startAt !== undefined && now >= startAt) this.#startProcessor(now)
    this.#slot.giveUpStart(now)
    const heartbeatAt = this.#heartbeat.dueAt
    if (this.#isPresentable && heartbeatAt !== undefined && now >= heartbeatAt) this.#beat(now)
    const deathAt = this.#deathAt
    if (deathAt === undefined || now < deathAt) return
    const silence = `for ${this.#options.deathTimeoutMs} ms`
    const problem = this.#isPresentable
      ? 'the scheduler has not been heard of'
      : 'no processor could be started'
    this.#end(`${problem} ${silence}`, true)
  }

  #startProcessor(now: InstantMs): void {
    this.#slot.start(now)
    this.#flow.onProcessorStarted()
  }

  #beat(now: InstantMs): void {
    this.#heartbeat.onSent(now)
    const { isBusy, queuedCount } = this.#flow
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
      },
    })
  }

  #end(reason: string, isFailure: boolean): void {
    this.#phase = 'ended'
    this.#output.act({ type: 'end', reason, isFailure })
  }
}

type ProcessorExited = WorkerEvent & { readonly type: 'processorExited' }
type ProcessorEvent = WorkerEvent & {
  readonly type:
    'processorReady' | 'taskAnswered' | 'taskUpdated' | 'statusTold' | 'processorExited'
}

// The client as a machine: the connection, the heartbeats, and who is told what when. What
// happens to tasks is in task-flow.ts. docs/protocol.md#client

import { unreachable } from '../../base/assert.js'
import { earliest } from '../../base/earliest.js'
import { FEATURE_INLINE, hasFeature } from '../../base/features.js'
import { schedulerId, type SchedulerId, type TaskId } from '../../base/ids.js'
import type { InstantMs, Machine } from '../../base/machine.js'
import type { ClientHeartbeatEcho, Message } from '../../wire/message.js'
import type {
  ClientAction,
  ClientCoreOptions,
  ClientEvent,
  TaskEndReason,
  TaskSubmission,
  UnfinishedTask,
} from './events.js'
import { Heartbeat } from './heartbeat.js'
import { nextLinkState, type LinkFact, type LinkState } from './link-state.js'
import { taskCancelMessage } from './messages.js'
import { Silence } from './silence.js'
import { TaskFlow } from './task-flow.js'
import { Turn, type Act } from './turn.js'

/** What a 1.9.9 scheduler's echo has for an id. */
const NO_SCHEDULER_ID = schedulerId('')
/** After so long without a heartbeat a scheduler may have dropped this client: 60 s in 1.9.9. */
const FORGETFUL_MS = 50_000

/** One client. Every submitted task ends with exactly one `finishTask` or `endTask`. */
export class ClientMachine<Owner> implements Machine<ClientEvent<Owner>, ClientAction<Owner>> {
  readonly #options: ClientCoreOptions
  readonly #turn = new Turn<Owner>()
  readonly #flow: TaskFlow<Owner>
  readonly #heartbeat: Heartbeat
  readonly #silence: Silence
  #link: LinkState = 'connecting'
  /** The scheduler that answered last; undefined before the first answer. */
  #schedulerId: SchedulerId | undefined
  /** Results may have been lost since the scheduler answered last. */
  #isDoubtful = false
  /** Why the last connection, or attempt to get one, ended; '' if there was none. */
  #lastReason = ''
  /** How tasks end that are submitted once the link is closing. */
  #endReason: TaskEndReason = 'closed'

  constructor(options: ClientCoreOptions) {
    this.#options = options
    this.#flow = new TaskFlow(options, this.#turn)
    this.#heartbeat = new Heartbeat(options.heartbeatIntervalMs)
    this.#silence = new Silence(options.timeoutMs)
  }

  get deadline(): InstantMs | undefined {
    if (this.#isEnding) return undefined
    const silence = this.#flow.size > 0 ? this.#silence.deadline : undefined
    return earliest(earliest(this.#heartbeat.deadline, silence), this.#flow.deadline)
  }

  /** Tasks that have not ended. */
  get unfinishedTasks(): number {
    return this.#flow.size
  }

  /** Roughly what the tasks that have not been sent take, in bytes. */
  get waitingBytes(): number {
    return this.#flow.sender.waitingBytes
  }

  /** What the arguments of unfinished tasks take, in bytes. Shared ones count once. */
  get heldBytes(): number {
    return this.#flow.sender.heldBytes
  }

  /** Whether an unfinished task was handed to the scheduler. */
  isSent(id: TaskId): boolean {
    const task = this.#flow.get(id)
    return task !== undefined && task.state !== 'waiting'
  }

  /** All unfinished tasks, oldest first. */
  unfinished(): UnfinishedTask<Owner>[] {
    return [...this.#flow.values()]
  }

  handle(event: ClientEvent<Owner>, now: InstantMs, act: Act<Owner>): void {
    this.#turn.begin(now, act)
    this.#dispatch(event)
    if (this.#link === 'open') this.#flow.sender.flush(event.type === 'writable')
  }

  checkInvariants(): void {
    this.#flow.checkInvariants()
  }

  get #isEnding(): boolean {
    return this.#link === 'closing' || this.#link === 'closed'
  }

  #dispatch(event: ClientEvent<Owner>): void {
    switch (event.type) {
      case 'taskSubmitted':
        return this.#onTaskSubmitted(event.task)
      case 'messageReceived':
        this.#silence.heard(this.#turn.now)
        return this.#onMessage(event.message)
      case 'writable':
        return this.#flow.sender.onWritable()
      case 'connected':
        return this.#onConnected()
      case 'connectFailed':
        this.#lastReason = event.reason
        return
      case 'disconnected':
        return this.#onDisconnected(event.reason)
      case 'progressed':
        return this.#silence.heard(this.#turn.now)
      case 'cancelRequested':
        return this.#onCancelRequested(event.taskId)
      case 'closeRequested':
        return this.#onCloseRequested()
      case 'linkClosed':
        return this.#enter('linkClosed')
      case 'tick':
        return this.#onTick()
      default:
        unreachable(event)
    }
  }

  #enter(fact: LinkFact): void {
    this.#link = nextLinkState(this.#link, fact)
  }

  #onConnected(): void {
    this.#enter('connected')
    if (this.#link !== 'greeting') return
    this.#flow.sender.onConnected()
    this.#heartbeat.start(this.#turn.now)
    this.#pollHeartbeat()
  }

  #onDisconnected(reason: string): void {
    this.#enter('disconnected')
    this.#heartbeat.stop()
    if (this.#link !== 'connecting') return
    this.#lastReason = reason
    this.#isDoubtful = true
    if (!this.#options.reconnect) this.#close('disconnected', `the connection was lost: ${reason}`)
  }

  #onTick(): void {
    const { now } = this.#turn
    this.#silence.tick(now, this.deadline ?? now)
    this.#flow.sweep()
    this.#pollHeartbeat()
    if (this.#flow.size > 0 && now >= this.#silence.deadline) this.#giveUp()
  }

  #pollHeartbeat(): void {
    const due = this.#heartbeat.poll(this.#turn.now)
    const { latencyUS } = this.#heartbeat
    if (due === 'send') this.#turn.act({ type: 'sendHeartbeat', latencyUS })
    if (due === 'probe') this.#turn.act({ type: 'probeLink' })
  }

  #onMessage(message: Message): void {
    switch (message.kind) {
      case 'taskResult':
        return this.#flow.onTaskResult(message)
      case 'objectResponse':
        return this.#flow.onObjectResponse(message)
      case 'clientHeartbeatEcho':
        return this.#onEcho(message)
      default:
        this.#turn.log('warn', 'ignored a message that no client should get', {
          kind: message.kind,
        })
    }
  }

  #onEcho(echo: ClientHeartbeatEcho): void {
    const staleMs = this.#heartbeat.echoed(this.#turn.now)
    if (staleMs > 0) {
      // Only the echo of a new heartbeat shows that the scheduler knows this client (again).
      this.#isDoubtful ||= staleMs >= FORGETFUL_MS
      this.#enter('grewStale')
      this.#pollHeartbeat()
      return
    }
    const wasOpen = this.#link === 'open'
    this.#enter('echoed')
    if (this.#link !== 'open') return
    if (!wasOpen || echo.schedulerId !== this.#schedulerId) this.#open(echo)
  }

  /** Tells a scheduler, which may or may not be the one from before, all that it needs to know. */
  #open(echo: ClientHeartbeatEcho): void {
    const isSame = echo.schedulerId === this.#schedulerId
    const isOurs = echo.schedulerId !== NO_SCHEDULER_ID
    this.#schedulerId = echo.schedulerId
    this.#lastReason = ''
    this.#flow.mayForce = isOurs
    const mayInline = hasFeature(echo.features, FEATURE_INLINE)
    // A 1.9.9 scheduler dies of a task that it has already, and cannot be told from its successor.
    const memory = { isSame, mayRepeat: isOurs || !isSame, isDoubtful: this.#isDoubtful, mayInline }
    this.#isDoubtful = false
    this.#flow.resume(memory)
    this.#turn.log('debug', 'the scheduler answered', { isSame, tasks: this.#flow.size })
    this.#turn.act({ type: 'announceOpen', schedulerId: echo.schedulerId })
  }

  #onTaskSubmitted(submission: TaskSubmission<Owner>): void {
    if (this.#isEnding) {
      this.#turn.endTask(submission.owner, this.#endReason, this.#lastReason)
      return
    }
    if (this.#flow.size === 0) this.#silence.start(this.#turn.now)
    this.#flow.submit(submission)
  }

  #onCancelRequested(id: TaskId): void {
    const task = this.#flow.get(id)
    if (task === undefined) return
    this.#flow.recall(task)
    this.#flow.abandon(task, 'cancelled', '')
  }

  /** The scheduler was silent for too long. This client goes on: the scheduler may come back. */
  #giveUp(): void {
    const why = this.#lastReason === '' ? '' : ` (${this.#lastReason})`
    const detail = `no message from the scheduler for ${this.#options.timeoutMs} ms${why}`
    this.#turn.log('warn', detail, { tasks: this.#flow.size })
    for (const task of this.#flow.values()) {
      this.#flow.recall(task)
      this.#flow.abandon(task, 'disconnected', detail)
    }
  }

  #onCloseRequested(): void {
    if (this.#link === 'greeting' || this.#link === 'open') this.#sayGoodBye()
    this.#close('closed', '')
  }

  #sayGoodBye(): void {
    // One of ours cancels and deletes by itself.
    const isOurs = this.#schedulerId !== NO_SCHEDULER_ID
    for (const task of isOurs ? [] : this.#flow.values()) {
      if (task.state !== 'sent') continue
      this.#turn.send(taskCancelMessage(task.taskId, false))
    }
    this.#turn.send({ kind: 'clientDisconnect', disconnectType: 'disconnect' })
    if (!isOurs) this.#turn.send(this.#flow.sender.deleteEverything())
  }

  /** Ends every task and then the link. */
  #close(reason: TaskEndReason, detail: string): void {
    if (this.#isEnding) return
    this.#enter('closeRequested')
    this.#heartbeat.stop()
    this.#endReason = reason
    if (detail !== '') this.#lastReason = detail
    for (const task of this.#flow.values()) this.#flow.abandon(task, reason, detail)
    this.#turn.act({ type: 'closeLink' })
  }
}

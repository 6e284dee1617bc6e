// The client as a machine: the connection, the heartbeats, and what is sent and reported when.
// Tasks are handled in task/flow.ts, graphs in graph/flow.ts. docs/protocol.md#client

import { unreachable } from '../../base/assert.js'
import { isStorageServer, NO_SCHEDULER_HERE } from '../../base/features.js'
import { type InstantMs, type Machine, Turn } from '../../base/machine.js'
import { Silence } from '../../base/silence.js'
import type { ObjectId, TaskId } from '../../base/ids.js'
import type { WaitingReason } from '../../base/waiting-reason.js'
import type { Message, TaskResult } from '../../wire/message.js'
import {
  type ClientAction,
  type ClientCoreOptions,
  type ClientEvent,
  type GraphSubmission,
  type TaskEndReason,
  type TaskSubmission,
  type UnfinishedTask,
  type ClientTurn,
  endTask,
  reportWorkers,
  send,
} from './events.js'
import { GraphFlow } from './graph/flow.js'
import { Inquiries, ClientWaiting, type WaitingCause } from './waiting.js'
import { Link, type SchedulerMemory } from './link.js'
import { taskCancelMessage } from './messages.js'
import { ResultInput } from './task/task.js'
import { Shutdown } from './shutdown.js'
import { ClientTaskFlow } from './task/flow.js'

/** The most frequent events: a submitted task, and everything that is not a request of the user. */
type DispatchedType =
  | 'taskSubmitted'
  | 'messageReceived'
  | 'writable'
  | 'connected'
  | 'connectFailed'
  | 'disconnected'
  | 'progressed'
  | 'linkClosed'
  | 'tick'

type PinnedEvent<Owner> = Extract<ClientEvent<Owner>, { readonly type: 'objectPinned' }>

/**
 * Where a task is. `pending`: not sent. `queued`: the scheduler has it. `running`: a worker has
 * started it, or it has ended there.
 */
export type TaskWhereabouts = 'pending' | 'queued' | 'running'

/** One client. Every submitted task ends with exactly one `finishTask` or `endTask`. */
export class ClientMachine<Owner> implements Machine<ClientEvent<Owner>, ClientAction<Owner>> {
  readonly #options: ClientCoreOptions
  readonly #turn: ClientTurn<Owner> = new Turn()
  readonly #flow: ClientTaskFlow<Owner>
  readonly #graphs: GraphFlow<Owner>
  readonly #shutdown: Shutdown<Owner>
  readonly #link: Link<Owner>
  readonly #silence: Silence
  readonly #waiting: ClientWaiting<Owner>
  readonly #inquiries: Inquiries<Owner>
  /** Whether a caller waits for the first answer of the scheduler. */
  #isAnswerAwaited = false
  /** How tasks end that are submitted when the link is already closing. */
  #endReason: TaskEndReason = 'closed'

  constructor(options: ClientCoreOptions) {
    this.#options = options
    this.#flow = new ClientTaskFlow(options, this.#turn)
    const { tasks, objects, sender } = this.#flow
    this.#graphs = new GraphFlow(options, { tasks, objects, flow: this.#flow })
    sender.addSource(this.#graphs)
    this.#flow.ends.onRecall = (task) => this.#inquiries.askAttempts(task)
    this.#shutdown = new Shutdown(this.#turn)
    this.#link = new Link(options, this.#turn, (sentBefore) => sender.confirm(sentBefore))
    this.#silence = new Silence(this.#turn, options.timeoutMs)
    this.#inquiries = new Inquiries(this.#turn, this.#link, sender)
    this.#waiting = new ClientWaiting(this.#turn, {
      tasks,
      link: this.#link,
      silence: this.#silence,
      sender,
      isWaiting: () => this.#isWaiting || this.#isAnswerAwaited,
    })
  }

  get deadline(): InstantMs | undefined {
    return this.#link.isEnding ? undefined : this.#turn.nextAlarmAt
  }

  /** Tasks that have not ended. */
  get unfinishedTasks(): number {
    return this.#flow.tasks.openCount
  }

  /** The approximate size of tasks that have not been sent, in bytes. */
  get waitingBytes(): number {
    return this.#flow.sender.waitingBytes
  }

  /** The size of the arguments of unfinished tasks, in bytes. Shared ones count once. */
  get heldBytes(): number {
    return this.#flow.inputs.heldBytes
  }

  /** Whether everything except tasks has been sent, as far as that is possible. */
  get isQuiet(): boolean {
    return !this.#link.isOpen || this.#flow.sender.isQuiet
  }

  /** Whether a task's result can be an argument: the task has not ended, or its result is kept. */
  has(id: TaskId): boolean {
    return this.#flow.tasks.peek(id) !== undefined
  }

  /** Where an unfinished task is, as far as is known; undefined for any other. */
  whereIs(id: TaskId): TaskWhereabouts | undefined {
    const task = this.#flow.tasks.peek(id)
    if (task === undefined) return undefined
    if (task.state === 'waiting' || task.state === 'blocked') return 'pending'
    return task.state === 'sent' && !task.hasBegun ? 'queued' : 'running'
  }

  /** The tasks whose results a task waits for before it can be sent. */
  dependenciesOf(id: TaskId): readonly TaskId[] {
    const task = this.#flow.tasks.peek(id)
    if (task === undefined || task.unready === 0) return []
    const inputs = task.args.filter((arg) => arg instanceof ResultInput)
    return inputs.filter((input) => !input.isReady).map((input) => input.task.id)
  }

  /** Why the unfinished work of this client waits; undefined if some of it may be running. */
  get waitingCause(): WaitingCause | undefined {
    return this.#waiting.cause
  }

  /** Why the last connection or connection attempt ended; '' while connected. */
  get linkTrouble(): string {
    return this.#link.reason
  }

  /** Why a task waits; undefined if it does not wait, or the reason is unknown. */
  waitingReasonOf(id: TaskId): WaitingReason | undefined {
    const task = this.#flow.tasks.peek(id)
    return task === undefined ? undefined : this.#waiting.reasonOf(task)
  }

  /** All tasks whose end is reported, oldest first. */
  unfinished(): UnfinishedTask<Owner>[] {
    const unfinished: UnfinishedTask<Owner>[] = []
    for (const { id: taskId, count, owner } of this.#flow.tasks.values()) {
      if (owner !== undefined) unfinished.push({ taskId, count, owner })
    }
    return unfinished
  }

  /** The content of a pinned object; undefined for any other. */
  contentOf(id: ObjectId): TaskSubmission<Owner>['function']['content'] | undefined {
    return this.#flow.objects.pinned(id)?.value.content
  }

  handle(
    event: ClientEvent<Owner>,
    now: InstantMs,
    act: (action: ClientAction<Owner>) => void,
  ): void {
    this.#turn.begin(now, act)
    this.#dispatch(event)
    if (this.#link.isOpen) this.#flow.sender.flush(event.type === 'writable')
    this.#waiting.update()
  }

  checkInvariants(): void {
    this.#turn.checkInvariants()
    this.#flow.checkInvariants(this.#graphs.objectUses)
    this.#graphs.checkInvariants()
  }

  /** Whether anything waits for the scheduler. */
  get #isWaiting(): boolean {
    return this.#flow.tasks.openCount > 0 || this.#shutdown.isPending
  }

  #dispatch(event: ClientEvent<Owner>): void {
    switch (event.type) {
      case 'taskSubmitted':
        return this.#onTaskSubmitted(event.task)
      case 'messageReceived':
        this.#silence.heard()
        this.#waiting.onHeard()
        return this.#onMessage(event.message)
      case 'writable':
        return this.#flow.sender.onWritable()
      case 'connected':
        return this.#onConnected()
      case 'connectFailed':
        this.#link.reason = event.reason
        return
      case 'disconnected':
        return this.#onDisconnected(event.reason)
      case 'progressed':
        return this.#silence.heard()
      case 'linkClosed':
        return this.#link.closed()
      case 'tick':
        return this.#onTick()
      default:
        return this.#onRequest(event)
    }
  }

  /** Requests of the user, except submitting tasks. */
  #onRequest(event: Exclude<ClientEvent<Owner>, { readonly type: DispatchedType }>): void {
    switch (event.type) {
      case 'cancelRequested':
        return this.#onCancelRequested(event.taskId, event.count ?? 1)
      case 'graphSubmitted':
        return this.#onGraphSubmitted(event.graph)
      case 'graphCancelRequested':
        return this.#graphs.cancel(event.graphId)
      case 'resultRequested':
        return this.#onResultRequested(event.taskId, event.owner)
      case 'resultLeft':
        return this.#flow.leave(event.taskId, event.owner)
      case 'resultDropped':
        return this.#flow.drop(event.taskId)
      case 'objectPinned':
        return this.#onObjectPinned(event)
      case 'objectUnpinned':
        return this.#flow.objects.unpin(event.id)
      case 'sharedCalled':
        this.#flow.shared.ask(event.call)
        return this.#link.isEnding ? this.#flow.shared.close() : undefined
      case 'explanationRequested':
        return this.#inquiries.ask(event.taskId, this.#flow.tasks.peek(event.taskId))
      case 'reportRequested':
        return this.#link.ask()
      case 'answerRequested':
        this.#beginWaiting()
        this.#isAnswerAwaited = true
        return
      case 'clearRequested':
        return this.#onClearRequested()
      case 'shutdownRequested':
        return this.#onShutdownRequested()
      case 'closeRequested':
        return this.#onCloseRequested()
      default:
        unreachable(event)
    }
  }

  #onConnected(): void {
    if (this.#link.connected()) this.#flow.sender.onConnected()
  }

  #onDisconnected(reason: string): void {
    this.#shutdown.onDisconnected()
    this.#waiting.onDisconnected()
    this.#inquiries.endAll()
    this.#flow.shared.onDisconnected()
    this.#turn.act({ type: 'endOutput' })
    if (!this.#link.disconnected(reason) || this.#options.reconnect) return
    this.#close('disconnected', `the connection was lost: ${reason}`)
  }

  #onTick(): void {
    if (this.#link.isEnding) return
    this.#silence.onTick()
    this.#turn.ring()
    if (this.#isWaiting && this.#silence.isTooLong) this.#onSilence()
  }

  #onMessage(message: Message): void {
    switch (message.kind) {
      case 'taskResult':
        return this.#onTaskResult(message)
      case 'taskUpdate':
        return this.#flow.onTaskUpdate(message)
      case 'taskOutput':
        return this.#turn.act({ type: 'printOutput', output: message })
      case 'objectResponse':
        this.#onAnswer(this.#link.onObjectResponse(message))
        return this.#flow.onObjectResponse(message)
      case 'clientHeartbeatEcho':
        if (isStorageServer(message)) return this.#close('disconnected', NO_SCHEDULER_HERE)
        this.#onAnswer(this.#link.onEcho(message, this.#graphs.hasStored))
        reportWorkers(this.#turn, message)
        return this.#waiting.onEcho(message)
      case 'objectLoss':
        return this.#graphs.onLost(message)
      case 'taskExplanation':
        return this.#inquiries.onAnswer(message)
      case 'sharedObject':
        return this.#flow.shared.onMessage(message)
      case 'taskRoom':
        return this.#flow.sender.setRoom(message.tasks)
      case 'clientShutdownResponse':
        return this.#onShutdownResponse(message.accepted)
      default:
        this.#turn.log('warn', 'ignored a message that is not for clients', {
          kind: message.kind,
        })
    }
  }

  #onTaskResult(message: TaskResult): void {
    if (message.status === 'success' || message.status === 'failed') this.#waiting.onResult()
    if (message.attempts.length > 0) this.#flow.ends.reportAttempts(message)
    if (message.count > 1 || message.packed.byteLength > 0) return this.#flow.onRunResult(message)
    const task = this.#flow.tasks.get(message.taskId)
    if (task !== undefined) this.#flow.onTaskResult(task, message)
    else if (!this.#graphs.onTaskResult(message)) this.#flow.onUnknownResult(message)
  }

  /** Sends a scheduler, which may be a different one than before, everything that it needs. */
  #onAnswer(memory: SchedulerMemory | undefined): void {
    if (memory === undefined) return
    this.#flow.ends.mayForce = this.#link.isOurs
    this.#graphs.resume(memory)
    this.#flow.resume(memory)
    this.#shutdown.send()
    const fields = { isSame: memory.isSame, tasks: this.#flow.tasks.openCount }
    this.#turn.log('debug', 'the scheduler answered', fields)
    this.#isAnswerAwaited = false
    this.#waiting.start()
    this.#turn.act({ type: 'announceOpen', schedulerId: this.#link.schedulerId })
  }

  #onTaskSubmitted(submission: TaskSubmission<Owner>): void {
    if (this.#link.isEnding) {
      const { owner, taskId, run } = submission
      if (owner !== undefined) this.#refuse({ owner, taskId, count: run?.count ?? 1 })
      return
    }
    this.#beginWaiting()
    this.#flow.submit(submission)
  }

  #onGraphSubmitted(graph: GraphSubmission<Owner>): void {
    if (this.#link.isEnding) {
      for (const { owner, position } of graph.targets) {
        this.#refuse({ owner, taskId: graph.nodes.idOf(position), count: 1 })
      }
      return
    }
    this.#beginWaiting()
    this.#graphs.submit(graph)
  }

  #refuse(task: UnfinishedTask<Owner>): void {
    endTask(this.#turn, task, { reason: this.#endReason, detail: this.#link.reason })
  }

  /** Starts the timers of waiting, unless something is waiting already. */
  #beginWaiting(): void {
    if (this.#isWaiting) return
    this.#silence.watch()
    this.#waiting.start()
  }

  /** A task may have sent the object before it got a name. */
  #onObjectPinned({ value, sharedAs, isReplicated = false }: PinnedEvent<Owner>): void {
    if (this.#link.isEnding) return
    const { objects, shared } = this.#flow
    const object = objects.pin(value, sharedAs)
    if (isReplicated) objects.replicated.add(object)
    if (objects.isSent(object)) shared.publish([object])
  }

  #onCancelRequested(id: TaskId, count: number): void {
    for (const task of this.#flow.tasks.range(id, count)) this.#flow.cancel(task)
  }

  #onResultRequested(id: TaskId, owner: Owner): void {
    if (this.#link.isEnding) return this.#refuse({ owner, taskId: id, count: 1 })
    this.#beginWaiting()
    this.#flow.want(id, owner)
  }

  #onClearRequested(): void {
    if (this.#link.isEnding) return
    this.#graphs.recallAll()
    for (const task of this.#flow.tasks.values()) {
      this.#flow.ends.recall(task)
      this.#flow.ends.abandon(task, 'cleared', '')
    }
    this.#flow.objects.clear()
  }

  #onShutdownRequested(): void {
    this.#beginWaiting()
    this.#shutdown.request()
    if (this.#link.isEnding) this.#shutdown.answer('closed', '')
    else if (this.#link.isOpen) this.#shutdown.send()
  }

  #onShutdownResponse(accepted: boolean): void {
    if (this.#shutdown.isPending) {
      this.#shutdown.answer(accepted ? 'accepted' : 'refused', '')
      if (accepted) this.#close('shutDown', '')
    } else if (accepted) this.#giveUp('shutDown', 'another client shut the cluster down')
  }

  #onSilence(): void {
    const cause = this.#link.reason === '' ? '' : ` (${this.#link.reason})`
    const detail = `no message from the scheduler for ${this.#options.timeoutMs} ms${cause}`
    this.#shutdown.answer('unreachable', detail)
    this.#giveUp('disconnected', detail)
  }

  /** There is no scheduler. The client continues: it, or another one, may be started again. */
  #giveUp(reason: TaskEndReason, detail: string): void {
    this.#turn.log('warn', detail, { tasks: this.#flow.tasks.openCount })
    this.#graphs.recallAll()
    this.#flow.ends.giveUp(reason, detail)
  }

  #onCloseRequested(): void {
    if (this.#link.isOpen) this.#flow.sender.sendUnpublished()
    if (this.#link.isConnected) this.#sendDisconnect()
    this.#close('closed', '')
  }

  #sendDisconnect(): void {
    // Schedulers of this package cancel and delete on their own.
    const { isOurs } = this.#link
    for (const task of isOurs ? [] : this.#flow.tasks.values()) {
      if (task.state !== 'sent') continue
      send(this.#turn, taskCancelMessage(task.id, false))
    }
    send(this.#turn, { kind: 'clientDisconnect', disconnectType: 'disconnect' })
    if (!isOurs) send(this.#turn, this.#flow.sender.deleteEverything())
  }

  /** Ends every task and then the link. */
  #close(reason: TaskEndReason, detail: string): void {
    if (this.#link.isEnding) return
    this.#link.close()
    this.#inquiries.endAll()
    this.#flow.shared.close()
    this.#endReason = reason
    if (detail !== '') this.#link.reason = detail
    this.#shutdown.answer('closed', detail)
    const { tasks, ends } = this.#flow
    for (const task of tasks.values()) ends.abandon(task, reason, detail)
    this.#turn.act({ type: 'closeLink' })
  }
}

// What operators ask for and order: the story of a task, its stack, the last lines of a worker, to
// cancel a task, to drain a worker. Some of it the scheduler does; the rest is passed on to the
// worker, whose answer is passed back. Each request gets one answer, in time, whatever becomes of
// the worker. docs/protocol.md#operators

import { FEATURE_OPERATORS, hasFeature } from '../../../base/features.js'
import {
  identity,
  type Identity,
  idToHex,
  NO_TASK,
  type TaskId,
  taskId,
} from '../../../base/ids.js'
import type { Alarm, InstantMs } from '../../../base/machine.js'
import type {
  ObjectStory,
  OperatorAnswer,
  OperatorRequest,
  TaskStory,
} from '../../../wire/message.js'
import type { ClientEntry, TaskEntry, WorkerEntry } from '../entries.js'
import { STEP_COST, type Worklist } from '../graph/work.js'
import type { SchedulerState } from '../state.js'
import { idsOf } from '../task/run.js'
import { OPERATOR_ERROR, operatorCancelTask, statusResult } from '../task/task.js'
import { insteadOf, isPythonScaler } from './python-worker.js'
import { largestObjects, oldestWaiting } from './rankings.js'
import { beginningTest, endedStories, nodeStory, taskStory } from './story.js'

/** A worker that has not answered after this time is not waited for. */
const TIMEOUT_MS = 5_000

/** Maximum unanswered requests, of one monitor and of all together. */
const MOST_PENDING = { each: 16, all: 1_000 } as const

/** Maximum number of candidates if the beginning of an id is ambiguous. */
const MAX_CANDIDATES = 10

/** Minimum length of the beginning of an id, in digits. */
const MIN_DIGITS = 4

/** Limits for the answers of workers, of which ours send less, and for waiting tasks. */
const MOST = {
  note: 1_000,
  tasks: 32,
  frames: 100,
  lines: 5_000,
  characters: 4_096,
  waiting: 1_000,
  objects: 1_000,
} as const

/** What a protected scheduler refuses. */
const ORDERS: ReadonlySet<OperatorRequest['action']> = new Set([
  'cancel',
  'drain',
  'pause',
  'resume',
] as const)

const NO_PEER: Identity = identity('')

/** What is known of a request: the answer is filled in. */
type Reply = Pick<OperatorAnswer, 'outcome'> & Partial<Omit<OperatorAnswer, 'kind' | 'number'>>

/** A request that has not been answered. */
interface Pending {
  readonly client: ClientEntry
  /** Its number, by the client's count. */
  readonly number: number
  /** The worker that was asked; undefined: none, or the task is still looked for. */
  worker: WorkerEntry | undefined
  /** The worker or allocator that was asked. */
  asked: Identity | undefined
  readonly until: InstantMs
}

/** Requests of operators. */
export class Operators {
  readonly #state: SchedulerState
  readonly #alarm: Alarm
  /** Oldest first, by the number that workers receive. */
  readonly #pending = new Map<number, Pending>()
  #next = 1

  constructor(state: SchedulerState) {
    this.#state = state
    this.#alarm = state.turn.alarm(() => this.#onTimeout())
  }

  /** An operator asks for something. */
  onRequest(from: Identity, message: OperatorRequest): void {
    const { clients, turn, options } = this.#state
    const client = clients.get(from)
    if (client === undefined || !hasFeature(client.features, FEATURE_OPERATORS)) {
      turn.log('debug', 'ignored an operator without the feature', { client: from })
      return
    }
    const { number, action } = message
    const until = turn.now + TIMEOUT_MS
    const pending = { client, number, worker: undefined, asked: undefined, until }
    if (ORDERS.has(action) && options.isProtected && !this.#isOwnDrain(client, message)) {
      turn.log('warn', `refused an order of an operator: ${action}`, { client: from })
      return this.#answer(pending, { outcome: 'refused' })
    }
    if (!this.#hasRoom(client)) return this.#answer(pending, { outcome: 'busy' })
    const ownNumber = this.#next
    this.#next = (ownNumber % (2 ** 32 - 1)) + 1
    this.#pending.set(ownNumber, pending)
    this.#alarm.setBy(pending.until)
    if (action === 'waiting') {
      const most = Math.min(message.lines, MOST.waiting)
      const onDone = (tasks: readonly TaskStory[]): void => {
        this.#settle(ownNumber, { outcome: 'done', tasks })
      }
      return this.#state.graphWork.begin(oldestWaiting(this.#state, most, onDone))
    }
    if (action === 'objects') {
      const most = Math.min(message.lines, MOST.objects)
      const onDone = (objects: readonly ObjectStory[]): void => {
        this.#settle(ownNumber, { outcome: 'done', objects })
      }
      return this.#state.graphWork.begin(largestObjects(this.#state, most, onDone))
    }
    if (action === 'pause' || action === 'resume') return this.#askAllocator(ownNumber, message)
    if (action === 'logs' || action === 'drain' || message.task === '') {
      return this.#ask(ownNumber, message, this.#state.workers.get(message.worker), NO_TASK)
    }
    this.#find(message.task, (found) => this.#onFound(ownNumber, message, found))
  }

  /** A client cannot have something that it did not ask for by a number: reports. */
  refuse(client: ClientEntry, note: string): void {
    this.#answer({ client, number: 0 }, { outcome: 'busy', note })
  }

  /** A worker answers. */
  onAnswer(from: Identity, message: OperatorAnswer): void {
    const pending = this.#pending.get(message.number)
    if (pending === undefined || pending.asked !== from) return
    this.#settle(message.number, {
      ...message,
      note: message.note.slice(0, MOST.note),
      tasks: message.tasks.slice(0, MOST.tasks).map((story) => this.#complete(story)),
      stack: message.stack.slice(0, MOST.frames),
      objects: [],
      lines: message.lines.slice(-MOST.lines).map((line) => {
        return { ...line, text: line.text.slice(0, MOST.characters) }
      }),
      worker: from,
    })
  }

  /** A worker has left: it will not answer. */
  forget(worker: WorkerEntry): void {
    for (const [number, pending] of this.#pending) {
      if (pending.worker !== worker) continue
      this.#settle(number, {
        outcome: 'unknown',
        note: 'the worker has left',
        worker: worker.identity,
      })
    }
  }

  /** A client has left: its requests are not answered. */
  leave(client: ClientEntry): void {
    for (const [number, pending] of this.#pending) {
      if (pending.client === client) this.#pending.delete(number)
    }
  }

  #hasRoom(client: ClientEntry): boolean {
    if (this.#pending.size >= MOST_PENDING.all) return false
    let own = 0
    for (const pending of this.#pending.values()) if (pending.client === client) own += 1
    return own < MOST_PENDING.each
  }

  /** The tasks with this id, or whose ids begin so. Large tables are searched in several turns. */
  #find(digits: string, onFound: (found: Found) => void): void {
    const { tasks, graphWork } = this.#state
    if (!isIdBeginning(digits)) return onFound(NOTHING_FOUND)
    const text = digits.toLowerCase()
    if (text.length % 2 === 0) {
      const id = taskId(Buffer.from(text, 'hex').toString('latin1'))
      const task = tasks.get(id)
      if (task !== undefined) return onFound({ ...NOTHING_FOUND, tasks: [task] })
      const node = nodeStory(this.#state, id)
      if (node !== undefined) return onFound({ ...NOTHING_FOUND, others: [node] })
    }
    const search = new TaskSearch(this.#state, text, (found) => {
      const others = endedStories(this.#state, text, MAX_CANDIDATES + 1)
      onFound({ tasks: found, others })
    })
    graphWork.begin(search)
  }

  #onFound(number: number, message: OperatorRequest, { tasks, others }: Found): void {
    const [task] = tasks
    const [other] = others
    if (tasks.length + others.length > 1) {
      const stories = [...tasks.map((each) => taskStory(this.#state, each)), ...others]
      const candidates = stories.slice(0, MAX_CANDIDATES)
      const note = stories.length > MAX_CANDIDATES ? 'there are more' : ''
      return this.#settle(number, { outcome: 'ambiguous', note, tasks: candidates })
    }
    if (task === undefined && other === undefined) {
      const note = isIdBeginning(message.task)
        ? 'the scheduler knows unfinished tasks once it has them, and the last 1,000 failed ones'
        : `expected at least ${MIN_DIGITS} hexadecimal digits of the id`
      return this.#settle(number, { outcome: 'unknown', note })
    }
    switch (message.action) {
      case 'explain': {
        const story = task === undefined ? other : taskStory(this.#state, task)
        return this.#settle(number, { outcome: 'done', tasks: story === undefined ? [] : [story] })
      }
      case 'cancel':
        return this.#cancel(number, task, other)
      case 'stack':
        if (task?.worker !== undefined) return this.#ask(number, message, task.worker, task.id)
        return this.#settle(number, {
          outcome: 'unsupported',
          note: 'no worker has it',
          tasks: task === undefined ? others : [taskStory(this.#state, task)],
        })
      case 'logs':
      case 'drain':
      case 'waiting':
      case 'objects':
      case 'pause':
      case 'resume':
        return undefined
    }
  }

  /** Either a task, or a node that is not a task yet, or something that has ended. */
  #cancel(number: number, task: TaskEntry | undefined, other: TaskStory | undefined): void {
    const state = this.#state
    const { turn, graphWork } = state
    const id = task?.id ?? other?.taskId ?? NO_TASK
    const story = task === undefined ? other : taskStory(state, task)
    const client = this.#pending.get(number)?.client.identity ?? NO_PEER
    turn.log('info', 'an operator cancels a task', { task: idToHex(id), operator: client })
    const tasks = story === undefined ? [] : [story]
    if (task !== undefined && task.node === undefined) operatorCancelTask(state, task)
    else {
      const result = { ...statusResult(id, 'canceled'), error: [OPERATOR_ERROR] }
      const graphs = task?.node === undefined ? graphWork.graphs : [task.node.graph]
      const isCancelled = [...graphs].some((graph) => graph.cancelUnfinished(result))
      if (!isCancelled)
        return this.#settle(number, { outcome: 'unknown', note: 'it has already ended', tasks })
    }
    this.#settle(number, { outcome: 'done', tasks, worker: task?.worker?.identity ?? NO_PEER })
  }

  #ask(
    number: number,
    { action, lines, limitMS }: OperatorRequest,
    worker: WorkerEntry | undefined,
    task: TaskId,
  ): void {
    const pending = this.#pending.get(number)
    if (worker === undefined)
      return this.#settle(number, { outcome: 'unknown', note: 'no such worker' })
    if (!hasFeature(worker.heartbeat.features, FEATURE_OPERATORS)) {
      const isPython = isPythonScaler(worker)
      const note = isPython ? insteadOf(action, worker) : 'the worker is of an older version'
      return this.#settle(number, { outcome: 'unsupported', note, worker: worker.identity })
    }
    if (pending === undefined) return
    pending.worker = worker
    pending.asked = worker.identity
    const { output, turn } = this.#state
    if (action === 'drain') {
      const fields = { worker: worker.identity, operator: pending.client.identity }
      turn.log('info', 'an operator drains a worker', fields)
    }
    output.send(worker.identity, {
      kind: 'operatorRequest',
      number,
      action,
      task: '',
      taskId: task,
      worker: worker.identity,
      lines,
      limitMS,
      allocator: '',
    })
  }

  /** An allocator ends what it has started, in protected mode, too. */
  #isOwnDrain(client: ClientEntry, { action, worker }: OperatorRequest): boolean {
    const { allocators, workers } = this.#state
    return action === 'drain' && allocators.owns(client, workers.get(worker))
  }

  #askAllocator(number: number, message: OperatorRequest): void {
    const { allocators, output, turn } = this.#state
    const pending = this.#pending.get(number)
    const client = allocators.named(message.allocator)
    if (pending === undefined) return
    if (client === undefined)
      return this.#settle(number, { outcome: 'unknown', note: 'no such allocator' })
    pending.asked = client.identity
    const fields = { name: message.allocator, operator: pending.client.identity }
    turn.log('info', `an operator orders an allocator to ${message.action}`, fields)
    output.send(client.identity, { ...message, number, bytes: undefined })
  }

  #settle(number: number, reply: Reply): void {
    const pending = this.#pending.get(number)
    if (pending === undefined) return
    this.#pending.delete(number)
    this.#answer(pending, reply)
  }

  #answer({ client, number }: Pick<Pending, 'client' | 'number'>, reply: Reply): void {
    if (client.hasLeft) return
    this.#state.output.send(client.identity, {
      note: '',
      tasks: [],
      stack: [],
      lines: [],
      objects: [],
      worker: NO_PEER,
      ...reply,
      kind: 'operatorAnswer',
      number,
      bytes: undefined,
    })
  }

  #onTimeout(): void {
    const { now } = this.#state.turn
    for (const [number, { until, worker, asked }] of this.#pending) {
      if (until > now) {
        this.#alarm.setBy(until)
        return
      }
      const late = asked === undefined ? 'the search has not ended' : 'it has not answered'
      const note = `${late} within ${TIMEOUT_MS / 1_000} s`
      this.#settle(number, { outcome: 'timedOut', note, worker: worker?.identity ?? NO_PEER })
    }
  }

  /** Adds what only the scheduler knows of a task that a worker names. */
  #complete(story: TaskStory): TaskStory {
    const task = this.#state.tasks.get(story.taskId)
    return task === undefined ? story : { ...taskStory(this.#state, task), forMS: story.forMS }
  }
}

function isIdBeginning(text: string): boolean {
  return text.length >= MIN_DIGITS && /^[\da-f]{0,64}$/i.test(text)
}

/** What begins like an id: unfinished tasks, and the stories of others. */
interface Found {
  readonly tasks: readonly TaskEntry[]
  readonly others: readonly TaskStory[]
}

const NOTHING_FOUND: Found = { tasks: [], others: [] }

/** Looks through all unfinished tasks, a limited number in each turn. */
class TaskSearch implements Worklist {
  readonly #state: SchedulerState
  readonly #isMeant: (id: TaskId) => boolean
  readonly #onDone: (found: readonly TaskEntry[]) => void
  readonly #rest: Iterator<TaskEntry>
  readonly #found = new Set<TaskId>()

  constructor(
    state: SchedulerState,
    digits: string,
    onDone: (found: readonly TaskEntry[]) => void,
  ) {
    this.#state = state
    this.#isMeant = beginningTest(digits)
    this.#onDone = onDone
    this.#rest = state.tasks.values()
  }

  advance(): boolean {
    const { graphWork, tasks } = this.#state
    for (;;) {
      if (graphWork.left <= 0) return false
      graphWork.left -= STEP_COST
      const next = this.#rest.next()
      if (next.done !== true) this.#look(next.value)
      if (next.done !== true && this.#found.size <= MAX_CANDIDATES) continue
      this.#onDone([...this.#found].flatMap((id) => tasks.get(id) ?? []))
      return true
    }
  }

  #look(task: TaskEntry): void {
    this.#state.graphWork.left -= STEP_COST * (task.count - 1)
    for (const id of idsOf(task)) if (this.#isMeant(id)) this.#found.add(id)
  }
}

// The output of tasks, on its way to the clients that have requested it: which task it belongs to,
// and the task's name. docs/protocol.md#output

import { NO_BYTES } from '../../../base/bytes.js'
import { FEATURE_OUTPUT, hasFeature } from '../../../base/features.js'
import { type Identity, NO_TASK, type TaskId, taskLogFields } from '../../../base/ids.js'
import type { OutputPlace, OutputStream, TaskOutput } from '../../../wire/message.js'
import type { WorkerTurn } from '../events.js'
import { fieldsOf, titleOf, type WorkerTask } from './task.js'

/** A task, as far as its output is concerned. */
interface Voice {
  readonly id: TaskId
  readonly name: string
  readonly output: OutputPlace
  readonly client: Identity
}

/** A piece of output, for the log. */
type PrintedPiece = Pick<TaskOutput, 'stream' | 'content'> &
  Partial<Pick<TaskOutput, 'taskId' | 'name' | 'droppedBytes'>>

/** Tasks of a processor, by id. */
interface OutTasks {
  /** The task with this id, as an entry of its own. */
  getOut(id: TaskId): WorkerTask | undefined
  /** The entry that includes the task. */
  peekOut(id: TaskId): WorkerTask | undefined
}

/** All tasks of a processor, in dispatch order. */
interface UnansweredTasks {
  unanswered(): Iterable<WorkerTask>
}

/** Forwards the output of a processor. */
export class TaskOutputs {
  readonly #turn: WorkerTurn
  #tasks: OutTasks | undefined
  #unanswered: UnansweredTasks | undefined
  /** The features of the scheduler of this connection; undefined before its first echo. */
  #features: number | undefined
  /** The task that the current processor answered last. */
  #last: Voice | undefined

  constructor(turn: WorkerTurn) {
    this.#turn = turn
  }

  /** Whether a client prints the output of the processor while it has no task. */
  get isForwarding(): boolean {
    return this.#last?.output === 'forward'
  }

  /** An echo contains the scheduler's features. */
  onEcho(features: number): void {
    this.#features = features
  }

  /** The next scheduler may be a different one. */
  onDisconnected(): void {
    this.#features = undefined
  }

  /** The tasks that can print. */
  listenTo(tasks: OutTasks, unanswered: UnansweredTasks): void {
    this.#tasks = tasks
    this.#unanswered = unanswered
  }

  /** The unanswered tasks have ended here. None of this applies to the next processor. */
  onProcessorExited(unanswered: readonly WorkerTask[]): void {
    for (const task of unanswered) this.onEnded(task)
    this.#last = undefined
  }

  /** The processor reports which task has printed something. */
  onReported(output: TaskOutput): void {
    if (output.client === '') return this.log(output)
    const task = this.#tasks?.getOut(output.taskId)
    if (task === undefined) return this.#send({ ...output, bytes: undefined, isLast: true })
    task.hasPrinted = true
    this.#send(output.name === '' ? { ...output, bytes: undefined, name: titleOf(task) } : output)
  }

  /**
   * Something bypassed the processor's own streams: native code wrote it, or a process that a task
   * has started. Its task is known if the output of all possible tasks goes to the same place.
   */
  onRead(stream: OutputStream, content: Uint8Array): void {
    const voice = this.#voiceOf(this.#unanswered?.unanswered() ?? [])
    if (voice === undefined || voice.output === 'log') this.log({ stream, content })
    if (voice?.output !== 'forward') return
    const { id: taskId, name, client } = voice
    this.#send({ ...NOTHING, taskId, client, name, stream, content, isLast: voice === this.#last })
  }

  /** The processor has finished the task, or has exited. */
  onEnded(task: WorkerTask): void {
    const { id, output, outputClient: client } = task
    if (output === 'log') this.#last = undefined
    else this.#last = { id, output, client, name: titleOf(task) }
    if (!task.hasPrinted) return
    task.hasPrinted = false
    this.#send({ ...NOTHING, taskId: id, client, name: titleOf(task), isLast: true })
  }

  /** Writes a piece of output to the log, with the task if it is known. */
  log({ taskId: id = NO_TASK, name = '', stream, content, droppedBytes = 0 }: PrintedPiece): void {
    // Output that counts as dropped was reported only for an error message.
    if (droppedBytes > 0) return
    const task = this.#tasks?.peekOut(id)
    const fields =
      task === undefined ? taskLogFields(id, name) : fieldsOf({ ...task, id, count: 1 })
    this.#turn.act({ type: 'logOutput', stream, content, fields: id === NO_TASK ? {} : fields })
  }

  #voiceOf(unanswered: Iterable<WorkerTask>): Voice | undefined {
    let speaker: WorkerTask | undefined
    for (const task of unanswered) {
      speaker ??= task
      const isSame = task.output === speaker.output && task.outputClient === speaker.outputClient
      if (!isSame) return undefined
      // A task that waits for others does not print meanwhile.
      if (speaker.isWaiting) speaker = task
    }
    if (speaker === undefined) return this.#last
    const { id, output, outputClient: client } = speaker
    if (output === 'forward') {
      const one = this.#tasks?.getOut(id)
      if (one !== undefined) one.hasPrinted = true
    }
    return { id, output, client, name: titleOf(speaker) }
  }

  #send(output: TaskOutput): void {
    const features = this.#features
    if (features !== undefined && !hasFeature(features, FEATURE_OUTPUT)) {
      return this.log(output)
    }
    this.#turn.act({ type: 'sendOutput', output, mayLeave: features !== undefined })
  }
}

const NOTHING = {
  kind: 'taskOutput',
  stream: 'stdout',
  content: NO_BYTES,
  droppedBytes: 0,
  isLast: false,
} as const

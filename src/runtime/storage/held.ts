// Messages that wait for content before them to be stored: which of those that come later may be
// sent earlier. Others keep their order only if they are about the same tasks or objects.

import { bytesToLatin1 } from '../../base/bytes.js'
import { taskId, type TaskId } from '../../base/ids.js'
import type { Message, Task } from '../../wire/message.js'
import { blockNameOf } from '../../wire/run.js'

/** Messages that are about neither tasks nor objects, and wait for nothing. */
const URGENT: ReadonlySet<Message['kind']> = new Set([
  'clientHeartbeat',
  'workerHeartbeat',
  'objectRequest',
  'storageServers',
  'monitorRequest',
  'operatorRequest',
  'operatorAnswer',
] as const)

/** What a message is about, as keys: messages with a common one keep their order. */
interface Subject {
  /** Keys that later messages must not have while this one waits. */
  readonly own: readonly string[]
  /** Keys for which this one waits. */
  readonly needed: readonly string[]
}

/** The messages that wait. */
export class HeldMessages {
  /** How many of them have each key. */
  readonly #keys = new Map<string, number>()
  /** Those that everything waits for. */
  #barriers = 0
  #count = 0

  /** Whether this message has to wait for one of them. */
  holdsBack(message: Message): boolean {
    if (this.#count === 0 || URGENT.has(message.kind)) return false
    const subject = this.#barriers > 0 ? undefined : subjectOf(message)
    return subject === undefined || subject.needed.some((key) => this.#keys.has(key))
  }

  /** This message waits, too. */
  add(message: Message): void {
    this.#change(message, 1)
  }

  /** This message, as it was added, does not wait any more. */
  remove(message: Message): void {
    this.#change(message, -1)
  }

  /** None of them waits any more. */
  clear(): void {
    this.#keys.clear()
    this.#barriers = 0
    this.#count = 0
  }

  #change(message: Message, by: 1 | -1): void {
    this.#count += by
    const subject = subjectOf(message)
    if (subject === undefined) this.#barriers += by
    for (const key of subject?.own ?? []) {
      const count = (this.#keys.get(key) ?? 0) + by
      if (count > 0) this.#keys.set(key, count)
      else this.#keys.delete(key)
    }
  }
}

/** Undefined: the message may be about anything. */
function subjectOf(message: Message): Subject | undefined {
  switch (message.kind) {
    case 'task':
      return joined(tasks(message.taskId, message.count), inputsOf(message))
    case 'graphTask': {
      const nodes = message.graph.flatMap((node) => [
        tasks(node.taskId, node.count),
        inputsOf(node),
      ])
      return joined(tasks(message.taskId), ...nodes)
    }
    case 'taskResult':
      return joined(tasks(message.taskId, message.count), objects(message.results))
    case 'taskCancel':
      return tasks(message.taskId, message.count)
    case 'graphTaskCancel':
    case 'taskInquiry':
    case 'taskOutput':
    case 'taskUpdate':
      return tasks(message.taskId)
    case 'objectInstruction':
      return objects(message.objectContent.objectIds)
    case 'sharedObject':
      return objects([message.objectId, message.name])
    default:
      return undefined
  }
}

/** The objects, and other tasks, that a task takes. */
function inputsOf({ funcObjectId, functionArgs }: Task): Subject {
  const inputs = functionArgs.map(({ type, data }) => {
    if (type === 'task') return tasks(taskId(bytesToLatin1(data)))
    const isObject = type === 'objectID' || type === 'sharedObjectID'
    return objects(isObject ? [bytesToLatin1(data)] : [])
  })
  return joined(objects([funcObjectId]), ...inputs)
}

function objects(ids: readonly string[]): Subject {
  return { own: ids, needed: ids }
}

/** One task, or a run of tasks: for one, only runs in its block matter besides itself. */
function tasks(first: TaskId, count = 0): Subject {
  const block = blockNameOf(first)
  const [any, run] = [`any ${block}`, `run ${block}`]
  if (count > 1) return { own: [any, run], needed: [any] }
  return { own: [any, first], needed: [run, first] }
}

function joined(...subjects: readonly Subject[]): Subject {
  return {
    own: subjects.flatMap(({ own }) => own),
    needed: subjects.flatMap(({ needed }) => needed),
  }
}

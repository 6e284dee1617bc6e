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

/** What a message is about. */
interface Subject {
  /** What it creates, changes or ends: nothing else about that may overtake it, or be overtaken. */
  readonly writes: readonly string[]
  /** What it uses. */
  readonly reads: readonly string[]
}

/** Undefined: the message waits for all others, and they for it. */
export type MessageSubject = Subject | undefined

const NOTHING: Subject = { writes: [], reads: [] }

/** The messages that wait, or what of them matters. */
export class HeldMessages {
  /** How many of them change, and use, each key. */
  readonly #writes = new Map<string, number>()
  readonly #reads = new Map<string, number>()
  /** Those that everything waits for. */
  #barriers = 0
  #count = 0

  /** Whether a message about this has to wait for one of them. */
  holdsBack(subject: MessageSubject): boolean {
    if (this.#count === 0 || subject === NOTHING) return false
    if (this.#barriers > 0 || subject === undefined) return true
    const isChanged = (key: string): boolean => this.#writes.has(key)
    const isUsed = (key: string): boolean => isChanged(key) || this.#reads.has(key)
    return subject.writes.some(isUsed) || subject.reads.some(isChanged)
  }

  /** A message about this waits, too. */
  add(subject: MessageSubject): void {
    this.#change(subject, 1)
  }

  /** A message about this does not wait any more. */
  remove(subject: MessageSubject): void {
    this.#change(subject, -1)
  }

  /** None of them waits any more. */
  clear(): void {
    this.#writes.clear()
    this.#reads.clear()
    this.#barriers = 0
    this.#count = 0
  }

  #change(subject: MessageSubject, by: 1 | -1): void {
    this.#count += by
    if (subject === undefined) this.#barriers += by
    count(this.#writes, subject?.writes ?? [], by)
    count(this.#reads, subject?.reads ?? [], by)
  }
}

function count(counts: Map<string, number>, keys: readonly string[], by: 1 | -1): void {
  for (const key of keys) {
    const next = (counts.get(key) ?? 0) + by
    if (next > 0) counts.set(key, next)
    else counts.delete(key)
  }
}

/** What a message is about. */
export function subjectOf(message: Message): MessageSubject {
  if (URGENT.has(message.kind)) return NOTHING
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
      return joined(tasks(message.taskId, message.count), uses(message.results))
    case 'taskCancel':
      return tasks(message.taskId, message.count)
    case 'graphTaskCancel':
    case 'taskInquiry':
    case 'taskOutput':
    case 'taskUpdate':
      return tasks(message.taskId)
    case 'objectInstruction':
      return { writes: message.objectContent.objectIds, reads: [] }
    case 'sharedObject':
      return { writes: [message.objectId, message.name], reads: [] }
    default:
      return undefined
  }
}

/** The objects, and other tasks, that a task takes. */
function inputsOf({ funcObjectId, functionArgs }: Task): Subject {
  const inputs = functionArgs.map(({ type, data }) => {
    if (type === 'task') {
      const { writes, reads } = tasks(taskId(bytesToLatin1(data)))
      return uses([...writes, ...reads])
    }
    const isObject = type === 'objectID' || type === 'sharedObjectID'
    return uses(isObject ? [bytesToLatin1(data)] : [])
  })
  return joined(uses([funcObjectId]), ...inputs)
}

function uses(reads: readonly string[]): Subject {
  return { writes: [], reads }
}

/** One task, or a run of tasks. */
function tasks(first: TaskId, count = 0): Subject {
  const block = `block ${blockNameOf(first)}`
  // Only runs, which change a whole block, matter to all of its tasks.
  return count > 1 ? { writes: [block], reads: [] } : { writes: [first], reads: [block] }
}

function joined(...subjects: readonly Subject[]): Subject {
  return {
    writes: subjects.flatMap(({ writes }) => writes),
    reads: subjects.flatMap(({ reads }) => reads),
  }
}

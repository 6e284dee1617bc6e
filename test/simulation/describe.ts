// Messages in a few words, for logs. Ids of this world are readable.

import { bytesToLatin1, latin1ToHex } from '#src/base/bytes.js'
import type { Message, ObjectContent, Task } from '#src/wire/message.js'

/** An id: as text where it is one. */
export function showId(id: string): string {
  const text = id.replace(/\.+$/, '')
  // The call of a graph: its position follows the name of the graph.
  const [, graph, place] = /^([\x21-\x7e]+?)\.*(\0[^]{3})$/.exec(id) ?? []
  if (graph !== undefined && place !== undefined) {
    return `${graph}n${Buffer.from(place, 'latin1').readUInt32BE(0)}`
  }
  return /^[\x21-\x7e]*$/.test(text) ? text : latin1ToHex(id).slice(-12)
}

/** One message. */
export function describeMessage(message: Message): string {
  switch (message.kind) {
    case 'task':
      return `task ${showId(message.taskId)}${taskDetails(message)}`
    case 'taskResult': {
      const id = message.failedTaskId === '' ? '' : ` because of ${showId(message.failedTaskId)}`
      const content = message.results.length > 0 ? 'an object' : inlineText(message.inlineResults)
      const head = `result ${showId(message.taskId)} ${message.status} #${message.attempt}`
      return `${head} ${content}${id}`
    }
    case 'taskUpdate':
      return `update ${showId(message.taskId)} ${message.update}`
    case 'taskRoom':
      return `room for ${message.tasks}`
    case 'taskCancel':
      return `cancel ${showId(message.taskId)}${message.flags.force ? ' by force' : ''}`
    case 'graphTask': {
      const nodes = message.graph.map((task) => `${showId(task.taskId)}`).join(' ')
      return `graph ${showId(message.taskId)}${message.isOpen ? ' (open)' : ''}: ${nodes}`
    }
    case 'graphTaskCancel':
      return `cancel graph ${showId(message.taskId)}`
    case 'objectInstruction':
      return showObjects(`${message.instructionType} objects`, message.objectContent)
    case 'objectRequest':
      return `request ${message.objectIds.map(showId).join(' ')}`
    case 'objectResponse':
      return showObjects(`objects (${message.responseType})`, message.objectContent)
    case 'workerHeartbeat': {
      const tasks = message.tasks.length === 0 ? '' : ` has ${message.tasks.map(showId).join(' ')}`
      return `workerHeartbeat${message.isLeaving ? ' leaving' : ''}${tasks}`
    }
    default:
      return message.kind
  }
}

function showObjects(what: string, { objectIds }: ObjectContent): string {
  return `${what} ${objectIds.map(showId).join(' ')}`
}

function taskDetails(message: Task): string {
  const parts: string[] = []
  if (message.attempt > 0) parts.push(`#${message.attempt}`)
  if (message.mayHaveRun) parts.push('may have run')
  if (message.parentTaskId !== '') parts.push(`of ${showId(message.parentTaskId)}`)
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`
}

function inlineText(chunks: readonly Uint8Array[]): string {
  return bytesToLatin1(Buffer.concat(chunks)).slice(0, 40)
}

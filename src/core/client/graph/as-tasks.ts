// A graph for a scheduler that accepts graphs only as a whole, such as 1.9.9: its calls become
// tasks that need each other's results, and the graph itself disappears.

import type { GraphContents } from './part.js'
import type { GraphRecord } from './record.js'
import type { ArgumentSource, TaskSubmission } from '../events.js'
import type { ClientTaskFlow } from '../task/flow.js'
import { ResultInput } from '../task/task.js'

/** Submits all calls that the targets of a graph need; the targets become ordinary tasks. */
export function submitAsTasks<Owner>(graph: GraphRecord<Owner>, flow: ClientTaskFlow<Owner>): void {
  const { contents } = graph
  const { nodes } = contents
  const needed = neededBy(graph)
  for (let position = 0; position < nodes.count; position += 1) {
    if (needed[position] !== 1) continue
    const target = graph.targets.get(position)
    const submission = submissionOf(contents, position, flow)
    if (target === undefined) flow.submit(submission)
    else flow.adopt(target, submission)
  }
  graph.targets.clear()
}

function neededBy<Owner>({ contents: { nodes }, targets }: GraphRecord<Owner>): Uint8Array {
  const needed = new Uint8Array(nodes.count)
  for (const position of targets.keys()) needed[position] = 1
  for (let position = nodes.count - 1; position >= 0; position -= 1) {
    if (needed[position] !== 1) continue
    const end = nodes.argsStart(position + 1)
    for (let at = nodes.argsStart(position); at < end; at += 1) {
      const argument = nodes.argAt(at)
      if (argument >= 0) needed[argument] = 1
    }
  }
  return needed
}

function submissionOf<Owner>(
  contents: GraphContents<Owner>,
  position: number,
  flow: ClientTaskFlow<Owner>,
): TaskSubmission<Owner> {
  const { nodes, options } = contents
  const args: ArgumentSource[] = []
  const end = nodes.argsStart(position + 1)
  for (let at = nodes.argsStart(position); at < end; at += 1) {
    const argument = nodes.argAt(at)
    if (argument >= 0) args.push({ type: 'task', taskId: nodes.idOf(argument) })
    else args.push(sourceOf(contents, ~argument, flow))
  }
  const { function: fn, attachments } = nodes.functionAt(position)
  const taskId = nodes.idOf(position)
  return { taskId, owner: undefined, function: fn, attachments, args, options }
}

function sourceOf<Owner>(
  contents: GraphContents<Owner>,
  value: number,
  flow: ClientTaskFlow<Owner>,
): ArgumentSource {
  const { nodes } = contents
  const number = nodes.sourceOf(value)
  if (number === undefined) return nodes.bytesOf(value)
  const given = nodes.sources[number]
  if (given !== undefined && given.type !== 'value' && flow.inputs.missing([given]) === undefined) {
    return given
  }
  // A task that has left its table since, or an object that is no longer pinned.
  const source = contents.sourceAt(number)
  if (source instanceof ResultInput) return { type: 'task', taskId: source.task.id }
  const content = source instanceof Uint8Array ? source : source.value.content
  if (content instanceof Uint8Array) {
    return given?.type === 'value' ? content : { type: 'shared', content }
  }
  return source instanceof Uint8Array ? source : { type: 'value', value: source.value }
}

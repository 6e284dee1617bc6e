// What the API server sends to a watch: one JSON object a line, each a change of one object.

import { ScalerError } from '../../../base/errors.js'

/** Several times the size of the largest object that a server stores. */
const MAX_LINE = 8 * 1024 * 1024

/** What any object has. */
export interface Named {
  readonly metadata?: { readonly name?: string }
}

interface WatchEvent<Item> {
  readonly type?: unknown
  readonly object?: Item & { readonly code?: number; readonly message?: string }
}

/**
 * The lines of a stream, however it is cut into chunks. The rest of a stream that ends within a
 * line is dropped. Throws `ScalerError` (`ERR_SCALER_PROVIDER`) if a line is too long.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of chunks) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > MAX_LINE) throw watchError('a line is too long')
    yield* lines
  }
}

/**
 * Applies the event of a line to the objects, which are by their names. Returns the name of the
 * object; undefined if none has changed. Throws `ScalerError` (`ERR_SCALER_PROVIDER`) if the line
 * is an error of the server, or is not an event: the objects may have missed changes.
 */
export function applyEvent<Item extends Named>(
  objects: Map<string, Item>,
  line: string,
): string | undefined {
  const { type, object } = eventIn<Item>(line)
  if (type === 'BOOKMARK') return undefined
  if (type === 'ERROR') throw watchError(`${object?.code ?? 'ERROR'} ${object?.message ?? ''}`)
  const name = object?.metadata?.name
  if (object === undefined || typeof name !== 'string') throw watchError('an event has no object')
  if (type === 'ADDED' || type === 'MODIFIED') objects.set(name, object)
  else if (type === 'DELETED') objects.delete(name)
  else throw watchError(`an event has the unknown type ${JSON.stringify(type)}`)
  return name
}

function eventIn<Item>(line: string): WatchEvent<Item> {
  try {
    const event: unknown = JSON.parse(line)
    if (typeof event === 'object' && event !== null) return event
  } catch {
    // See below.
  }
  throw watchError(`a line is not an event: ${line.slice(0, 100)}`)
}

function watchError(what: string): ScalerError {
  return new ScalerError('ERR_SCALER_PROVIDER', `the watch has ended: ${what.trim()}`)
}

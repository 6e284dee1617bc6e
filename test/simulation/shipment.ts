// How programs travel: a function is an object that contains its name, with attachments if the name
// says so; a task's first argument is its program; its other inputs follow.

import type { StoredValue, TaskOptions } from '#src/core/client/events.js'
import { identity, taskId, type ObjectId, type TaskId } from '#src/base/ids.js'
import { encodeTaskFlags } from '#src/wire/metadata.js'
import { needsOf, type Program } from './program.js'

/** Creates an object id from its content. */
export type IdOf = (content: Uint8Array) => ObjectId

/** The stored form of a function. */
export interface Shipment {
  readonly function: StoredValue
  readonly attachments: readonly StoredValue[]
}

const ATTACHMENT_BYTES = 300

/** The bytes of a function. A name that ends in `+n` has n attachments. */
export function shipFunction(fn: string, idOf: IdOf): Shipment {
  return {
    function: stored(`function ${fn}`, idOf),
    attachments: attachmentTexts(fn).map((text) => stored(text, idOf)),
  }
}

/** The bytes of a value. */
export function stored(text: string, idOf: IdOf): StoredValue {
  const content = Buffer.from(text, 'latin1')
  return { id: idOf(content), name: Buffer.from('value'), content }
}

/** A program as an argument. */
export function programBytes(program: Program): Uint8Array {
  return Buffer.from(JSON.stringify(program), 'latin1')
}

/** The content of a task: its inputs, or the error. */
export function checkFunction(
  fn: string,
  functionText: string,
  rest: readonly string[],
): { readonly inputTexts: readonly string[]; readonly trouble: string | undefined } {
  const attachments = attachmentTexts(fn)
  const inputTexts = rest.slice(0, rest.length - attachments.length)
  const given = rest.slice(inputTexts.length)
  const isRight =
    functionText === `function ${fn}` && attachments.every((text, at) => text === given[at])
  return { inputTexts, trouble: isRight ? undefined : '!WrongFunction' }
}

/** The options of a task. */
export function optionsOf(
  program: Program,
  priority: number,
  parentTaskId: TaskId = taskId(''),
): TaskOptions {
  const { timeoutMs, retries, deathLimit } = program
  return {
    flags: encodeTaskFlags({ profiling: false, priority }),
    plainFlags: encodeTaskFlags({ profiling: false, priority }),
    parentTaskId,
    name: '',
    timeoutMs,
    retries,
    workerDeathLimit: deathLimit,
    capabilities: needsOf([program]),
    output: 'log',
    outputClient: identity(''),
    traceContext: '',
  }
}

function attachmentTexts(fn: string): readonly string[] {
  const count = Number(fn.split('+')[1] ?? 0)
  return Array.from({ length: count }, (_, index) => {
    return `attachment ${index} of ${fn} `.padEnd(ATTACHMENT_BYTES, '-')
  })
}

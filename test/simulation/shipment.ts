// How programs travel: a function is an object that holds its name, with attachments if the name
// says so; a task's first argument is its program; what else it was given follows.

import type { StoredValue, TaskOptions } from '#src/core/client/events.js'
import { identity, taskId, type ObjectId, type TaskId } from '#src/base/ids.js'
import { encodeTaskFlags } from '#src/wire/metadata.js'
import { needsOf, type Program } from './program.js'

/** Names that an object id from its content. */
export type IdOf = (content: Uint8Array) => ObjectId

/** What a function is stored as. */
export interface Shipment {
  readonly function: StoredValue
  readonly attachments: readonly StoredValue[]
}

const ATTACHMENT_BYTES = 300

/** A function as it is stored. One whose name ends in `+n` has so many attachments. */
export function shipFunction(fn: string, idOf: IdOf): Shipment {
  return {
    function: stored(`function ${fn}`, idOf),
    attachments: attachmentTexts(fn).map((text) => stored(text, idOf)),
  }
}

/** A value as it is stored. */
export function stored(text: string, idOf: IdOf): StoredValue {
  const content = Buffer.from(text, 'latin1')
  return { id: idOf(content), name: Buffer.from('value'), content }
}

/** A program as an argument. */
export function programBytes(program: Program): Uint8Array {
  return Buffer.from(JSON.stringify(program), 'latin1')
}

/** What came with a task: its inputs, or what is wrong with it. */
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
  }
}

function attachmentTexts(fn: string): readonly string[] {
  const count = Number(fn.split('+')[1] ?? 0)
  return Array.from({ length: count }, (_, index) => {
    return `attachment ${index} of ${fn} `.padEnd(ATTACHMENT_BYTES, '-')
  })
}

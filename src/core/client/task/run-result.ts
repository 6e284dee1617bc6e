// A TaskResult about several tasks: checked, and taken apart.

import { ProtocolError } from '../../../base/errors.js'
import type { TaskResult } from '../../../wire/message.js'
import { countOf, layoutOf, sliceProfiles, slicePacked } from '../../../wire/run.js'

/** What is wrong with the packed values of a result; '' = nothing. */
export function layoutErrorOf({ packed, metadata }: TaskResult, count: number): string {
  const { byteLength } = metadata
  if (byteLength !== 0 && byteLength !== 4 * count && byteLength !== 16 * count) {
    return 'the profiles of a result are not those of its tasks'
  }
  try {
    layoutOf(packed, count)
    return ''
  } catch (error) {
    if (error instanceof ProtocolError) return error.message
    throw error
  }
}

/** The result of some of its tasks. */
export function partOf(message: TaskResult, from: number, to: number): TaskResult {
  const count = countOf(message)
  if (from === 0 && to === count) return message
  const packed = slicePacked(message.packed, count, from, to)
  return { ...message, packed, metadata: sliceProfiles(message.metadata, count, from, to) }
}

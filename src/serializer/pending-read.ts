// Reading what can only be read after something was imported: try, wait, try again. Client and
// worker do so alike; neither waits where nothing is pending.

import { types } from 'node:util'
import { DeserializeError } from '../base/errors.js'
import { PendingImport } from './module/policy.js'

/** Whatever needs more imports than this, one after the other, is not going to be read. */
const MAX_ROUNDS = 100
/** A serializer of the user's own may have put what was thrown inside errors of its own. */
const MAX_CAUSES = 10

/** The import that has to be awaited before trying again; undefined if trying again is no use. */
export function pendingImportOf(thrown: unknown): PendingImport | undefined {
  let error = thrown
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    // One that came from elsewhere has nothing to wait for.
    if (error instanceof PendingImport && types.isPromise(error.done)) return error
    error = causeOf(error)
    if (error === undefined) break
  }
  return undefined
}

/**
 * What `read` returns or throws once it throws nothing about imports any more. Rejects with
 * `DeserializeError` if there is no end to that.
 */
export async function readWhenImported<T>(first: PendingImport, read: () => T): Promise<T> {
  let pending = first
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    await pending.done
    try {
      return read()
    } catch (error) {
      const next = pendingImportOf(error)
      if (next === undefined) throw error
      pending = next
    }
  }
  const text = `it could not be read after ${MAX_ROUNDS} imports: ${pending.message}`
  throw new DeserializeError(text)
}

function causeOf(error: unknown): unknown {
  try {
    return error instanceof Error ? error.cause : undefined
  } catch {
    return undefined
  }
}

// Reads values that depend on an import: try, wait for the import, try again. Used by both client
// and worker; neither waits if nothing is pending.

import { types } from 'node:util'
import { DeserializeError } from '../base/errors.js'
import { PendingImport } from './module/policy.js'

/** A value that needs more imports than this, one after the other, is considered unreadable. */
const MAX_ROUNDS = 100
/** A custom serializer may have wrapped the error in errors of its own. */
const MAX_CAUSES = 10

/** The import that has to be awaited before trying again; undefined if that cannot help. */
export function pendingImportOf(thrown: unknown): PendingImport | undefined {
  let error = thrown
  for (let depth = 0; depth < MAX_CAUSES; depth += 1) {
    // One that came from another process has nothing to wait for.
    if (error instanceof PendingImport && types.isPromise(error.done)) return error
    error = causeOf(error)
    if (error === undefined) break
  }
  return undefined
}

/**
 * The result or error of `read` once no imports are pending. Rejects with `DeserializeError` if
 * they never end.
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

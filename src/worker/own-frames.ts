// What users see of the stack of an error is what they wrote: not how a processor came to call it.

import { fileURLToPath } from 'node:url'
import { rewriteStacks } from '../base/error-stack.js'
import { serializeError } from '../serializer/error-codec.js'

/** The folder of this package's compiled files. */
const OWN_URL: string = new URL('..', import.meta.url).href
const OWN_PATH: string = fileURLToPath(OWN_URL)

/** Modules of Node that call what others wrote, for us. */
const INSIDES: ReadonlySet<string> = new Set(['node:async_hooks', 'node:vm'])

const FRAME = /^\s+at (?:async )?(?:.*? \()?(\S.*?):\d+:\d+\)?$/

/**
 * The bytes of whatever a task threw. Takes the frames of this package and of Node's inside out of
 * its stack, and of those in its `cause` and `errors`, for good. Never throws.
 */
export function serializeFailure(thrown: unknown): Uint8Array {
  rewriteStacks(thrown, withoutOwnFrames)
  const { stackTraceLimit } = Error
  // An error that stands for one that cannot travel has no frames but ours.
  Error.stackTraceLimit = 0
  try {
    return serializeError(thrown)
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** The stack without the frames that tell how it was called. */
export function withoutOwnFrames(stack: string): string {
  const lines = stack.split('\n')
  const places = lines.map((line) => FRAME.exec(line)?.[1])
  const lastOwn = places.findLastIndex((place) => place !== undefined && isOwn(place))
  const kept = lines.filter((_, index) => {
    const place = places[index]
    if (place === undefined) return true
    if (isOwn(place) || isInside(place)) return false
    // Below the last of ours there is only what reads the pipe.
    return lastOwn < 0 || index < lastOwn || !place.startsWith('node:')
  })
  return kept.join('\n')
}

function isOwn(place: string): boolean {
  return place.startsWith(OWN_URL) || place.startsWith(OWN_PATH)
}

function isInside(place: string): boolean {
  return place.startsWith('node:internal/') || INSIDES.has(place)
}

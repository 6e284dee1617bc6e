// Where the user's program has called this library, for the stack of the error that it gets: the
// library's own frames, and those of a worker, do not lead back to the program.

import { dropFrames } from '../base/error-stack.js'
import { ScalerError } from '../base/errors.js'

/** A stack, formatted only when it is read, and what the task is called. */
export interface CallSite {
  readonly stack?: string | undefined
  /** So many of the first frames are the library's. */
  readonly ownFrames: number
  /** Empty: nobody has said. */
  readonly taskName: string
}

/** What separates the two halves of the stack of an error that came from a worker. */
export const REMOTE_SEPARATOR = '    --- on the worker ---'

const FIRST_FRAME = /\n {4}at /

/** The methods of `Submitter` and `Client` that the user's program called. */
export const OWN_FRAMES = 2

/**
 * Where the user's program called a method of the library, `ownFrames` above the caller of this:
 * usually that of the client that calls it.
 */
export function captureSite(ownFrames: number = OWN_FRAMES, taskName = ''): CallSite {
  const site: CallSite = { ownFrames, taskName }
  Error.captureStackTrace(site, captureSite)
  return site
}

/**
 * An error of this library about what a call was given: from now on its stack begins where the
 * user's program has made the call. Others stay as they are.
 */
export function blameCaller(error: unknown, site: CallSite): unknown {
  if (error instanceof ScalerError) {
    dropFrames(error)
    moveToSite(error, site)
  }
  return error
}

/**
 * Runs what the user's program has called. An error of this library, also one with which the
 * promise rejects, has a stack that begins where the call was made; so Node prints no line of the
 * library above one that nobody catches.
 */
export async function asCalled<R>(site: CallSite, run: () => R | PromiseLike<R>): Promise<R> {
  try {
    return await run()
  } catch (error) {
    throw blameCaller(error, site)
  }
}

/** Shows in the stack of an error where the task was submitted; `isLocal`: it was made here. */
export function placeError(error: unknown, site: CallSite, isLocal: boolean): void {
  if (isLocal) moveToSite(error, site)
  else addSite(error, site)
}

/** Puts the frames of `site` above those that a remote error brought along. */
export function addSite(error: unknown, site: CallSite): void {
  replaceStack(error, site, (header, frames, remote) =>
    remote === '' ? `${header}\n${frames}` : `${header}\n${frames}\n${REMOTE_SEPARATOR}\n${remote}`,
  )
}

/**
 * Puts the frames of `site` in place of those of an error that was made deep inside the library.
 */
export function moveToSite(error: unknown, site: CallSite): void {
  replaceStack(error, site, (header, frames) => `${header}\n${frames}`)
}

function replaceStack(
  error: unknown,
  site: CallSite,
  build: (header: string, localFrames: string, otherFrames: string) => string,
): void {
  if (!(error instanceof Error) || typeof error.stack !== 'string') return
  if (site.stack === undefined) return
  const frames = split(site.stack).frames.split('\n').slice(site.ownFrames)
  if (frames.length === 0) return
  const own = split(error.stack)
  const value = build(own.header, frames.join('\n'), own.frames)
  // A user's error may be frozen or have an accessor: then it stays as it is.
  Reflect.defineProperty(error, 'stack', { value, configurable: true, writable: true })
}

/** A stack begins with the error's name and message, which may have several lines. */
function split(stack: string): { readonly header: string; readonly frames: string } {
  const at = stack.search(FIRST_FRAME)
  if (at < 0) return { header: stack, frames: '' }
  return { header: stack.slice(0, at), frames: stack.slice(at + 1) }
}

// Where the user's program called this library, for the stack of the error that it gets: the frames
// of the library and of a worker do not lead back to the program.

import { dropFrames, stackOf, withoutFrames } from '../base/error-stack.js'
import { ScalerError } from '../base/errors.js'

/** A stack, formatted only when it is read, and the name of the task. */
export interface CallSite {
  readonly stack?: string | undefined
  /** How many of the first frames belong to the library. */
  readonly ownFrames: number
  /** Empty if none was given. */
  readonly taskName: string
}

/** Separates the two halves of the stack of an error that came from a worker. */
export const REMOTE_SEPARATOR = '    --- on the worker ---'

const FIRST_FRAME = /\n {4}at /

/** The methods of `Submitter` and `Client` that the user's program called. */
export const OWN_FRAMES = 2

/**
 * The place where the user's program called a method of the library, `ownFrames` above the caller
 * of this function: usually the client that calls it.
 */
export function captureSite(ownFrames: number = OWN_FRAMES, taskName = ''): CallSite {
  const site: CallSite = { ownFrames, taskName }
  Error.captureStackTrace(site, captureSite)
  return site
}

/**
 * Makes the stack of a library error about a call's arguments begin where the user's program made
 * the call. Other errors stay unchanged.
 */
export function blameCaller(error: unknown, site: CallSite): unknown {
  if (error instanceof ScalerError) {
    dropFrames(error)
    moveToSite(error, site)
  }
  return error
}

/**
 * Runs what the user's program has called. A library error, thrown or rejected, gets a stack that
 * begins where the call was made; so Node prints no line of the library above an uncaught error.
 */
export async function asCalled<R>(site: CallSite, run: () => R | PromiseLike<R>): Promise<R> {
  try {
    return await run()
  } catch (error) {
    throw blameCaller(error, site)
  }
}

/** A frame of a stack: the folder of its file. */
const FRAME_FOLDER = /(?:\(|at )((?:file:\/\/)?[^()]*[\\/])[^\\/()]+:\d+:\d+\)?$/

/**
 * An error about what the user's program has passed to this library. Its stack begins where the
 * program made the call, as far as the files of the two are in different folders.
 */
export function argumentError(message: string): TypeError {
  const error = withoutFrames(() => new TypeError(message))
  const site: { readonly stack?: unknown } = {}
  Error.captureStackTrace(site, argumentError)
  const stack = stackOf(site)
  if (stack === undefined) return error
  const frames = stack.split('\n').slice(1)
  const folder = FRAME_FOLDER.exec(frames[0] ?? '')?.[1] ?? ''
  const ownFrames = frames.findIndex((frame) => !frame.includes(folder))
  if (ownFrames > 0) moveToSite(error, { stack, ownFrames, taskName: '' })
  return error
}

/** Adds to an error's stack where the task was submitted; `isLocal`: it was created here. */
export function placeError(error: unknown, site: CallSite, isLocal: boolean): void {
  if (isLocal) moveToSite(error, site)
  else addSite(error, site)
}

/** Puts the frames of `site` above those of a remote error. */
export function addSite(error: unknown, site: CallSite): void {
  replaceStack(error, site, (header, frames, remote) =>
    remote === '' ? `${header}\n${frames}` : `${header}\n${frames}\n${REMOTE_SEPARATOR}\n${remote}`,
  )
}

/** Replaces the frames of an error created deep inside the library with those of `site`. */
export function moveToSite(error: unknown, site: CallSite): void {
  replaceStack(error, site, (header, frames) => `${header}\n${frames}`)
}

function replaceStack(
  error: unknown,
  site: CallSite,
  build: (header: string, localFrames: string, otherFrames: string) => string,
): void {
  if (!(error instanceof Error)) return
  const [stack, siteStack] = [stackOf(error), stackOf(site)]
  if (stack === undefined || siteStack === undefined) return
  const frames = split(siteStack).frames.split('\n').slice(site.ownFrames)
  if (frames.length === 0) return
  const own = split(stack)
  const value = build(own.header, frames.join('\n'), own.frames)
  // A user's error may be frozen or have an accessor: then it stays unchanged.
  Reflect.defineProperty(error, 'stack', { value, configurable: true, writable: true })
}

/** A stack begins with the error's name and message, which may have several lines. */
function split(stack: string): { readonly header: string; readonly frames: string } {
  const at = stack.search(FIRST_FRAME)
  if (at < 0) return { header: stack, frames: '' }
  return { header: stack.slice(0, at), frames: stack.slice(at + 1) }
}

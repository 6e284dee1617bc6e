// Timers and clocks as they were when the library was loaded. Test runners replace the globals with
// fakes, under which a connection would wait forever. In the bundles, these replace the globals of
// the same names, in all files (scripts/bundle.mjs).

import { performance as clock } from 'node:perf_hooks'
import timers from 'node:timers'

/** As in Node. */
export const setTimeout: typeof timers.setTimeout = timers.setTimeout
/** As in Node. */
export const clearTimeout: typeof timers.clearTimeout = timers.clearTimeout
/** As in Node. */
export const setInterval: typeof timers.setInterval = timers.setInterval
/** As in Node. */
export const clearInterval: typeof timers.clearInterval = timers.clearInterval
/** As in Node. */
export const setImmediate: typeof timers.setImmediate = timers.setImmediate
/** The original global. */
export const queueMicrotask: typeof globalThis.queueMicrotask = globalThis.queueMicrotask

/** The part that the library uses. */
export const performance: Pick<typeof clock, 'now' | 'timeOrigin'> = {
  now: clock.now.bind(clock),
  timeOrigin: clock.timeOrigin,
}

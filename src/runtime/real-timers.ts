// Timers and clocks as they are when the library is loaded. Test runners put fakes in the place of
// the globals, under which a connection would wait for ever. In the bundles, these stand for the
// globals of the same names, in all files (scripts/bundle.mjs).

import { performance as clock } from 'node:perf_hooks'
import timers from 'node:timers'

/** As Node has it. */
export const setTimeout: typeof timers.setTimeout = timers.setTimeout
/** As Node has it. */
export const clearTimeout: typeof timers.clearTimeout = timers.clearTimeout
/** As Node has it. */
export const setInterval: typeof timers.setInterval = timers.setInterval
/** As Node has it. */
export const clearInterval: typeof timers.clearInterval = timers.clearInterval
/** As Node has it. */
export const setImmediate: typeof timers.setImmediate = timers.setImmediate
/** As the global was. */
export const queueMicrotask: typeof globalThis.queueMicrotask = globalThis.queueMicrotask

/** So much of it as the library uses. */
export const performance: Pick<typeof clock, 'now' | 'timeOrigin'> = {
  now: clock.now.bind(clock),
  timeOrigin: clock.timeOrigin,
}

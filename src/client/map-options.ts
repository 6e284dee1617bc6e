// How a map goes about its work, checked.

import { ConfigError } from '../base/errors.js'
import { checkNames } from '../base/option-table.js'
import { booleanOption, numberOption, show } from '../base/option.js'
import type { MapOptions } from './map-future.js'
import type { MapProgressListener } from './map-progress.js'

const MAX_CONCURRENCY = 2 ** 32 - 1
/** Enough for thousands of workers; more would only wait, and fill caches and tables. */
const DEFAULT_CONCURRENCY = 10_000
const NAMES: Record<keyof MapOptions, true> = { ordered: true, concurrency: true, progress: true }

/** The same with nothing left open. */
export interface CheckedMapOptions {
  readonly isOrdered: boolean
  readonly concurrency: number
  /** Whether the user has bounded the map himself. */
  readonly isBounded: boolean
  readonly progress: boolean | MapProgressListener
}

/** The options, checked, with defaults. Throws `ConfigError`. */
export function checkMapOptions(options: MapOptions, maxTasks: number): CheckedMapOptions {
  checkNames('map', NAMES, options)
  const isOrdered = booleanOption('ordered', options.ordered, true)
  const progress = progressOption(options.progress)
  const given = options.concurrency
  if (given === Infinity) return { isOrdered, concurrency: maxTasks, isBounded: false, progress }
  const bounds = { min: 1, max: MAX_CONCURRENCY }
  const concurrency = numberOption('concurrency', given, DEFAULT_CONCURRENCY, bounds)
  return { isOrdered, concurrency, isBounded: given !== undefined, progress }
}

function progressOption(progress: unknown): boolean | MapProgressListener {
  if (progress === undefined) return false
  if (typeof progress === 'boolean') return progress
  if (typeof progress === 'function') return progress as MapProgressListener
  throw new ConfigError(
    `option progress: expected true, false or a function, got ${show(progress)}`,
  )
}

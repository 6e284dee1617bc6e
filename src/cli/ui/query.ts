// The parameters of the API: `?offset&limit&sort&filter&from&to&width`. Each path allows some of
// them; everything else is refused with a text that names the parameter.

import { ConfigError } from '../../base/errors.js'
import type { TimeWindow } from './history.js'

/** A request that is wrong. `status`: 400 or 404. The message is for whoever sent it. */
export class RequestError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** What rows are asked for. */
export interface RowsQuery {
  readonly offset: number
  readonly limit: number
  /** Columns, as of `--sort` of the listing commands. */
  readonly sort: readonly string[]
  /** Conditions, as of `--filter`. */
  readonly filter: readonly string[]
}

/** The parameters for rows. */
export const ROWS: readonly string[] = ['offset', 'limit', 'sort', 'filter']
/** The parameters for a window of time. */
export const WINDOW: readonly string[] = ['from', 'to', 'width']

const MAX_FILTERS = 10
const LIMIT = { default: 100, max: 1_000 } as const
const WIDTH = { default: 600, max: 4_000 } as const
const HOUR_MS = 3_600_000

/** Throws `RequestError` for a parameter that is not allowed, or given twice. */
export function checkParameters(given: URLSearchParams, allowed: readonly string[]): void {
  for (const name of new Set(given.keys())) {
    if (!allowed.includes(name)) {
      const known = allowed.length === 0 ? 'there are none' : `there are ${allowed.join(', ')}`
      throw new RequestError(400, `unknown parameter ${name.slice(0, 100)}: ${known}`)
    }
    const isRepeatable = name === 'filter' || name === 'sort'
    if (!isRepeatable && given.getAll(name).length > 1) {
      throw new RequestError(400, `parameter ${name}: given more than once`)
    }
  }
}

/** Throws `RequestError` for a bad value. */
export function rowsQuery(given: URLSearchParams): RowsQuery {
  const filter = given.getAll('filter').filter((text) => text !== '')
  if (filter.length > MAX_FILTERS) {
    throw new RequestError(400, `parameter filter: at most ${MAX_FILTERS}`)
  }
  return {
    offset: numberIn(given, 'offset', { fallback: 0, min: 0, max: 1_000_000 }),
    limit: numberIn(given, 'limit', { fallback: LIMIT.default, min: 1, max: LIMIT.max }),
    sort: given
      .getAll('sort')
      .flatMap((text) => text.split(','))
      .filter((name) => name !== ''),
    filter,
  }
}

/**
 * A window of time: milliseconds since 1970, or from now if negative. Default: the last hour.
 * Throws `RequestError` for a bad value.
 */
export function windowQuery(given: URLSearchParams, nowMs: number): TimeWindow {
  const timeOf = (name: string, fallback: number): number => {
    const time = numberIn(given, name, { fallback, min: -1e12, max: 1e13 })
    return time < 0 ? nowMs + time : time
  }
  const to = timeOf('to', nowMs)
  const from = timeOf('from', to - HOUR_MS)
  if (from >= to) throw new RequestError(400, 'parameter from: must be before to')
  const width = numberIn(given, 'width', { fallback: WIDTH.default, min: 1, max: WIDTH.max })
  return { from, to, width }
}

interface NumberRule {
  readonly fallback: number
  readonly min: number
  readonly max: number
}

function numberIn(given: URLSearchParams, name: string, rule: NumberRule): number {
  const text = given.get(name)
  if (text === null) return rule.fallback
  const value = /^-?\d+(\.\d+)?$/.test(text) ? Math.round(Number(text)) : Number.NaN
  if (value >= rule.min && value <= rule.max) return value
  throw new RequestError(
    400,
    `parameter ${name}: expected a number from ${rule.min} to ${rule.max}`,
  )
}

/** Runs `read`; what it says about an option is about the parameter of the same name. */
export function asParameter<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new RequestError(400, error.message.replace(/^option /, 'parameter '))
  }
}

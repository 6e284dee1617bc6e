// What the terminal can show: how wide it is, and whether colours are wanted.

import type { TextStyle } from './help-text.js'

/** The width of what is no terminal. */
const DEFAULT_WIDTH = 80

/** The part of a stream that says what it is. */
export interface MaybeTerminal {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  hasColors?: () => boolean
}

/** How to write to a stream. */
export function styleOf(stream: MaybeTerminal, environment: NodeJS.ProcessEnv): TextStyle {
  const isTerminal = stream.isTTY === true
  const width = isTerminal && (stream.columns ?? 0) > 0 ? stream.columns : undefined
  return { width: width ?? DEFAULT_WIDTH, color: wantsColor(stream, environment) }
}

/** FORCE_COLOR decides, then NO_COLOR, then what the terminal can. */
function wantsColor(stream: MaybeTerminal, environment: NodeJS.ProcessEnv): boolean {
  const force = environment['FORCE_COLOR']
  if (force !== undefined) return force !== '0' && force !== 'false'
  const isRefused = (environment['NO_COLOR'] ?? '') !== ''
  return !isRefused && stream.isTTY === true && stream.hasColors?.() === true
}

// An error as the one line that a command writes to stderr, with the names that its user has used.

import type { Setting, Settings, Word } from './settings.js'
import { nameFrom } from './origin.js'

/**
 * One line without control characters. An option that the error names as code does is named as it
 * was given, and so is the option or variable that a wrong address comes from.
 */
export function errorLine(error: unknown, settings: Settings | undefined): string {
  const text = textOf(error)
  const named = settings === undefined ? text : withGivenName(text, settings)
  return oneLine(named)
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message !== '') return error.message
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause
  return inner === undefined ? error.name : textOf(inner)
}

function withGivenName(text: string, { options, words }: Settings): string {
  const [, name, rest] = /^option (\w+): (.*)$/s.exec(text) ?? []
  const setting = options.find(({ flag }) => flag.name === name)
  if (setting !== undefined) return `${nameOf(setting)}: ${rest}`
  const [, quoted, why] = /^address ("(?:[^"\\]|\\.)*"): (.*)$/s.exec(text) ?? []
  if (quoted === undefined) return text
  const source: Setting | Word | undefined =
    options.find(({ value }) => JSON.stringify(value) === quoted) ??
    words.find((word) => JSON.stringify(word.text) === quoted)
  const isPlain = source === undefined || source.origin.kind === 'word'
  return isPlain ? text : `${nameFrom(source.origin)}: ${why}, got ${quoted}`
}

function nameOf({ flag, origin }: Setting): string {
  return origin.kind === 'default' ? `--${flag.key}` : nameFrom(origin)
}

function oneLine(text: string): string {
  const line = text.trim().replaceAll(/\s*[\r\n]+\s*/g, ' ')
  // What peers and files say must not move the cursor of whoever reads it.
  return line.replaceAll(
    /\p{Cc}/gu,
    (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

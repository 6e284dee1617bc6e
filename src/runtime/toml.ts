// Locates the keys of a TOML file: the parser returns only values, but an error about one of them
// must say where it was written. Only for text that the parser has accepted.

import { parse, TomlError } from 'smol-toml'
import { ConfigError } from '../base/errors.js'

/** A position in a text; both numbers count from 1. */
interface TextPosition {
  readonly line: number
  readonly column: number
}

/** Names of tables and keys, and indices in arrays of tables: `['output', 0, 'level']`. */
export type TomlPath = readonly (string | number)[]

/**
 * The position of the key or table at `path`; where it has none of its own (`{ … }` on one line),
 * that of its container. Undefined if no part of the path exists.
 */
export function tomlPosition(text: string, path: TomlPath): TextPosition | undefined {
  const places = new PlaceReader(text).read()
  for (let length = path.length; length > 0; length -= 1) {
    const at = places.get(keyOf(path.slice(0, length)))
    if (at !== undefined) return positionAt(text, at)
  }
  return undefined
}

/** The position of a character. */
function positionAt(text: string, at: number): TextPosition {
  const before = text.slice(0, at)
  const lineStart = before.lastIndexOf('\n') + 1
  return { line: before.split('\n').length, column: at - lineStart + 1 }
}

function keyOf(path: TomlPath): string {
  return JSON.stringify(path)
}

const BLANK = /[ \t\r\n]*(?:#[^\n]*[ \t\r\n]*)*/y
const SPACE = /[ \t]*/y
const DOT = /[ \t]*\.[ \t]*/y
const BARE_KEY = /[A-Za-z0-9_-]+/y
/** Strings first, so that their content is skipped. */
const VALUE_PART =
  /"""[^]*?(?<!\\)(?:\\\\)*"""+|'''[^]*?'''+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[^]/y

/** Reads one text from beginning to end. */
class PlaceReader {
  readonly #text: string
  readonly #places = new Map<string, number>()
  /** How many elements each array of tables has so far. */
  readonly #counts = new Map<string, number>()
  #at = 0
  /** The table to which the following keys belong. */
  #table: TomlPath = []

  constructor(text: string) {
    this.#text = text
  }

  /** The offsets of all tables and keys. */
  read(): ReadonlyMap<string, number> {
    this.#skip(BLANK)
    while (this.#at < this.#text.length) {
      const start = this.#at
      if (this.#text[start] === '[') this.#readHeader()
      else this.#readPair()
      // Not TOML: the caller has a parser that reports it.
      if (this.#at === start) break
      this.#skip(BLANK)
    }
    return this.#places
  }

  #readHeader(): void {
    const start = this.#at
    const isArray = this.#text.startsWith('[[', start)
    this.#at += isArray ? 2 : 1
    this.#skip(SPACE)
    const names = this.#readKey()
    this.#skip(SPACE)
    this.#at += isArray ? 2 : 1
    const path = this.#resolve(isArray ? names.slice(0, -1) : names)
    if (isArray) {
      const array = [...path, ...names.slice(-1)]
      const count = this.#counts.get(keyOf(array)) ?? 0
      this.#counts.set(keyOf(array), count + 1)
      this.#note(array, start)
      this.#table = [...array, count]
    } else {
      this.#table = path
    }
    this.#note(this.#table, start)
  }

  #readPair(): void {
    const start = this.#at
    const names = this.#readKey()
    for (let length = 1; length <= names.length; length += 1) {
      this.#note([...this.#table, ...names.slice(0, length)], start)
    }
    let depth = 0
    while (this.#at < this.#text.length) {
      const part = this.#take(VALUE_PART)
      if (part === '[' || part === '{') depth += 1
      else if (part === ']' || part === '}') depth -= 1
      else if (part === '\n' && depth <= 0) return
    }
  }

  /** Names that refer to the last element of an array of tables get its index. */
  #resolve(names: readonly string[]): TomlPath {
    const path: (string | number)[] = []
    for (const name of names) {
      path.push(name)
      const count = this.#counts.get(keyOf(path))
      if (count !== undefined) path.push(count - 1)
    }
    return path
  }

  #readKey(): string[] {
    const names: string[] = []
    do {
      const quote = this.#text[this.#at]
      const isQuoted = quote === '"' || quote === "'"
      const name = this.#take(isQuoted ? VALUE_PART : BARE_KEY)
      if (name === '') break
      names.push(quote === '"' ? unquote(name) : isQuoted ? name.slice(1, -1) : name)
    } while (this.#take(DOT) !== '')
    return names
  }

  /** The first position counts. */
  #note(path: TomlPath, at: number): void {
    const key = keyOf(path)
    if (!this.#places.has(key)) this.#places.set(key, at)
  }

  #skip(pattern: RegExp): void {
    this.#take(pattern)
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }
}

function unquote(name: string): string {
  try {
    return String(JSON.parse(name))
  } catch {
    return name.slice(1, -1)
  }
}

// Parses handwritten TOML: an error says where it is, and what was probably meant.

/**
 * The tables of a file. Throws a `ConfigError` for invalid TOML: one line that begins with
 * `path:line:column`.
 */
export function parseToml(path: string, text: string): Readonly<Record<string, unknown>> {
  try {
    return parse(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const what = (error.message.split('\n', 1)[0] ?? '').replace(/^Invalid TOML document: /, '')
    const advice = adviceFor(text.split(/\r?\n/)[error.line - 1] ?? '')
    const where = `${path}:${error.line}:${error.column}`
    throw new ConfigError(`${where}: ${what}${advice}`, { cause: error })
  }
}

/** What most mistakes look like; for an invalid line, the first match applies. */
const SLIPS: readonly (readonly [RegExp, string])[] = [
  [/^\s*\[[^\]]*$/, 'write a section as [NAME]'],
  [/^[^=[]*$/, 'write a setting as KEY = VALUE'],
  [/=\s*(?:true|false|yes|no|on|off)\b/i, 'write a switch as true or false, in lower case'],
  [/"[^"]*\\/, 'write a backslash in "…" as \\\\; in \'…\' it is literal'],
  [/=\s*[^\s"'[{\d+-]/, 'write text in quotes'],
]

function adviceFor(line: string): string {
  const advice = SLIPS.find(([slip]) => slip.test(line))?.[1]
  return advice === undefined ? '' : ` (${advice})`
}

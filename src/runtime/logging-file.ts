// The file that describes a log (docs/configuration.md#logging): several outputs, each with its own
// level and format, and fields for every line. TOML:
//
//   level = "INFO"                 # of outputs without their own level
//   fields = { site = "east" }     # added to every line
//   [[output]]
//   path = "/dev/stdout"
//   [[output]]
//   path = "/var/log/scaler.log"
//   level = "DEBUG"
//   format = "json"                # "auto": text on a terminal, JSON lines elsewhere

import { readFile } from 'node:fs/promises'
import { ConfigError } from '../base/errors.js'
import type { LogFields, LogLevel } from '../base/logger.js'
import { nearestHint, show } from '../base/option.js'
import { fileTrouble } from './log/output.js'
import { logLevel } from './log/log.js'
import { parseToml, type TomlPath, tomlPosition } from './toml.js'

/** Where lines go. */
export interface OutputDescription {
  readonly path: string
  /** The lowest level that is written there. */
  readonly level: LogLevel
  /** `auto`: text on a terminal, JSON lines elsewhere. */
  readonly format: 'auto' | 'text' | 'json'
}

/** A log. */
export interface LogDescription {
  readonly outputs: readonly OutputDescription[]
  /** Fields added to every line. */
  readonly fields: LogFields
}

type Table = Readonly<Record<string, unknown>>

const DEFAULT_PATH = '/dev/stdout'
const FORMATS = ['auto', 'text', 'json'] as const
/** Names that every line already uses. */
const TAKEN_FIELDS = new Set(['time', 'level', 'message'])

/**
 * Reads and checks a logging file. Rejects with `ConfigError`: one line with the file, line and
 * column, what was found and what is allowed. `owner` is the option that named the file: `option
 * loggingConfigFile`.
 */
export async function readLoggingFile(path: string, owner: string): Promise<LogDescription> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    throw new ConfigError(`${owner}: cannot read ${path}: ${fileTrouble(error)}`, { cause: error })
  }
  return new LoggingFile(path, textOf(path, bytes)).describe()
}

function textOf(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new ConfigError(`${path}: expected TOML, got bytes that are not text`, { cause: error })
  }
}

/** One file: its content, and where each key was written. */
class LoggingFile {
  readonly #path: string
  readonly #text: string

  constructor(path: string, text: string) {
    this.#path = path
    this.#text = text
  }

  describe(): LogDescription {
    const root = parseToml(this.#path, this.#text)
    this.#checkKeys(root, [], ['level', 'fields', 'output'])
    const level = this.#level(root, [], 'info')
    const outputs = root['output'] ?? [{ path: DEFAULT_PATH }]
    if (!Array.isArray(outputs)) throw this.#error(['output'], 'expected [[output]]', outputs)
    return {
      outputs: outputs.map((output: unknown, index) => this.#output(output, index, level)),
      fields: this.#fields(root['fields'] ?? {}),
    }
  }

  #output(output: unknown, index: number, fallback: LogLevel): OutputDescription {
    const at = ['output', index]
    if (!isTable(output)) throw this.#error(at, 'expected a table', output)
    this.#checkKeys(output, at, ['path', 'level', 'format'])
    const path = output['path']
    if (typeof path !== 'string' || path === '') {
      const where = path === undefined ? at : [...at, 'path']
      throw this.#error(where, path === undefined ? 'expected path' : 'expected a path', path)
    }
    return {
      path,
      level: this.#level(output, at, fallback),
      format: this.#format(output['format'], [...at, 'format']),
    }
  }

  #level(table: Table, at: TomlPath, fallback: LogLevel): LogLevel {
    const value = table['level']
    return value === undefined ? fallback : logLevel(this.#owner([...at, 'level']), value)
  }

  #format(value: unknown, at: TomlPath): OutputDescription['format'] {
    const format = value === undefined ? 'auto' : FORMATS.find((known) => known === value)
    if (format !== undefined) return format
    throw this.#error(at, 'expected "auto", "text" or "json"', value)
  }

  #fields(fields: unknown): LogFields {
    if (!isTable(fields)) throw this.#error(['fields'], 'expected a table', fields)
    const entries = Object.entries(fields).map(([name, value]) => {
      if (TAKEN_FIELDS.has(name)) {
        throw this.#error(['fields', name], 'this name is reserved; expected another')
      }
      if (typeof value === 'string' || typeof value === 'boolean') return [name, value] as const
      if (typeof value === 'number' && Number.isFinite(value)) return [name, value] as const
      throw this.#error(['fields', name], 'expected text, a number or a boolean', value)
    })
    return Object.fromEntries(entries)
  }

  #checkKeys(table: Table, at: TomlPath, known: readonly string[]): void {
    for (const name of Object.keys(table)) {
      if (known.includes(name)) continue
      throw this.#error([...at, name], `unknown key${nearestHint(name, known)}`)
    }
  }

  #error(at: TomlPath, what: string, ...got: readonly [] | readonly [unknown]): ConfigError {
    const shown = got.length === 0 || got[0] === undefined ? '' : `, got ${show(got[0])}`
    return new ConfigError(`${this.#owner(at)}: ${what}${shown}`)
  }

  /** `log.toml:5:1: [[output]] level`. */
  #owner(at: TomlPath): string {
    const place = tomlPosition(this.#text, at)
    const where = place === undefined ? this.#path : `${this.#path}:${place.line}:${place.column}`
    const name = at[0] === 'output' ? ['[[output]]', ...at.slice(2)].join(' ') : at.join('.')
    return `${where}: ${name}`
  }
}

function isTable(value: unknown): value is Table {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
  )
}

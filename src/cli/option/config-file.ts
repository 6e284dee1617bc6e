// The configuration file: TOML, a section for each command, the names of flags as keys. The whole
// file is checked, whichever command reads it: an error in another section would only show later.

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { ConfigError } from '../../base/errors.js'
import { nearestHint } from '../../base/option.js'
import { parseToml, tomlPosition } from '../../runtime/toml.js'
import type { CommandDefinition } from '../command.js'
import type { Given } from './command-line.js'
import { ALIASES } from '../commands.js'
import { ADDRESS_KEY } from './settings.js'
import { type Flag, flagsOf, hasSection, nameFrom, type Origin, settableFlags } from './flag.js'
import { readValue } from './text.js'

/** The contents of a file: for each command its options by their names in code, and `address`. */
export type ConfigFile = ReadonlyMap<string, ReadonlyMap<string, Given>>

/**
 * Reads and checks a file. Throws `ConfigError`, one line with file, line and column, if it cannot
 * be read or is not TOML, and for unknown sections, unknown keys and wrong values.
 */
export function readConfigFile(
  path: string,
  definitions: readonly CommandDefinition[],
): ConfigFile {
  const file = new ConfigFileReader(path, readBytes(path))
  return file.read(definitions)
}

/** Why a file cannot be read, in words. */
const REASONS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'there is no such file'],
  ['EACCES', 'permission denied'],
  ['EISDIR', 'it is a directory'],
])

/** About a hundred times the size of all options: more is not a configuration file. */
const MAX_BYTES = 1024 * 1024

function readBytes(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readSome(path))
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    const isText = error instanceof TypeError
    const why = isText ? 'it is not text in UTF-8' : (REASONS.get(code) ?? message)
    throw new ConfigError(`cannot read the configuration file ${path}: ${why}`, { cause: error })
  }
}

/** Reads a file, a pipe or a device, which may be endless. */
function readSome(path: string): Uint8Array {
  const file = openSync(path, 'r')
  try {
    if (fstatSync(file).isDirectory()) throw new Error('it is a directory')
    const bytes = Buffer.alloc(MAX_BYTES + 1)
    let length = 0
    for (let count = 1; count > 0 && length < bytes.length; length += count) {
      count = readSync(file, bytes, length, bytes.length - length, null)
    }
    if (length <= MAX_BYTES) return bytes.subarray(0, length)
    throw new Error(`it is longer than ${MAX_BYTES / 1024 / 1024} MiB`)
  } finally {
    closeSync(file)
  }
}

/** One file. */
class ConfigFileReader {
  readonly #path: string
  readonly #text: string

  constructor(path: string, text: string) {
    this.#path = path
    this.#text = text
  }

  read(definitions: readonly CommandDefinition[]): ConfigFile {
    const commands = new Map<string, ReadonlyMap<string, Given>>()
    const known = definitions.filter(hasSection).map(({ name }) => name)
    for (const [section, content] of Object.entries(parseToml(this.#path, this.#text))) {
      if (!isTable(content)) {
        const sections = known.map((name) => `[${name}]`).join(', ')
        throw this.#error([section], `${section} is not in a section; there are ${sections}`)
      }
      const name = ALIASES.get(section) ?? section
      const definition = definitions.find((each) => each.name === name)
      if (definition === undefined || !known.includes(name)) {
        const hint = nearestHint(section, [...known, ...ALIASES.keys()])
        throw this.#error([section], `there is no section [${section}]${hint}`)
      }
      if (commands.has(name)) {
        const alias = [...ALIASES.keys()].find((each) => ALIASES.get(each) === name) ?? section
        const what = `[${alias}] is another name of [${name}]; keep one of them`
        throw this.#error([section], what)
      }
      commands.set(name, this.#readSection(section, content, definition))
    }
    return commands
  }

  #readSection(
    section: string,
    content: Readonly<Record<string, unknown>>,
    definition: CommandDefinition,
  ): ReadonlyMap<string, Given> {
    const flags = settableFlags(flagsOf(definition))
    const options = new Map<string, Given>()
    for (const [key, value] of Object.entries(content)) {
      const origin = this.#origin(section, key)
      const flag = this.#flagOf(definition, flags, origin, key)
      if (options.has(flag.name)) {
        throw new ConfigError(`${nameFrom(origin)}: it is given twice, as ${flag.key} before`)
      }
      const read = readValue(nameFrom(origin), flag.spec.type, value)
      options.set(flag.name, { value: read, origin })
    }
    return options
  }

  #flagOf(
    definition: CommandDefinition,
    flags: readonly Flag[],
    origin: Origin,
    key: string,
  ): Pick<Flag, 'name' | 'key' | 'spec'> {
    const name = key.replaceAll('_', '-')
    const flag = flags.find((each) => each.key === name)
    if (flag !== undefined) return flag
    const hasAddress = definition.positionals.some(({ env }) => env === 'ADDRESS')
    if (name === ADDRESS_KEY && hasAddress) return ADDRESS_SPEC
    const known = [...flags.map((each) => each.key), ...(hasAddress ? [ADDRESS_KEY] : [])]
    throw new ConfigError(`${nameFrom(origin)}: there is no such option${nearestHint(key, known)}`)
  }

  #origin(section: string, key: string): Origin {
    const place = tomlPosition(this.#text, [section, key]) ?? { line: 1, column: 1 }
    return { kind: 'file', path: this.#path, ...place, key: `[${section}] ${key}` }
  }

  #error(at: readonly string[], what: string): ConfigError {
    const { line, column } = tomlPosition(this.#text, at) ?? { line: 1, column: 1 }
    return new ConfigError(`${this.#path}:${line}:${column}: ${what}`)
  }
}

const ADDRESS_SPEC: Pick<Flag, 'name' | 'key' | 'spec'> = {
  name: ADDRESS_KEY,
  key: ADDRESS_KEY,
  spec: { type: { kind: 'text' }, description: 'where the scheduler is' },
}

function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  const isObject = typeof value === 'object' && value !== null
  return isObject && !Array.isArray(value) && !(value instanceof Date)
}

// Parses a command line as users of Python Scaler know it: long flags and their unambiguous
// abbreviations, short flags of several letters (`-lbt`), `--flag=value`, `-n4`, switches with an
// optional value (`-p False`), lists of words that end at an address. A library would need all of
// this rewritten for it, by code that knows as much about the flags as this parser.

import { ConfigError } from '../../base/errors.js'
import { hintAt } from '../../base/nearest-name.js'
import type { OptionValue } from '../../base/option.js'
import type { Positional } from '../command.js'
import { type Flag, nameFrom, type Origin } from './flag.js'
import { booleanOf, readText } from './text.js'

/** A value, and where it was given. */
export interface Given {
  readonly value: OptionValue
  readonly origin: Origin
}

/** A parsed command line. */
export interface CommandLine {
  readonly positionals: readonly string[]
  /** By the names in code. Of an option that is not repeatable, the last value wins. */
  readonly options: ReadonlyMap<string, Given>
}

/** Parses words. Throws `ConfigError` for an unknown flag or a wrong value. */
export function readCommandLine(
  words: readonly string[],
  flags: readonly Flag[],
  positionals: readonly Positional[],
): CommandLine {
  return new CommandLineReader(words, flags, positionals).read()
}

/** A flag that was recognized in a word, and the value attached to it. */
interface Found {
  readonly flag: Flag
  readonly typed: string
  readonly attached: string | undefined
}

/** Parses one command line, from the first word to the last. */
class CommandLineReader {
  readonly #words: readonly string[]
  readonly #flags: readonly Flag[]
  readonly #isVariadic: boolean
  /** Which word is the address of the scheduler; -1: none is. */
  readonly #addressPlace: number
  /** Whether a word that is an address is a value of `--address`. */
  readonly #takesAddress: boolean
  /** After this many words that are not flags, no flags are parsed. */
  readonly #verbatimFrom: number
  readonly #positionals: string[] = []
  readonly #options = new Map<string, Given>()
  #next = 0

  constructor(
    words: readonly string[],
    flags: readonly Flag[],
    positionals: readonly Positional[],
  ) {
    this.#words = words
    this.#flags = flags
    this.#isVariadic = positionals.some(({ isVariadic }) => isVariadic === true)
    this.#addressPlace = positionals.findIndex(({ env }) => env !== undefined)
    this.#takesAddress = positionals.some(({ takesAddress }) => takesAddress === true)
    const verbatim = positionals.findIndex(({ isVerbatim }) => isVerbatim === true)
    this.#verbatimFrom = verbatim === -1 ? Number.POSITIVE_INFINITY : verbatim
  }

  read(): CommandLine {
    let hasFlags = true
    let address: string | undefined
    for (let word = this.#take(); word !== undefined; word = this.#take()) {
      if (this.#positionals.length >= this.#verbatimFrom) hasFlags = false
      else if (word === '--' && hasFlags) {
        hasFlags = false
        continue
      }
      if (!hasFlags || !isFlagLike(word)) this.#readWord(word)
      else if (this.#addressPlace !== -1 && /^--address(=|$)/.test(word)) {
        address = word.includes('=') ? word.slice(10) : this.#takeValue(word)
      } else this.#readFlag(this.#find(word))
    }
    if (address !== undefined) this.#positionals.splice(this.#addressPlace, 0, address)
    return { positionals: this.#positionals, options: this.#options }
  }

  #take(): string | undefined {
    const word = this.#words[this.#next]
    this.#next += 1
    return word
  }

  #readWord(word: string): void {
    if (this.#takesAddress && /^(tcp|tls|ipc):\/\//.test(word)) {
      this.#options.set('address', { value: word, origin: { kind: 'word', name: 'address' } })
    } else this.#positionals.push(word)
  }

  #readFlag({ flag, typed, attached }: Found): void {
    const { type } = flag.spec
    const origin: Origin = { kind: 'flag', flag: `--${flag.key}`, typed }
    const as = nameFrom(origin)
    const isWords = type.kind === 'list' && type.separator === 'words'
    let value: OptionValue
    if (isWords) value = attached === undefined ? this.#takeList() : [attached]
    else if ((type.kind === 'list' || type.kind === 'text') && type.hasDashes === true) {
      value = readText(as, type, attached ?? this.#take() ?? this.#takeValue(as))
    } else if (type.kind === 'boolean') value = this.#readSwitch(as, attached)
    else value = readText(as, type, attached ?? this.#takeValue(as))
    const isMore = type.kind === 'list' && type.isRepeatable === true
    const before = isMore ? (this.#options.get(flag.name)?.value ?? []) : []
    if (isMore) value = [...(before as readonly string[]), ...(value as readonly string[])]
    this.#options.set(flag.name, { value, origin })
  }

  /** A switch; the next word may be its value (`False`), unless it could be an argument. */
  #readSwitch(as: string, attached: string | undefined): boolean {
    if (attached !== undefined) return readText(as, { kind: 'boolean' }, attached) === true
    const value = this.#isVariadic ? undefined : booleanOf(this.#words[this.#next] ?? '')
    if (value !== undefined) this.#next += 1
    return value ?? true
  }

  #takeValue(as: string): string {
    const word = this.#words[this.#next]
    if (word === undefined || isFlagLike(word)) {
      // PEM begins like a flag, and may be a private key.
      const got = word?.startsWith('-----') === true ? 'other text' : word
      throw new ConfigError(`${as}: expected a value${got === undefined ? '' : `, got ${got}`}`)
    }
    this.#next += 1
    return word
  }

  /** Takes words up to the next flag or address, with or without `tcp://`. */
  #takeList(): readonly string[] {
    const values: string[] = []
    for (;;) {
      const word = this.#words[this.#next]
      if (word === undefined || isFlagLike(word) || isAddressLike(word)) return values
      values.push(word)
      this.#next += 1
    }
  }

  #find(word: string): Found {
    const [, name = '', attached] = /^([^=]*)(?:=(.*))?$/s.exec(word) ?? []
    const isLong = name.startsWith('--')
    const flag = isLong ? this.#only(name) : this.#flags.find(({ short }) => short.includes(name))
    if (flag !== undefined) return { flag, typed: isLong ? `--${flag.key}` : name, attached }
    // `-n4`: only after a single letter, for a flag that takes a value.
    const letter = word.slice(0, 2)
    const valued = this.#flags.find(({ short }) => short.includes(letter))
    if (valued !== undefined && valued.spec.type.kind !== 'boolean') {
      return { flag: valued, typed: letter, attached: word.slice(2) }
    }
    throw new ConfigError(`unknown option ${name}${hintAt(name, this.#candidates(name))}`)
  }

  /** Candidates for a mistyped flag. None for a single letter, which resembles every other. */
  #candidates(name: string): readonly string[] {
    if (name.length <= 2) return []
    const long = this.#flags.map(({ key }) => `--${key}`)
    return name.startsWith('--') ? long : [...this.#flags.flatMap(({ short }) => short), ...long]
  }

  /**
   * The flag with this long name, or the only one that starts with it. If several do, but only one
   * of them has a short name, that one: all flags of 1.9.9 have short names and later ones do not,
   * so abbreviations that work in 1.9.9 still work here.
   */
  #only(name: string): Flag | undefined {
    const exact = this.#flags.find(({ key }) => name === `--${key}`)
    if (exact !== undefined || name.length <= 2) return exact
    const found = this.#flags.filter(({ key }) => `--${key}`.startsWith(name))
    const usual = found.filter(({ short }) => short.length > 0)
    if (found.length < 2 || usual.length === 1) return usual[0] ?? found[0]
    const names = found.map(({ key }) => `--${key}`).join(', ')
    throw new ConfigError(`option ${name} is ambiguous: ${names}`)
  }
}

/** Does not match paths of logs or options of Node. */
function isAddressLike(word: string): boolean {
  return word.includes('://') || /^[\w.*-]+:\d+$/.test(word)
}

/** `-5` is a number, `-` the standard input. */
function isFlagLike(word: string): boolean {
  return /^-(?!\d|\.\d|$)/.test(word)
}

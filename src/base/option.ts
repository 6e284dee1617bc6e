// Options: checks of what users configure, with one clear error that names the option, the value
// and the bound; and tables of options.

import { ConfigError } from './errors.js'
import { hintAt } from './nearest-name.js'

/** The bounds of a number option. */
export interface NumberBounds {
  readonly min: number
  readonly max: number
  /** Whether fractions are allowed. Default: no. */
  readonly fraction?: boolean
}

/** `value`, or `fallback` when it is undefined. Throws `ConfigError` when it is out of bounds. */
export function numberOption(
  name: string,
  value: unknown,
  fallback: number,
  bounds: NumberBounds,
): number {
  if (value === undefined) return fallback
  const isNumber = typeof value === 'number' && value >= bounds.min && value <= bounds.max
  if (isNumber && (bounds.fraction === true || Number.isInteger(value))) return value
  const what = bounds.fraction === true ? 'a number' : 'a whole number'
  throw new ConfigError(
    `option ${name}: expected ${what} from ${bounds.min} to ${bounds.max}, got ${show(value)}`,
  )
}

/** `value`, or `fallback` when it is undefined. Throws `ConfigError` unless it is a boolean. */
export function booleanOption(name: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback
  if (typeof value === 'boolean') return value
  throw new ConfigError(`option ${name}: expected true or false, got ${show(value)}`)
}

/** How a value is shown in an error: one short line for any value. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'an array' : 'an object'
  if (typeof value === 'bigint') return `${value}n`
  return typeof value === 'function' ? 'a function' : String(value)
}

// Tables of options: one description of each option, used for code, command lines, environment,
// configuration files, help texts, completion and documents. A table is data; this file defines its
// structure and checks values against it.

/**
 * `isRepeatable`: on command lines, each further use adds to it. `hasDashes`: there, its value may
 * begin with a dash. `isRecord`: in code, also an object from names to integers; -1 for a name
 * alone: `['a', 'b=2']`.
 */
interface ListType {
  readonly kind: 'list'
  readonly separator: 'commas' | 'words'
  readonly isRecord?: boolean
  readonly isRepeatable?: boolean
  readonly hasDashes?: boolean
}

/** The type of an option's value. */
export type OptionType =
  /** A whole number. */
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  /** Whole milliseconds in code; seconds, with fractions, in text. Bounds in ms. */
  | { readonly kind: 'duration'; readonly min: number; readonly max: number }
  /** True or false; a switch on command lines. */
  | { readonly kind: 'boolean' }
  | { readonly kind: 'text'; readonly hasDashes?: boolean }
  | { readonly kind: 'choice'; readonly choices: readonly string[] }
  /** Strings: separated by commas (`'commas'`), or as words of a command line (`'words'`). */
  | ListType
  /** Available only in code: a function or object. The owner of the table checks it. */
  | { readonly kind: 'object' }

/** The possible values of a table's entry. */
export type OptionValue = number | boolean | string | readonly string[]

/** One option. `Value` is its type in code. */
export interface OptionSpec<Value = unknown> {
  readonly type: OptionType
  /** One line for help, completion and documents: its effect, without default and bounds. */
  readonly description: string
  /** In code and, without a `commandDefault`, in commands. Undefined: there is no default. */
  readonly default?: Value
  /** The default of commands if it differs. */
  readonly commandDefault?: Value
  /** How help and documents show a default that is not a constant: `port + 2`. */
  readonly defaultText?: string
  /** The long flag without dashes, also the key in files. Absent: only for code. */
  readonly flag?: string
  /**
   * The environment variable, if it is not the one of all commands with this flag: where a value
   * for another command would do harm. Absent: `SCALER_` and the flag in capitals.
   */
  readonly variable?: string
  /** Short flags with their dash, as users of the system know them: `-wt`. */
  readonly short?: readonly string[]
  /** Accepted for compatibility, without effect; the reason, as one log line. */
  readonly unnecessary?: string
}

/** The table of an options type: one entry for each name, enforced by the compiler. */
export type OptionTable<Options> = {
  readonly [Name in keyof Options]-?: OptionSpec<Exclude<Options[Name], undefined>>
}

/** Any table, its entries by name. */
export type AnyOptionTable = Readonly<Record<string, OptionSpec>>

/** Options whose defaults are filled in. */
type Checked<Options> = { readonly [Name in keyof Options]-?: Options[Name] }

/** The options that all have a value once they are checked, without those named `Except`. */
export type Settled<Options, Except extends keyof Options = never> = {
  readonly [Name in Exclude<keyof Options, Except>]-?: Exclude<Options[Name], undefined>
}

/**
 * The options of a table `{ … } as const satisfies AnyOptionTable`, with defaults filled in. For
 * options of commands only; those for code are interfaces, whose comments are shown in editors and
 * docs/api.
 */
export type OptionsOf<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends { readonly type: infer Type }
    ? ValueOf<Type> | (Table[Name] extends { readonly default: unknown } ? never : undefined)
    : never
}

/** The value of an option of this type. */
type ValueOf<Type> = Type extends { readonly kind: 'integer' | 'duration' }
  ? number
  : Type extends { readonly kind: 'boolean' }
    ? boolean
    : Type extends { readonly kind: 'text' }
      ? string
      : Type extends { readonly kind: 'choice'; readonly choices: readonly (infer Choice)[] }
        ? Choice
        : readonly string[]

/**
 * The given options, with the table's defaults; `undefined` stays where there is no default.
 * `owner` is the component named in errors (`'scheduler'`). Throws `ConfigError` for an unknown
 * name, with the closest known one, and for a value that the table does not allow, with its bound.
 */
export function checkOptions<Options extends object>(
  owner: string,
  table: OptionTable<Options>,
  given: Options,
): Checked<Options> {
  checkNames(owner, table, given)
  const specs = table as unknown as AnyOptionTable
  const values = given as Readonly<Record<string, unknown>>
  const checked = Object.keys(specs).map((name) => {
    const spec = specs[name] as OptionSpec
    return [name, checkValue(name, spec.type, values[name], spec.default)]
  })
  return Object.fromEntries(checked) as Checked<Options>
}

/** Throws `ConfigError` for a name that is not in a table, like `checkOptions`. */
export function checkNames(owner: string, table: object, given: object): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ConfigError(`${owner} options: expected an object, got ${show(given)}`)
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(table, name)) continue
    throw new ConfigError(`unknown ${owner} option ${name}${nearestHint(name, Object.keys(table))}`)
  }
}

/** The given values that are in a table and not undefined. */
export function optionsIn<Options>(table: OptionTable<Options>, values: object): Options {
  const entries = Object.entries(values).filter(([name, value]) => {
    return value !== undefined && Object.hasOwn(table, name)
  })
  return Object.fromEntries(entries) as Options
}

/** `; is it loadBalanceMs?`, or all known names if none is close. */
export function nearestHint(name: string, known: readonly string[]): string {
  return hintAt(name, known) || `; there are ${known.join(', ')}`
}

/**
 * `value`, or `fallback` where it is undefined. Throws a `ConfigError` that names the option as
 * `name` for a value that its type does not allow.
 */
export function checkValue(
  name: string,
  type: OptionType,
  value: unknown,
  fallback: unknown,
): unknown {
  if (value === undefined) return fallback
  switch (type.kind) {
    case 'integer':
    case 'duration':
      return numberOption(name, value, 0, type)
    case 'boolean':
      return booleanOption(name, value, false)
    case 'text':
      if (typeof value === 'string') return value
      throw new ConfigError(`option ${name}: expected text, got ${show(value)}`)
    case 'choice':
      if (typeof value === 'string' && type.choices.includes(value)) return value
      throw new ConfigError(
        `option ${name}: expected ${orList(type.choices)}, got ${show(value)}` +
          (typeof value === 'string' ? hintAt(value, type.choices) : ''),
      )
    case 'list':
      if (type.isRecord === true && isRecord(value)) return textsOf(name, value)
      if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return [...value]
      throw new ConfigError(`option ${name}: expected a list of strings, got ${shownList(value)}`)
    case 'object':
      return value
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textsOf(option: string, record: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(record).map(([name, value]) => {
    const number = numberOption(`${option}.${name}`, value, -1, {
      min: -1,
      max: Number.MAX_SAFE_INTEGER,
    })
    return number === -1 ? name : `${name}=${number}`
  })
}

/** The first element of a list that does not belong there. */
function shownList(value: unknown): string {
  if (!Array.isArray(value)) return show(value)
  const wrong: unknown = value.find((item) => typeof item !== 'string')
  return `a list with ${show(wrong)}`
}

function orList(words: readonly string[]): string {
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

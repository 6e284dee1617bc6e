// Objects of the language and of Node whose contents are hidden, but which show enough to be
// re-created: `Intl.NumberFormat` shows its options, `TextDecoder` its encoding. They are sent as
// the name of their class and its input, as JSON. The sender checks that this gives the same
// object; otherwise the object is refused.

import type { StringDecoder } from 'node:string_decoder'
import { DeserializeError } from '../../base/errors.js'

type AnyConstructor = new (...parameters: unknown[]) => object

/** How the objects of one class are described and re-created. */
interface Maker {
  /** The class; undefined if this Node does not have it. */
  readonly find: () => AnyConstructor | undefined
  /** The description of the object, as a JSON value. Throws if it is not of this class. */
  readonly describe: (object: object) => unknown
  readonly make: (constructor: AnyConstructor, description: unknown) => object
  /** Whether it never changes after its creation. */
  readonly isFixed: boolean
}

/** An object that can be re-created. */
export interface Remade {
  readonly className: string
  /** JSON. */
  readonly description: string
}

/** The result of `resolvedOptions`. */
type Resolved = Readonly<Record<string, unknown>> & { readonly locale: string }

const INTL: readonly string[] = (
  'Collator DateTimeFormat DisplayNames DurationFormat ListFormat NumberFormat PluralRules ' +
  'RelativeTimeFormat Segmenter'
).split(' ')

const TEMPORAL: readonly string[] = (
  'Duration Instant PlainDate PlainDateTime PlainMonthDay PlainTime PlainYearMonth ' +
  'ZonedDateTime'
).split(' ')

const MAKERS: ReadonlyMap<string, Maker> = new Map([
  ...INTL.map((name) => [name, intlMaker(name)] as const),
  ['Locale', textMaker('Intl', 'Locale', (constructor, text) => new constructor(text))],
  ...TEMPORAL.map((name) => [name, textMaker('Temporal', name, fromText)] as const),
  [
    'TextEncoder',
    { find: () => TextEncoder, describe: () => 0, make: (own) => new own(), isFixed: true },
  ],
  ['TextDecoder', textDecoderMaker()],
  ['Headers', pairsMaker(() => Headers as AnyConstructor)],
  ['FormData', pairsMaker(() => FormData)],
])

function intlMaker(name: string): Maker {
  return {
    find: () => partOf('Intl', name),
    describe: (object) => callNative('Intl', name, 'resolvedOptions', object),
    make: (constructor, description) => {
      const {
        locale,
        hour12: _hour12,
        pluralCategories: _categories,
        ...options
      } = description as Resolved
      return new constructor(locale, options)
    },
    isFixed: true,
  }
}

/** A class whose objects are fully described by their text. */
function textMaker(
  space: string,
  name: string,
  make: (constructor: AnyConstructor, text: unknown) => object,
): Maker {
  return {
    find: () => partOf(space, name),
    describe: (object) => callNative(space, name, 'toString', object),
    make,
    isFixed: true,
  }
}

function fromText(constructor: AnyConstructor, text: unknown): object {
  return (constructor as unknown as { from(text: unknown): object }).from(text)
}

function textDecoderMaker(): Maker {
  return {
    find: () => TextDecoder as AnyConstructor,
    describe: (object) => {
      if (isDecoder(object) && holdsBytes(object))
        throw new TypeError('it waits for the rest of a character')
      const [encoding, fatal, ignoreBOM] = ['encoding', 'fatal', 'ignoreBOM'].map((key): unknown =>
        Reflect.get(TextDecoder.prototype, key, object),
      )
      return [encoding, { fatal, ignoreBOM }]
    },
    make: (constructor, description) => new constructor(...(description as unknown[])),
    isFixed: false,
  }
}

type Decoder = StringDecoder | InstanceType<typeof TextDecoder>

/** Whether it may hold the first bytes of a character between two calls. */
export function isDecoder(value: unknown): value is Decoder {
  // Loaded when it is needed: all programs load this file.
  const decoder = process.getBuiltinModule('node:string_decoder')
  return value instanceof TextDecoder || value instanceof decoder.StringDecoder
}

/**
 * Whether a decoder may hold such bytes. A `TextDecoder` shows them from Node 24 on; before, one of
 * UTF-8 shows that there was a call with `stream`, and others show nothing.
 */
export function holdsBytes(decoder: Decoder): boolean {
  if (!(decoder instanceof TextDecoder)) return Number(Reflect.get(decoder, 'lastNeed')) > 0
  for (const key of Object.getOwnPropertySymbols(decoder)) {
    const value: unknown = Reflect.get(decoder, key)
    if (key.description === 'chunk') return value !== null && value !== undefined
    const isPath = key.description === 'kUTF8FastPath' && decoder.encoding === 'utf-8'
    if (isPath && value === false) return true
  }
  return false
}

/** A class whose objects are lists of pairs of texts. A file among them is not re-created. */
function pairsMaker(find: () => AnyConstructor): Maker {
  return {
    find,
    describe: (object) => {
      const entries: unknown = Reflect.get(find().prototype as object, 'entries')
      return [...Reflect.apply(entries as () => Iterable<unknown>, object, [])]
    },
    make: (constructor, description) => {
      const made = new constructor() as { append(key: string, value: string): void }
      for (const [key, value] of description as [string, string][]) made.append(key, value)
      return made
    },
    isFixed: false,
  }
}

function partOf(space: string, name: string): AnyConstructor | undefined {
  const owner: unknown = Reflect.get(globalThis, space)
  if (typeof owner !== 'object' || owner === null) return undefined
  return Reflect.get(owner, name) as AnyConstructor | undefined
}

/** Calls the method of the built-in class, even if the object has another one. */
function callNative(space: string, name: string, method: string, object: object): unknown {
  const prototype = partOf(space, name)?.prototype as Record<string, () => unknown> | undefined
  return prototype?.[method]?.call(object)
}

/** The names of the classes. */
export const REMADE_CLASSES: readonly string[] = [...MAKERS.keys()]

/** The results for objects that never change. */
const known = new WeakMap<object, Remade>()

/** The description of an object; undefined if it cannot be re-created. */
export function remadeOf(object: object): Remade | undefined {
  const found = known.get(object)
  if (found !== undefined) return found
  for (const [className, maker] of MAKERS) {
    const constructor = maker.find()
    if (constructor === undefined || !(object instanceof constructor)) continue
    const description = descriptionOf(object, maker)
    if (description === undefined || !isSame(maker, constructor, description)) continue
    const remade = { className, description }
    if (maker.isFixed) known.set(object, remade)
    return remade
  }
  return undefined
}

/** The object that a class creates from its description. Throws `DeserializeError`. */
export function remake({ className, description }: Remade): object {
  const maker = MAKERS.get(className)
  const constructor = maker?.find()
  if (maker === undefined || constructor === undefined) {
    throw new DeserializeError(`Node ${process.versions.node} has no ${className}`)
  }
  return maker.make(constructor, JSON.parse(description))
}

function descriptionOf(object: object, { describe }: Maker): string | undefined {
  try {
    return JSON.stringify(describe(object))
  } catch {
    return undefined
  }
}

function isSame(maker: Maker, constructor: AnyConstructor, description: string): boolean {
  try {
    const made = maker.make(constructor, JSON.parse(description))
    return descriptionOf(made, maker) === description
  } catch {
    return false
  }
}

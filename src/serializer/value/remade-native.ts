// Objects of the language and of Node that hide what they have inside, but tell enough to be made
// again: `Intl.NumberFormat` tells its options, `TextDecoder` its encoding. They travel as the name
// of their class and what it is told then, as JSON. Whether that makes the same object is tried
// where it leaves: what does not come out the same is not sent.

import { DeserializeError } from '../../base/errors.js'

type AnyConstructor = new (...parameters: unknown[]) => object

/** How one class is taken apart and put together. */
interface Maker {
  /** The class; undefined where this Node has none. */
  readonly find: () => AnyConstructor | undefined
  /** What the object is, as JSON can say it. Throws if it is not one of this class. */
  readonly tell: (object: object) => unknown
  readonly make: (constructor: AnyConstructor, told: unknown) => object
  /** Whether it can change after it was made. */
  readonly isFixed: boolean
}

/** An object that can be made again. */
export interface Remade {
  readonly className: string
  /** JSON. */
  readonly told: string
}

/** What `resolvedOptions` says. */
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
    { find: () => TextEncoder, tell: () => 0, make: (own) => new own(), isFixed: true },
  ],
  ['TextDecoder', textDecoderMaker()],
  ['Headers', pairsMaker(() => Headers as AnyConstructor)],
  ['FormData', pairsMaker(() => FormData)],
])

function intlMaker(name: string): Maker {
  return {
    find: () => partOf('Intl', name),
    tell: (object) => callNative('Intl', name, 'resolvedOptions', object),
    make: (constructor, told) => {
      const {
        locale,
        hour12: _hour12,
        pluralCategories: _categories,
        ...options
      } = told as Resolved
      return new constructor(locale, options)
    },
    isFixed: true,
  }
}

/** A class whose objects are all that their text says. */
function textMaker(
  space: string,
  name: string,
  make: (constructor: AnyConstructor, text: unknown) => object,
): Maker {
  return {
    find: () => partOf(space, name),
    tell: (object) => callNative(space, name, 'toString', object),
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
    tell: (object) => {
      const [encoding, fatal, ignoreBOM] = ['encoding', 'fatal', 'ignoreBOM'].map((key): unknown =>
        Reflect.get(TextDecoder.prototype, key, object),
      )
      return [encoding, { fatal, ignoreBOM }]
    },
    make: (constructor, told) => new constructor(...(told as unknown[])),
    isFixed: true,
  }
}

/** A class whose objects are lists of pairs of texts. A file among them does not come out again. */
function pairsMaker(find: () => AnyConstructor): Maker {
  return {
    find,
    tell: (object) => {
      const entries: unknown = Reflect.get(find().prototype as object, 'entries')
      return [...Reflect.apply(entries as () => Iterable<unknown>, object, [])]
    },
    make: (constructor, told) => {
      const made = new constructor() as { append(key: string, value: string): void }
      for (const [key, value] of told as [string, string][]) made.append(key, value)
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

/** The method of the built-in class, whatever the object has. */
function callNative(space: string, name: string, method: string, object: object): unknown {
  const prototype = partOf(space, name)?.prototype as Record<string, () => unknown> | undefined
  return prototype?.[method]?.call(object)
}

/** The names of the classes. */
export const REMADE_CLASSES: readonly string[] = [...MAKERS.keys()]

/** What was found of objects that never change. */
const known = new WeakMap<object, Remade>()

/** How to make the object again; undefined if nothing tells. */
export function remadeOf(object: object): Remade | undefined {
  const found = known.get(object)
  if (found !== undefined) return found
  for (const [className, maker] of MAKERS) {
    const constructor = maker.find()
    if (constructor === undefined || !(object instanceof constructor)) continue
    const told = toldBy(object, maker)
    if (told === undefined || !comesOutSame(maker, constructor, told)) continue
    const remade = { className, told }
    if (maker.isFixed) known.set(object, remade)
    return remade
  }
  return undefined
}

/** The object that a class makes of what it is told. Throws `DeserializeError`. */
export function remake({ className, told }: Remade): object {
  const maker = MAKERS.get(className)
  const constructor = maker?.find()
  if (maker === undefined || constructor === undefined) {
    throw new DeserializeError(`Node ${process.versions.node} has no ${className}`)
  }
  return maker.make(constructor, JSON.parse(told))
}

function toldBy(object: object, { tell }: Maker): string | undefined {
  try {
    return JSON.stringify(tell(object))
  } catch {
    return undefined
  }
}

function comesOutSame(maker: Maker, constructor: AnyConstructor, told: string): boolean {
  try {
    const made = maker.make(constructor, JSON.parse(told))
    return toldBy(made, maker) === told
  } catch {
    return false
  }
}

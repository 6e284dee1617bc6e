// The prototypes of objects, and whether they can be the same on the other side.

import type { FunctionAnalyst, FunctionParts } from '../function/parts.js'
import {
  type AnyFunction,
  isFakeDate,
  isNative,
  type NativeNames,
  ownValue,
} from '../module/native.js'
import { Refusal, refuseClass, refuseHandle, refuseInstance, refusePrivates } from '../refusal.js'
import { parser } from '../source/parse.js'
import { isKnownError } from './error.js'
import type { ObjectKind } from './kind.js'
import { constructorOf, prototypeOf, prototypesFrom } from '../class/prototype-chain.js'
import { REMADE_CLASSES } from './remade-native.js'
import type { Strictness } from './place.js'

// Whether instances of a class can be re-created without running its constructor.

/** Called for each class of a message, and for its parents. */
interface PartsSource {
  partsOf(fn: AnyFunction): FunctionParts | Refusal
  readonly tools: { readonly analyst: Pick<FunctionAnalyst, 'keepsContents'> }
}

/** The results for one message. */
export class ClassCheck {
  readonly #source: PartsSource
  readonly #issues = new Map<AnyFunction, Refusal | undefined>()

  constructor(source: PartsSource) {
    this.#source = source
  }

  /** Why instances cannot be sent; undefined if they can. */
  issueOf(constructor: AnyFunction): Refusal | undefined {
    if (this.#issues.has(constructor)) return this.#issues.get(constructor)
    const issue = this.#find(constructor)
    this.#issues.set(constructor, issue)
    return issue
  }

  /** Whether an object without properties has contents that only its class can read. */
  isHollow(object: object, constructor: AnyFunction): boolean {
    const parts = this.#source.partsOf(constructor)
    if (parts instanceof Refusal || parts.kind !== 'reference') return false
    return this.#source.tools.analyst.keepsContents(constructor, object)
  }

  #find(constructor: AnyFunction): Refusal | undefined {
    let next: unknown = constructor
    let isImported = false
    while (typeof next === 'function' && next !== Function.prototype) {
      const fn = next as AnyFunction
      const found = this.#source.partsOf(fn)
      // The parent of an imported class comes with it, exported or not.
      const isInherited: boolean = isImported && !isNative(fn)
      if (found instanceof Refusal && !isInherited) return found
      const parts: FunctionParts | undefined = found instanceof Refusal ? undefined : found
      if (parts?.kind === 'native') return undefined
      if (parts?.kind === 'bound' || parts?.kind === 'runtime') return refuseClass('bound function')
      isImported = parts?.kind !== 'source'
      const names =
        parts?.kind === 'source' ? (parts.classParts?.instancePrivates ?? []) : privateNames(fn)
      if (names.length > 0) {
        return refusePrivates(String(ownValue(constructor, 'name')), names[0] ?? '')
      }
      next = prototypeOf(next)
    }
    return undefined
  }
}

interface Member {
  readonly type: string
  readonly static?: boolean
  readonly key?: { readonly type: string; readonly name?: string }
}

/** The private members of instances, from the text of the class. */
function privateNames(constructor: AnyFunction): readonly string[] {
  const text = Function.prototype.toString.call(constructor)
  if (!text.startsWith('class') || !/#[\p{ID_Start}$_]/u.test(text)) return []
  try {
    const tree = parser().parseExpressionAt(text, 0, { ecmaVersion: 'latest' }) as unknown as {
      readonly body: { readonly body: readonly Member[] }
    }
    return tree.body.body
      .filter(({ key, static: isStatic }) => isStatic !== true && key?.type === 'PrivateIdentifier')
      .map(({ key }) => `#${key?.name ?? ''}`)
  } catch {
    // It may have some, which is enough.
    return ['#private']
  }
}

/**
 * `standard`: the usual prototype of its kind. A class: its `prototype`. An object: that object
 * itself, or null.
 */
export type Lineage =
  | 'standard'
  | { readonly kind: 'class'; readonly constructor: AnyFunction }
  | { readonly kind: 'object'; readonly prototype: object | null }

/** The built-in classes that may have created an object of a kind. The first is the usual one. */
const CLASSES: Readonly<Record<ObjectKind, readonly string[]>> = {
  record: ['Object'],
  array: ['Array'],
  map: ['Map'],
  set: ['Set'],
  error: ['Error'],
  domException: ['DOMException', 'Error'],
  date: ['Date'],
  regexp: ['RegExp'],
  boxed: ['Number', 'String', 'Boolean', 'BigInt', 'Symbol'],
  binary: (
    'Uint8Array Buffer ArrayBuffer DataView Int8Array Uint8ClampedArray Int16Array Uint16Array ' +
    'Int32Array Uint32Array Float16Array Float32Array Float64Array BigInt64Array BigUint64Array ' +
    'TypedArray'
  ).split(' '),
  url: ['URL'],
  urlSearchParams: ['URLSearchParams'],
  remade: REMADE_CLASSES,
  arguments: ['Object'],
}

/** Built-in classes whose instances consist only of their properties. */
const PLAIN_CLASSES: ReadonlySet<string> = new Set(
  (
    'Object Function EventEmitter Stats BigIntStats StatFs Dirent Url AssertionError Error ' +
    'AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError ' +
    'SuppressedError'
  ).split(' '),
)

/** Array and string iterators do not show their contents, but they all inherit from this. */
const ITERATOR_PROTOTYPE = Object.getPrototypeOf(
  Object.getPrototypeOf([][Symbol.iterator]()),
) as object

const FINE = Symbol('fine')

/** Finds lineages for one message. */
export class Lineages {
  readonly #natives: NativeNames
  readonly #check: ClassCheck
  readonly strictness: Strictness
  readonly #plainClasses = new Map<object, AnyFunction>()
  /** Results for prototypes, including all of their own prototypes. */
  readonly #chains = new Map<object, Refusal | typeof FINE>()

  constructor(natives: NativeNames, check: ClassCheck, strictness: Strictness) {
    this.#natives = natives
    this.strictness = strictness
    this.#check = check
  }

  /**
   * The class whose instances, with this prototype, consist only of their properties. Undefined if
   * there is none, or it is not known: this is called for each object and must be fast.
   */
  plainClass(prototype: object): AnyFunction | undefined {
    return this.#plainClasses.get(prototype)
  }

  /** The lineage of an object, not a proxy, or why it cannot be sent. */
  of(object: object, kind: ObjectKind): Lineage | Refusal {
    const prototype = Object.getPrototypeOf(object) as object | null
    if (prototype === null) {
      const isFlat = kind === 'error' && this.strictness === 'lenient'
      return isFlat ? 'standard' : { kind: 'object', prototype }
    }
    if (kind === 'error' || kind === 'domException') return this.#ofError(object, prototype)
    if (kind === 'date' && isFakeDate(object)) return 'standard'
    const constructor = this.#natives.classWith(prototype) ?? constructorOf(prototype)
    if (constructor !== undefined && this.#isStandard(constructor, kind)) return 'standard'
    const refusal = this.#judge(prototype, kind)
    if (refusal !== undefined) return refusal
    if (constructor === undefined) return { kind: 'object', prototype }
    const issue = this.#check.issueOf(constructor)
    if (issue === undefined) {
      const isEmpty = kind === 'record' && Reflect.ownKeys(object).length === 0
      if (isEmpty && this.#check.isHollow(object, constructor)) {
        return refusePrivates(String(ownValue(constructor, 'name')), 'its contents')
      }
      if (kind === 'record' && !isEmpty && this.#isPlain(prototype)) {
        this.#plainClasses.set(prototype, constructor)
      }
      return { kind: 'class', constructor }
    }
    return refuseInstance(String(ownValue(constructor, 'name')), issue)
  }

  /**
   * A thrown error is never lost because of its class. For an error that is a value, only a class
   * that Node does not export may be left out.
   */
  #ofError(error: object, prototype: object): Lineage | Refusal {
    if (isKnownError(error)) return 'standard'
    const constructor = constructorOf(prototype)
    const isStrict = this.strictness === 'strict'
    if (constructor === undefined) return isStrict ? { kind: 'object', prototype } : 'standard'
    if (isNative(constructor) && (!isStrict || isErrorClass(constructor))) return 'standard'
    const issue = this.#check.issueOf(constructor)
    if (issue === undefined) return { kind: 'class', constructor }
    return isStrict && !issue.isAboutNode ? issue : 'standard'
  }

  /** The usual class of a kind, of this realm or of another. */
  #isStandard(constructor: AnyFunction, kind: ObjectKind): boolean {
    const name = this.#builtInName(constructor)
    return name !== undefined && CLASSES[kind].includes(name)
  }

  /** Objects of any other built-in class have contents that only its methods can read. */
  #judge(prototype: object, kind: ObjectKind): Refusal | undefined {
    const met: object[] = []
    let verdict: Refusal | undefined
    for (const next of prototypesFrom(prototype)) {
      const known = this.#chains.get(next)
      if (known !== undefined) {
        verdict = known === FINE ? undefined : known
        break
      }
      met.push(next)
      verdict = this.#refusalOf(next, kind)
      if (verdict !== undefined) break
    }
    for (const next of met) this.#chains.set(next, verdict ?? FINE)
    return verdict
  }

  #refusalOf(prototype: object, kind: ObjectKind): Refusal | undefined {
    if (prototype === ITERATOR_PROTOTYPE) return refuseClass('Iterator')
    const constructor = ownValue(prototype, 'constructor')
    const isThenable = typeof ownValue(prototype, 'then') === 'function'
    if (isThenable || isDisposable(prototype)) {
      const name = typeof constructor === 'function' ? ownValue(constructor, 'name') : ''
      return refuseHandle(String(name), isThenable)
    }
    if (typeof constructor !== 'function') return undefined
    const name = this.#builtInName(constructor as AnyFunction)
    if (name === undefined || PLAIN_CLASSES.has(name) || CLASSES[kind].includes(name)) {
      return undefined
    }
    return refuseClass(name)
  }

  /** Whether no parent class can have created anything but a plain object. */
  #isPlain(prototype: object): boolean {
    for (const next of prototypesFrom(prototype)) {
      const constructor = ownValue(next, 'constructor')
      if (next === Object.prototype) return true
      if (typeof constructor !== 'function') return false
      if (this.#builtInName(constructor as AnyFunction) !== undefined) return false
    }
    return false
  }

  #builtInName(constructor: AnyFunction): string | undefined {
    const name = this.#natives.nameOf(constructor)
    // Node has a class `Module`, too.
    if (name?.startsWith('WebAssembly.')) return name
    if (name !== undefined)
      return name.slice(Math.max(name.lastIndexOf('#'), name.lastIndexOf('.')) + 1)
    return isNative(constructor) ? String(ownValue(constructor, 'name')) : undefined
  }
}

/** A built-in class of errors, of any realm. */
function isErrorClass(constructor: AnyFunction): boolean {
  return /(?:Error|Exception)$/.test(String(ownValue(constructor, 'name')))
}

/** A disposable object holds something open: a connection, a file, a client. */
function isDisposable(prototype: object): boolean {
  return Object.hasOwn(prototype, Symbol.asyncDispose) || Object.hasOwn(prototype, Symbol.dispose)
}

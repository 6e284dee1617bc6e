// What a function is made of at this moment: everything that its copy needs. The analyst
// (`analyst.ts`) answers, `serializer/value/message.ts` asks.

import type { LazyText, Refusal } from '../refusal.js'
import type { ExportReference } from '../module/policy.js'
import type { AnyFunction } from '../module/native.js'
import type { FunctionCode, TextPlace } from '../source/sites.js'

/** A function or class, taken apart. */
export type FunctionParts =
  /** Every Node process has it under this name (serializer/module/native.ts). */
  | { readonly kind: 'native'; readonly name: string }
  | { readonly kind: 'reference'; readonly reference: ExportReference }
  | {
      readonly kind: 'bound'
      readonly target: AnyFunction
      readonly self: unknown
      readonly parameters: readonly unknown[]
    }
  /** Stands for `import` or `require` in the code of the file at `url`. */
  | { readonly kind: 'runtime'; readonly role: 'import' | 'require'; readonly url: string }
  | SourceParts

/** A function or class that travels with its text. */
export interface SourceParts {
  readonly kind: 'source'
  /** The same object as long as the text is the same. */
  readonly code: FunctionCode
  /** URL or path of the file, for stacks and imports; may be empty. */
  readonly url: string
  /** In the order of `code.names`. */
  readonly captures: readonly Capture[]
  /** For a class: what its text does not say. */
  readonly classParts: ClassParts | undefined
}

/** A captured variable and what it holds now. */
export interface Capture {
  readonly name: string
  /** For messages: `rate (captured at app.ts:12)`. */
  readonly step: LazyText
  readonly content:
    | { readonly kind: 'value'; readonly value: unknown }
    /** Imported where it arrives. */
    | { readonly kind: 'reference'; readonly reference: ExportReference }
    /** A module of which only these exports are used. */
    | ({ readonly kind: 'members' } & UsedModule)
    /** A variable that functions may change. Cells with the same key are one. */
    | { readonly kind: 'cell'; readonly key: CellKey; readonly value: unknown }
    /** A compiler's WeakMap or WeakSet for private names. */
    | { readonly kind: 'privateStore'; readonly store: WeakMap<object, unknown> | WeakSet<object> }
    | { readonly kind: 'refusal'; readonly refusal: Refusal }
}

/** A module of the user's own, and what is used of it. */
export interface UsedModule {
  readonly module: object
  readonly names: readonly string[]
  /** Getters for exports whose variables the module changes. */
  readonly getters?: ReadonlyMap<string, AnyFunction>
}

/** Tells variables apart that have the same name. Compared by identity. */
export type CellKey = object

/** What is known of a class beside its text. */
export interface ClassParts {
  /** What it extends; null for `extends null`; undefined for nothing. */
  readonly parent: AnyFunction | null | undefined
  /** Private static fields: name with `#`, current value. */
  readonly staticPrivates: readonly { readonly name: string; readonly value: unknown }[]
  /** Private instance members: instances cannot be rebuilt where there are some. */
  readonly instancePrivates: readonly string[]
}

/** Takes functions apart. */
export interface FunctionAnalyst {
  /** What `fn` is made of as things are now, or why it cannot travel. Never throws. */
  partsOf(fn: AnyFunction): FunctionParts | Refusal
  /**
   * Called when what a captured variable holds cannot travel. If the variable is a constant that
   * can be made again where it arrives, `partsOf` gives it so from now on: then the answer is true.
   * A text says why not, for people; false: it is nothing that could be. `member`: the property of
   * what it holds that cannot travel, which is a variable of its own if that is a module.
   */
  remake(fn: AnyFunction, name: string, member?: string): boolean | string
  /** Whether `partsOf` gives the same for the function as long as `version` stays as it is. */
  isConstant(fn: AnyFunction): boolean
  /** Grows with each registration that may change the parts of functions. */
  readonly version: number
  /** What can be imported instead of sending an object: a module as a whole. Never throws. */
  referenceOf(object: object): ExportReference | undefined
  /** How the exports are read that a module changes, by name, for its namespace. */
  gettersOf(namespace: object): ReadonlyMap<string, AnyFunction>
  /**
   * Called when a shipment is written. Cells that two functions have under different keys may still
   * be one variable: answers whether the keys that `partsOf` gave for these functions are certain
   * now; when not, `partsOf` gives certain ones from now on and the shipment must be written again.
   */
  settle(functions: Iterable<AnyFunction>): 'certain' | 'again' | Refusal
  /** `url:line`, counted from 1, of what stands at a place of a script: where it was written. */
  placeOf(url: string, place: TextPlace): string
}

/**
 * The capture for a name of the code; undefined if there is none. They are in the order of the
 * names, but globals have none.
 */
export function captureOf({ code, captures }: SourceParts, index: number): Capture | undefined {
  const name = code.names[index]?.name
  const capture = captures[index]
  return capture?.name === name ? capture : captures.find((other) => other.name === name)
}

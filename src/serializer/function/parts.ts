// The parts of a function at this moment: everything that its copy needs. Provided by the analyst
// (`analyst.ts`), requested by `serializer/value/message.ts`.

import type { LazyText, Refusal } from '../refusal.js'
import type { ExportReference } from '../module/policy.js'
import type { AnyFunction } from '../module/native.js'
import type { FunctionCode, TextPlace } from '../source/sites.js'

/** The parts of a function or class. */
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
  /** `import` or `require` in the code of the file at `url`. */
  | { readonly kind: 'runtime'; readonly role: 'import' | 'require'; readonly url: string }
  /** A method or accessor that means nothing without its class, as the text of that defines it. */
  | ({ readonly kind: 'member' } & ClassMember)
  | SourceParts

/** The place of a method or accessor in its class. */
export interface ClassMember {
  readonly owner: AnyFunction
  readonly key: string | symbol
  readonly isStatic: boolean
  /** Which part of the property it is. */
  readonly slot: 'value' | 'get' | 'set'
}

/** A function or class that is sent with its text. */
export interface SourceParts {
  readonly kind: 'source'
  /** The same object as long as the text is the same. */
  readonly code: FunctionCode
  /** URL or path of the file, for stacks and imports; may be empty. */
  readonly url: string
  /** In the order of `code.names`. */
  readonly captures: readonly Capture[]
  /** For a class: the parts that are not in its text. */
  readonly classParts: ClassParts | undefined
}

/** A captured variable and its current value. */
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
    /** A variable that functions may change. Cells with the same key are the same variable. */
    | { readonly kind: 'cell'; readonly key: CellKey; readonly value: unknown }
    /** A compiler's WeakMap or WeakSet for private names. */
    | { readonly kind: 'privateStore'; readonly store: WeakMap<object, unknown> | WeakSet<object> }
    | { readonly kind: 'refusal'; readonly refusal: Refusal }
}

/** A module of the user, and the parts of it that are used. */
export interface UsedModule {
  readonly module: object
  readonly names: readonly string[]
  /** Getters for exports whose variables the module changes. */
  readonly getters?: ReadonlyMap<string, AnyFunction>
}

/** Distinguishes variables of the same name. Compared by identity. */
export type CellKey = object

/** The parts of a class that are not in its text. */
export interface ClassParts {
  /** The class that it extends; null for `extends null`; undefined for none. */
  readonly parent: AnyFunction | null | undefined
  /** Private static fields: name with `#`, current value. */
  readonly staticPrivates: readonly { readonly name: string; readonly value: unknown }[]
  /** Private instance members: if there are any, instances cannot be rebuilt. */
  readonly instancePrivates: readonly string[]
}

/** Finds the parts of functions. */
export interface FunctionAnalyst {
  /** The current parts of `fn`, or why it cannot be sent. Never throws. */
  partsOf(fn: AnyFunction): FunctionParts | Refusal
  /**
   * What a function that cannot be sent is to its class; undefined if it is not certain which of
   * these classes, or of those that its variables hold, that is. Never throws.
   */
  memberOf(fn: AnyFunction, classes: Iterable<AnyFunction>): ClassMember | undefined
  /**
   * Called when the value of a captured variable cannot be sent. Returns true if the variable is a
   * constant that can be re-created where it arrives; `partsOf` then includes it in that form. A
   * text says why it cannot be re-created; false: it is not such a constant at all. `member`: the
   * property of the value that cannot be sent, which is a separate variable if the value is a
   * module.
   */
  remake(fn: AnyFunction, name: string, member?: string): boolean | string
  /** Whether `partsOf` returns the same for the function as long as `version` does not change. */
  isConstant(fn: AnyFunction): boolean
  /** Grows with each registration that may change the parts of functions. */
  readonly version: number
  /** The export that can be imported instead of sending an object: a whole module. Never throws. */
  referenceOf(object: object): ExportReference | undefined
  /** Whether a `WeakMap` in a scope of the imported class has contents of the object. */
  keepsContents(constructor: AnyFunction, object: object): boolean
  /** The getters of exports that a module changes, by name, for its namespace. */
  gettersOf(namespace: object): ReadonlyMap<string, AnyFunction>
  /**
   * Called after a shipment is written. Cells that two functions have under different keys may
   * still be one variable. Returns whether the keys that `partsOf` gave for these functions are
   * certain; if not, `partsOf` returns certain ones from now on, and the shipment must be written
   * again.
   */
  settle(functions: Iterable<AnyFunction>): 'certain' | 'again' | Refusal
  /** `url:line`, counted from 1, of a position in a script: in the file as it was written. */
  placeOf(url: string, place: TextPlace): string
}

/**
 * The capture for a name of the code; undefined if there is none. Captures are in the order of the
 * names, but globals have none.
 */
export function captureOf({ code, captures }: SourceParts, index: number): Capture | undefined {
  const name = code.names[index]?.name
  const capture = captures[index]
  return capture?.name === name ? capture : captures.find((other) => other.name === name)
}

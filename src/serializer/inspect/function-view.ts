// What V8 tells about a function that exists. Types only; `inspector.ts` asks.

/** Where V8 has the text of a function. */
export interface FunctionLocation {
  readonly scriptId: string
  /** Of the place where its parameters (or its class's constructor) begin; from 0. */
  readonly line: number
  readonly column: number
}

/** The variables of one scope around a function. */
export interface ScopeView {
  readonly type:
    'module' | 'closure' | 'block' | 'catch' | 'class' | 'script' | 'with' | 'global' | 'other'
  /**
   * Names to values, as they were when it was made. Reading one, or its property descriptor,
   * throws where the variable is not initialised yet (in Node 20 it is `undefined` instead);
   * `Object.hasOwn` and `Object.keys` do not. It has no prototype. Neither `this`, nor
   * `new.target`, nor the name of a function expression is in it. Empty for `with`, the object
   * being the user's own.
   */
  readonly variables: Readonly<Record<string, unknown>>
}

/** One function from inside. */
export interface FunctionView {
  readonly location: FunctionLocation | undefined
  /**
   * Inner scopes first. Without the global scope. To be read in the turn in which it was asked for:
   * later they show later values.
   */
  readonly scopes: readonly ScopeView[]
}

/** A function that `bind` made. */
export interface BoundView {
  readonly target: (...parameters: never[]) => unknown
  readonly self: unknown
  readonly parameters: readonly unknown[]
}

/** A script that V8 has compiled. */
export interface Script {
  readonly id: string
  /** A `file:` URL (of CommonJS files, too), `node:…`, anything else, or empty. */
  readonly url: string
  readonly source: string
  /** Where the source begins in the coordinates of locations. */
  readonly startLine: number
  readonly startColumn: number
  readonly isModule: boolean
  /** As the script itself says it (`data:` too); empty if it does not. */
  readonly sourceMapUrl: string
}

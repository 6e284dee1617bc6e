// A case of the matrix: a function, how to call it, and the expected result. Types only, so that
// the case files mean the same in every environment.

/** A feature that an environment may lack; a case that needs it is not run there. */
export type Feature =
  /** Modules: `import.meta` and `await` outside of functions. */
  | 'modules'
  /** CommonJS code that is not strict. */
  | 'sloppy'
  /** Code that was written as an ES module is strict. */
  | 'strict'
  /** Every source file is a separate file: `__filename`, relative `require`. */
  | 'files'
  /** Files have the names in imports: a worker without the user's tools finds them. */
  | 'names'
  /** Packages are imported, not part of a bundle. */
  | 'packages'

/** Where the program of an environment is. */
export interface Place {
  /** The folder of the program's files, without a slash at its end. */
  readonly folder: string
}

/** Anything that can be shipped and called. */
export type Shippable = (...parameters: never[]) => unknown

/**
 * Serializes a function and its arguments, has another process call it, and returns the result, or
 * throws the error.
 */
export type Ship = (fn: Shippable, ...args: readonly unknown[]) => Promise<unknown>

interface Described {
  readonly name: string
  readonly needs?: readonly Feature[]
  /** A refusal with such a message is also correct. */
  readonly mayBeRefused?: RegExp
  /** One of the few that are also run on a real cluster. Must not depend on changed captures. */
  readonly isSmoke?: boolean
}

interface Called extends Described {
  readonly fn: Shippable
  readonly args?: readonly unknown[]
}

/** The result equals `want`, strictly and deeply. */
export interface WantCase extends Called {
  readonly want: unknown
}

/** `check` throws if the result is wrong. */
export interface CheckCase extends Called {
  readonly check: (result: unknown, place: Place) => void | Promise<void>
}

/** The function throws; `throws` throws if the error is wrong. */
export interface ThrowsCase extends Called {
  readonly throws: (thrown: unknown, place: Place) => void
}

/** It must be refused on the client, with such a message. */
export interface RefusedCase extends Called {
  readonly refused: RegExp
}

/** Several shipments, with code around them. */
export interface ScenarioCase extends Described {
  readonly scenario: (ship: Ship, place: Place) => Promise<void>
}

/** One case. */
export type Case = WantCase | CheckCase | ThrowsCase | RefusedCase | ScenarioCase

/** The outcome of a case. */
export interface Outcome {
  readonly name: string
  readonly result: Result
  /** Details of a failure, or the reason of a refusal. */
  readonly detail: string
  readonly durationMs: number
}

/** How a case can end. */
export type Result =
  | 'right'
  /** It was refused, as expected. */
  | 'refused'
  /** It was refused, which is allowed: a result would be better. */
  | 'declined'
  | 'failed'
  /** The environment lacks something that it needs. */
  | 'not run'

/** The outcomes of all cases, as the program writes them. */
export interface Report {
  readonly nodeVersion: string
  readonly cases: readonly Outcome[]
  /** The cases that were also run on a cluster; none unless requested. */
  readonly smoke: readonly Outcome[]
}

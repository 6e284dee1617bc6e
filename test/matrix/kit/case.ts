// What a case of the matrix is: a function, how to call it, and what must come of it. Types only, so
// that the case files mean the same in every environment.

/** Something that an environment may lack; a case that needs it is not run there. */
export type Feature =
  /** Modules: `import.meta` and `await` outside of functions. */
  | 'modules'
  /** CommonJS code that is not strict. */
  | 'sloppy'
  /** What was written as an ES module is strict. */
  | 'strict'
  /** Every source file is a file of its own: `__filename`, relative `require`. */
  | 'files'
  /** Files have the names that imports give them: a worker without the user's tools finds them. */
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
 * throws what came back instead of one.
 */
export type Ship = (fn: Shippable, ...args: readonly unknown[]) => Promise<unknown>

interface Described {
  readonly name: string
  readonly needs?: readonly Feature[]
  /** To refuse with such a message is right, too. */
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

/** The function throws; `throws` throws if that is wrong. */
export interface ThrowsCase extends Called {
  readonly throws: (thrown: unknown, place: Place) => void
}

/** It must be refused on the client, with such a message. */
export interface RefusedCase extends Called {
  readonly refused: RegExp
}

/** Several shipments, or things around them. */
export interface ScenarioCase extends Described {
  readonly scenario: (ship: Ship, place: Place) => Promise<void>
}

/** One case. */
export type Case = WantCase | CheckCase | ThrowsCase | RefusedCase | ScenarioCase

/** What came of a case. */
export interface Outcome {
  readonly name: string
  readonly result: Result
  /** More of it if it failed, and why it was refused. */
  readonly detail: string
  readonly durationMs: number
}

/** How a case can end. */
export type Result =
  | 'right'
  /** It was refused, as it must be. */
  | 'refused'
  /** It was refused, as it may be: right would be better. */
  | 'declined'
  | 'failed'
  /** The environment lacks something that it needs. */
  | 'not run'

/** What came of all, as the program writes it. */
export interface Report {
  readonly nodeVersion: string
  readonly cases: readonly Outcome[]
  /** The cases that were also run on a cluster; none if that was not asked for. */
  readonly smoke: readonly Outcome[]
}

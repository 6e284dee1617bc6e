// Which context holds the variables of which scope. V8 lists a scope for each context, but leaves
// out those in which nothing has a name that a program could use: of `this` in an arrow function,
// of private names. Names tell what belongs together; where they do not, nothing is said.

import type { ScopeView } from './function-view.js'
import type { ContextChain, HeapContext } from './heap-graph.js'

/**
 * From 75 names on, of which some are not listed, V8 keeps them in a table, which is not read.
 */
const MIN_TABLE_NAMES = 70

/**
 * The context of each scope, or undefined where there is not exactly one way to put them together.
 * The scope of scripts, which all of a realm share, gets the root of the chain.
 */
export function alignContexts(
  { contexts, root }: ContextChain,
  scopes: readonly ScopeView[],
): readonly number[] | undefined {
  const own = scopes.filter(({ type }) => type !== 'script')
  // It comes last, if there is one at all.
  if (scopes.slice(0, own.length).some(({ type }) => type === 'script')) return undefined
  const script = scopes.length > own.length ? scopes[own.length] : undefined
  const ways = new Alignment(contexts, own, script).ways()
  const [way] = ways
  if (way === undefined || ways.length > 1) return undefined
  return scopes.map((_, at) => way[at] ?? root)
}

/** The search for all ways to put contexts and scopes together, in order. */
class Alignment {
  readonly #contexts: readonly HeapContext[]
  readonly #scopes: readonly ScopeView[]
  readonly #script: ScopeView | undefined
  readonly #found: (readonly number[])[] = []

  constructor(
    contexts: readonly HeapContext[],
    scopes: readonly ScopeView[],
    script: ScopeView | undefined,
  ) {
    this.#contexts = contexts
    this.#scopes = scopes
    this.#script = script
  }

  /** At most two: more do not matter. */
  ways(): readonly (readonly number[])[] {
    this.#search(0, [])
    return this.#found
  }

  #search(at: number, nodes: readonly number[]): void {
    if (this.#found.length > 1 || this.#contexts.length - at < this.#scopes.length - nodes.length) {
      return
    }
    const context = this.#contexts[at]
    if (context === undefined) {
      this.#found.push(nodes)
      return
    }
    const scope = this.#scopes[nodes.length]
    if (scope !== undefined && holds(context, scope)) {
      this.#search(at + 1, [...nodes, context.node])
    }
    const isLast = at === this.#contexts.length - 1
    if (isUnlisted(context) || (isLast && isOfScript(context, this.#script))) {
      this.#search(at + 1, nodes)
    }
  }
}

/** Whether the variables of the scope can be those in the context. */
function holds({ names, extension }: HeapContext, { type, variables }: ScopeView): boolean {
  if (type === 'with') return extension === 'object' && names?.length === 0
  if ((type === 'module') !== (extension === 'module')) return false
  const listed = new Set(Object.keys(variables).map(asInSnapshot))
  if (names === undefined) return listed.size >= MIN_TABLE_NAMES
  return readings(names).some(
    (reading) =>
      reading.every((name) => listed.has(name)) &&
      (extension === 'object' || type === 'module' || reading.length === listed.size),
  )
}

/** Whether V8 would list no scope for the context. */
function isUnlisted({ names }: HeapContext): boolean {
  return names !== undefined && readings(names).some(({ length }) => length === 0)
}

/** Whether it is the context of a script: one of those that are listed together. */
function isOfScript({ names }: HeapContext, script: ScopeView | undefined): boolean {
  if (script === undefined) return false
  return (
    names === undefined ||
    readings(names).some((reading) =>
      reading.every((name) => Object.hasOwn(script.variables, name)),
    )
  )
}

/**
 * The variables that a program can name, in all that `names` can mean: the last may be the name of
 * a function expression, which V8 does not list, or the one before, if there is room for an
 * extension.
 */
function readings(names: readonly string[]): readonly (readonly string[])[] {
  const counts = [names.length, names.length - 1, names.length - 2].filter((count) => count >= 0)
  return counts.map((count) => [...new Set(names.slice(0, count).filter(isListed))])
}

function isListed(name: string): boolean {
  return name !== '' && name !== 'this' && !/^[.#]/.test(name)
}

/** V8 writes of each character the last 16 bits into a snapshot. */
function asInSnapshot(name: string): string {
  return String.fromCharCode(...Array.from(name, (character) => character.codePointAt(0) ?? 0))
}

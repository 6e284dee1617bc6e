// Which captured variables are the same variable. A top-level declaration of an ES module is one
// variable; a declaration in a function is a new one for each call, and two closures over the same
// name may or may not share it. V8 shows values, not the identity of variables, so it is determined
// from the values that the closures see at one moment:
//
// - Different values, of the variable itself or of any other one in its scope or around it, belong
//   to different variables.
// - Functions that the same place makes, once in each call, belong to different calls.
// - A witness is set once for each instance of a scope, to an object that is created for it. If two
//   closures see the same object there, they have captured the same instance of that scope, and so
//   of the scopes around it.
//
// Where neither decides, the closures are refused. Variables at the top of a module that is a
// function, as CommonJS files are, are an exception: they count as shared unless values differ. So
// if such a file was loaded again, and nothing shows a difference, its two copies count as one.

import type { Inspector, ScopeView } from '../inspect/inspector.js'
import type { AnyFunction } from '../module/native.js'
import { Refusal } from '../refusal.js'
import type { Binding, FreeName } from '../source/sites.js'
import type { CellKey } from './parts.js'
import type { CaptureOwner } from './remade.js'

type Signs = Pick<FreeName, 'isAssigned' | 'innerWitnesses' | 'isApart'>

/** A variable of a call that a function has captured. */
interface CapturedCell {
  readonly fn: AnyFunction
  readonly binding: Binding
  /** The index of its scope in the function's scopes. */
  readonly scope: number
  /** Whether the function itself assigns it, or one that is made in its place (`OwnNames`). */
  isAssigned: boolean
  readonly innerWitnesses: readonly string[]
  /** The place where `fn` was made, if each function made there has another variable. */
  apart: Signs | undefined
  key: CellKey
  /** The comparison that gave the key; keys from the same comparison are certain. */
  comparison: number
}

/** Cells that are certainly one variable, and the scopes as one of their functions sees them. */
interface SameCells {
  readonly cells: CapturedCell[]
  readonly scope: number
  readonly scopes: readonly ScopeView[]
}

/** The part of the inspector that shows variables. */
export type VariableSource = Pick<Inspector, 'functionView'>

/** The captured variables of calls, by function. */
export class CellKeys {
  readonly #source: VariableSource
  #comparisons = 0
  readonly #cells = new WeakMap<AnyFunction, Map<Binding, CapturedCell>>()

  constructor(source: VariableSource) {
    this.#source = source
  }

  /** The key of a variable; `scope` is the index of its scope in the function's scopes. */
  keyOf(
    { fn, isStandIn = false }: Pick<CaptureOwner, 'fn' | 'isStandIn'>,
    binding: Binding,
    scope: number,
    free: Signs,
  ): CellKey {
    if (binding.isOnce && !binding.isOfModuleFunction) return binding
    let cells = this.#cells.get(fn)
    if (cells === undefined) this.#cells.set(fn, (cells = new Map<Binding, CapturedCell>()))
    let cell = cells.get(binding)
    if (cell === undefined) {
      const { isAssigned, innerWitnesses } = free
      const about = { fn, binding, scope, isAssigned, innerWitnesses }
      cell = { ...about, apart: undefined, key: {}, comparison: 0 }
      cells.set(binding, cell)
    } else if (free.isAssigned) cell.isAssigned = true
    if (free.isApart && !isStandIn) cell.apart = free
    return cell.key
  }

  /** See `FunctionAnalyst.settle`. */
  settle(functions: Iterable<AnyFunction>): 'certain' | 'again' | Refusal {
    const doubtful = this.#doubtful(functions)
    if (doubtful.size === 0) return 'certain'
    this.#comparisons += 1
    const viewOf = this.#views()
    for (const [binding, cells] of doubtful) {
      const groups = groupsOf(cells, viewOf)
      for (const { cells: same } of groups) unite(same)
      for (const set of differing(groups).filter(isUndecided)) {
        if (areApart(set)) continue
        if (!binding.isOfModuleFunction) return refuseDoubt(binding)
        unite(set.flatMap(({ cells: same }) => same))
      }
    }
    for (const cell of [...doubtful.values()].flat()) cell.comparison = this.#comparisons
    return 'again'
  }

  /** Variables that several functions have captured and one assigns, until they are compared. */
  #doubtful(functions: Iterable<AnyFunction>): Map<Binding, CapturedCell[]> {
    const groups = new Map<Binding, CapturedCell[]>()
    for (const fn of new Set(functions)) {
      for (const [binding, cell] of this.#cells.get(fn) ?? []) {
        const group = groups.get(binding)
        if (group === undefined) groups.set(binding, [cell])
        else group.push(cell)
      }
    }
    for (const [binding, group] of groups) {
      const comparison = group[0]?.comparison ?? 0
      const isCompared = comparison > 0 && group.every((cell) => cell.comparison === comparison)
      const isOpen = group.length > 1 && group.some(({ isAssigned }) => isAssigned)
      if (!isOpen || isCompared) groups.delete(binding)
    }
    return groups
  }

  /** The scopes of functions. No code of the user runs meanwhile, so all show the same moment. */
  #views(): (fn: AnyFunction) => readonly ScopeView[] {
    const views = new Map<AnyFunction, readonly ScopeView[]>()
    return (fn) => {
      const known = views.get(fn)
      if (known !== undefined) return known
      const scopes = this.#scopesOf(fn)
      views.set(fn, scopes)
      return scopes
    }
  }

  #scopesOf(fn: AnyFunction): readonly ScopeView[] {
    try {
      return this.#source.functionView(fn).scopes
    } catch {
      return []
    }
  }
}

/**
 * Puts cells together that are one variable according to a witness. Each of its objects was created
 * in one instance of the variable's scope.
 */
function groupsOf(
  cells: readonly CapturedCell[],
  viewOf: (fn: AnyFunction) => readonly ScopeView[],
): readonly SameCells[] {
  const groups = new Set<SameCells>()
  const groupOf = new Map<unknown, SameCells>()
  for (const cell of cells) {
    const scopes = viewOf(cell.fn)
    const seen = witnessesOf(cell, scopes)
    const known = new Set(seen.flatMap((object) => groupOf.get(object) ?? []))
    const [group = { cells: [], scope: cell.scope, scopes }, ...others] = known
    group.cells.push(cell)
    groups.add(group)
    for (const object of seen) groupOf.set(object, group)
    for (const other of others) {
      group.cells.push(...other.cells)
      groups.delete(other)
      for (const [object, at] of groupOf) if (at === other) groupOf.set(object, group)
    }
  }
  return [...groups]
}

/** The objects in the witnesses that a function sees; those not set yet are left out. */
function witnessesOf(
  { binding, scope, innerWitnesses }: CapturedCell,
  scopes: readonly ScopeView[],
): readonly unknown[] {
  const beside = binding.witnesses.map((name) => valueIn(scopes[scope], name))
  const inside = innerWitnesses.map((name) => {
    const view = scopes.slice(0, scope).find(({ variables }) => Object.hasOwn(variables, name))
    return valueIn(view, name)
  })
  return [...beside, ...inside].filter(isUnique)
}

/** Numbers and other primitives are equal without being the same. */
function isUnique(value: unknown): boolean {
  return Object(value) === value || typeof value === 'symbol'
}

/**
 * Takes groups apart that see different values. One variable has one scope, and that has the same
 * scopes around it, whichever function is asked.
 */
function differing(groups: readonly SameCells[]): readonly (readonly SameCells[])[] {
  let sets = [groups]
  for (let distance = 0; ; distance += 1) {
    const views = groups.map(({ scope, scopes }) => scopes[scope + distance])
    const [first] = views
    // All closures of a script see the same module.
    if (!sets.some(isUndecided) || first === undefined || first.type === 'module') return sets
    for (const name of Object.keys(first.variables)) {
      if (!views.every((view) => view !== undefined && Object.hasOwn(view.variables, name)))
        continue
      const viewOf = ({ scope, scopes }: SameCells): unknown =>
        valueIn(scopes[scope + distance], name)
      sets = sets.flatMap((set) => groupBy(set, viewOf))
    }
  }
}

function groupBy<T>(all: readonly T[], keyOf: (each: T) => unknown): readonly (readonly T[])[] {
  const groups = new Map<unknown, T[]>()
  for (const each of all) {
    const key = keyOf(each)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [each])
    else group.push(each)
  }
  return [...groups.values()]
}

/** Whether it matters which of the groups are one variable. */
function isUndecided(groups: readonly SameCells[]): boolean {
  return groups.length > 1 && groups.some(({ cells }) => cells.some((cell) => cell.isAssigned))
}

/** Whether all have a function made at one place where each has another variable. */
function areApart([first, ...others]: readonly SameCells[]): boolean {
  return (first?.cells ?? []).some(
    ({ apart }) =>
      apart !== undefined &&
      others.every(({ cells }) => cells.some((cell) => cell.apart === apart)),
  )
}

/** Undefined for a variable that is not initialized yet. */
function valueIn(view: ScopeView | undefined, name: string): unknown {
  try {
    return view?.variables[name]
  } catch {
    return undefined
  }
}

/**
 * A key that one of them already has is kept, because cells that are not in this list may have it.
 */
function unite(cells: readonly CapturedCell[]): void {
  const key = cells.find(({ comparison }) => comparison > 0)?.key ?? cells[0]?.key ?? {}
  for (const cell of cells) cell.key = key
}

function refuseDoubt({ name }: Binding): Refusal {
  return new Refusal(
    `the variable ${name}`,
    'several functions use it, one of them changes it, and whether they share it is unknown',
    `keep it in an object that they all use (\`const state = { ${name} }\`), ` +
      'or declare a `const` with an object literal or a function next to it, and use it in them',
  )
}

// Which captured variables are the same variable. A top-level declaration of a script is one
// variable; a declaration in a function is a new one for each call, and two closures over the same
// name may or may not share it. Where that matters, it is determined from other captures: an object
// that each call creates. If there is none, one closure assigns the variable, the others are read,
// and the original value is restored before any other code runs.

import type { Inspector } from '../inspect/inspector.js'
import type { VariableAccess } from '../inspect/variables.js'
import { ownValue, type AnyFunction } from '../module/native.js'
import { Refusal } from '../refusal.js'
import type { Binding } from '../source/sites.js'
import { isFunction, parseFunctionText } from '../source/parse.js'
import type { CellKey } from './parts.js'

/** At most this many variables are searched for in one shipment: each takes about 2 ms. */
const MAX_SEARCHES = 8

/** A variable of a call that a function has captured. */
interface CapturedCell {
  readonly fn: AnyFunction
  readonly binding: Binding
  /** The index of its scope in the function's scopes. */
  readonly scope: number
  /** Whether the function itself assigns it. */
  readonly isAssigned: boolean
  key: CellKey
  /** The comparison that gave the key; keys from the same comparison are certain. */
  comparison: number
  access: VariableAccess | undefined
}

/** Cells that hold the same value. */
type CellBucket = readonly [CapturedCell, ...CapturedCell[]]

/** The parts of the inspector that identify variables. */
export type VariableSource = Pick<Inspector, 'functionView' | 'accessTo' | 'searching'>

/** The captured variables of calls, by function. */
export class CellKeys {
  readonly #source: VariableSource
  #comparisons = 0
  #searches = 0
  readonly #cells = new WeakMap<AnyFunction, Map<Binding, CapturedCell>>()

  constructor(source: VariableSource) {
    this.#source = source
  }

  /** The key of a variable; `scope` is the index of its scope in the function's scopes. */
  keyOf(fn: AnyFunction, binding: Binding, scope: number, isAssigned: boolean): CellKey {
    if (binding.isOnce) return binding
    let cells = this.#cells.get(fn)
    if (cells === undefined) this.#cells.set(fn, (cells = new Map<Binding, CapturedCell>()))
    let cell = cells.get(binding)
    if (cell === undefined) {
      cell = { fn, binding, scope, isAssigned, key: {}, comparison: 0, access: undefined }
      cells.set(binding, cell)
    }
    return cell.key
  }

  /** See `FunctionAnalyst.settle`. */
  settle(functions: Iterable<AnyFunction>): 'certain' | 'again' | Refusal {
    const doubtful = this.#doubtful(functions)
    if (doubtful.size === 0) return 'certain'
    this.#searches = 0
    this.#comparisons += 1
    const open = [...doubtful.values()]
      .flatMap((cells) => this.#byValue(cells).filter(isOpen))
      .filter((cells) => !this.#isDecided(cells))
    // V8 is slow during a search, so nothing else is done meanwhile.
    if (open.length > 0) {
      this.#source.searching(() => {
        for (const cells of open) this.#accessTo(cells)
      })
    }
    for (const cells of open) {
      const [{ binding }] = cells
      if (!this.#compare(cells)) return refuseDoubt(binding)
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
      if (!isOpen(group) || isCompared) groups.delete(binding)
    }
    return groups
  }

  /** Only cells with the same current value can be one variable. */
  #byValue(cells: readonly CapturedCell[]): CellBucket[] {
    const buckets = new Map<unknown, [CapturedCell, ...CapturedCell[]]>()
    for (const cell of cells) {
      const value = this.#valueOf(cell)
      const bucket = buckets.get(value)
      if (bucket === undefined) buckets.set(value, [cell])
      else bucket.push(cell)
    }
    return [...buckets.values()]
  }

  /** Whether other captures show which are one variable: those get the same key. */
  #isDecided(cells: CellBucket): boolean {
    const [{ binding }] = cells
    if (binding.witness === undefined) return false
    const groups = new Map<unknown, CapturedCell[]>()
    for (const cell of cells) {
      const witness = this.#valueOf(cell, binding.witness)
      if (witness === undefined) return false
      const group = groups.get(witness)
      if (group === undefined) groups.set(witness, [cell])
      else group.push(cell)
    }
    for (const group of groups.values()) unite(group)
    return true
  }

  /** Gives cells that are one variable the same key. Returns false if that is not certain. */
  #compare(cells: readonly CapturedCell[]): boolean {
    let left = [...cells]
    while (isOpen(left)) {
      const access = this.#accessTo(left)
      if (access === undefined) return false
      const same = new Set(this.#sharing(access, left))
      unite(left.filter((one) => same.has(one)))
      if (same.size === 0) return false
      left = left.filter((one) => !same.has(one))
    }
    return true
  }

  /** The cells that are this variable. */
  #sharing(access: VariableAccess, cells: readonly CapturedCell[]): readonly CapturedCell[] {
    const mark = {}
    let before: unknown
    try {
      before = access.get()
      access.set(mark)
    } catch {
      // It is a different variable of the same name, which is not initialized yet.
      return []
    }
    try {
      return cells.filter((cell) => this.#valueOf(cell) === mark)
    } finally {
      access.set(before)
    }
  }

  #accessTo(cells: readonly CapturedCell[]): VariableAccess | undefined {
    const known = cells.find(({ access }) => access !== undefined)
    if (known !== undefined) return known.access
    for (const cell of cells) {
      for (const fn of enterable(cell.fn)) {
        if (this.#searches >= MAX_SEARCHES) return undefined
        this.#searches += 1
        cell.access = this.#source.accessTo(fn, cell.binding.name)
        if (cell.access !== undefined) return cell.access
      }
    }
    return undefined
  }

  #valueOf({ fn, scope, binding }: CapturedCell, name: string = binding.name): unknown {
    try {
      return this.#source.functionView(fn).scopes[scope]?.variables[name]
    } catch {
      return undefined
    }
  }
}

/** Whether it matters which of the cells are one. */
function isOpen(cells: readonly CapturedCell[]): boolean {
  return cells.length > 1 && cells.some(({ isAssigned }) => isAssigned)
}

/**
 * A key that one of them already has is kept, because cells that are not in this list may have it.
 */
function unite(cells: readonly CapturedCell[]): void {
  const key = cells.find(({ comparison }) => comparison > 0)?.key ?? cells[0]?.key ?? {}
  for (const cell of cells) cell.key = key
}

/** The function, if entering it runs no code before its body; for a class, such methods. */
export function* enterable(fn: AnyFunction): Generator<AnyFunction> {
  const text = Function.prototype.toString.call(fn)
  const parsed = parseFunctionText(text, true) ?? parseFunctionText(text, false)
  if (parsed === undefined) return
  const { root } = parsed
  if (isFunction(root)) {
    const isSimple = root.params.every(({ type }) => type === 'Identifier')
    if (isSimple && !root.generator) yield fn
    return
  }
  for (const owner of [ownValue(fn, 'prototype'), fn]) {
    if (owner === null || (typeof owner !== 'object' && typeof owner !== 'function')) continue
    for (const property of Object.values(Object.getOwnPropertyDescriptors(owner))) {
      for (const member of Object.values({ ...property } as Record<string, unknown>)) {
        const isOther = typeof member === 'function' && member !== fn
        if (isOther && !/^class\b/.test(Function.prototype.toString.call(member))) {
          yield* enterable(member as AnyFunction)
        }
      }
    }
  }
}

function refuseDoubt({ name }: Binding): Refusal {
  return new Refusal(
    `the variable ${name}`,
    'several functions use it, one of them changes it, and whether they share it is unknown',
    'keep it in an object that they all use, or pass one object that has the functions as methods',
  )
}

// Which variables are one. What is declared once in a script is one variable; what a call declares
// is another one at each call, and two closures over the same name may or may not share it. Only a
// heap snapshot can tell, so it is asked when, and only when, the answer matters.

import type { HeapExcess } from '../inspect/context-finder.js'
import type { Inspector } from '../inspect/inspector.js'
import type { AnyFunction } from '../native-names.js'
import { Refusal } from '../refusal.js'
import type { Binding } from '../source/function-site.js'
import type { CellKey } from './function-parts.js'

/** A variable of a call that a function captured. */
export interface CapturedCell {
  readonly binding: Binding
  /** The place of its scope in the function's scopes. */
  readonly scope: number
  /** Whether the function itself assigns it. */
  readonly isAssigned: boolean
  key: CellKey
  /** The snapshot that gave the key; those of one snapshot can be compared. */
  snapshot: number
}

/** What tells which variables are one. */
export type ContextSource = Pick<Inspector, 'contextsOf' | 'heapExcess'>

/** The captured variables of calls, by function. */
export class CellKeys {
  readonly #inspector: ContextSource
  #snapshots = 0
  readonly #cells = new WeakMap<AnyFunction, Map<Binding, CapturedCell>>()

  constructor(inspector: ContextSource) {
    this.#inspector = inspector
  }

  /** The key of a variable; `scope` is the place of its scope in the function's scopes. */
  keyOf(fn: AnyFunction, binding: Binding, scope: number, isAssigned: boolean): CellKey {
    if (binding.isOnce) return binding
    let cells = this.#cells.get(fn)
    if (cells === undefined) this.#cells.set(fn, (cells = new Map<Binding, CapturedCell>()))
    let cell = cells.get(binding)
    if (cell === undefined) {
      cell = { binding, scope, isAssigned, key: {}, snapshot: 0 }
      cells.set(binding, cell)
    }
    return cell.key
  }

  /** See `FunctionAnalyst.settle`. */
  settle(functions: Iterable<AnyFunction>): 'certain' | 'again' | Refusal {
    const doubtful = this.#doubtful(functions)
    if (doubtful.size === 0) return 'certain'
    const members = new Set<AnyFunction>()
    for (const group of doubtful.values()) for (const { fn } of group) members.add(fn)
    const contexts = this.#inspector.contextsOf([...members])
    this.#snapshots += 1
    for (const [binding, group] of doubtful) {
      const byContext = new Map<number, CapturedCell[]>()
      for (const { fn, cell } of group) {
        const context = contexts?.get(fn)?.[cell.scope]
        if (context === undefined) return refuseDoubt(binding, this.#inspector.heapExcess)
        const others = byContext.get(context)
        if (others === undefined) byContext.set(context, [cell])
        else others.push(cell)
      }
      for (const cells of byContext.values()) unite(cells, this.#snapshots)
    }
    return 'again'
  }

  /** Variables that several functions have and one assigns, as long as nobody has compared them. */
  #doubtful(
    functions: Iterable<AnyFunction>,
  ): Map<Binding, { readonly fn: AnyFunction; readonly cell: CapturedCell }[]> {
    const groups = new Map<Binding, { readonly fn: AnyFunction; readonly cell: CapturedCell }[]>()
    for (const fn of new Set(functions)) {
      for (const [binding, cell] of this.#cells.get(fn) ?? []) {
        const group = groups.get(binding)
        if (group === undefined) groups.set(binding, [{ fn, cell }])
        else group.push({ fn, cell })
      }
    }
    for (const [binding, group] of groups) {
      const isShared = group.length > 1 && group.some(({ cell }) => cell.isAssigned)
      const snapshot = group[0]?.cell.snapshot ?? 0
      const isCompared = snapshot > 0 && group.every(({ cell }) => cell.snapshot === snapshot)
      if (!isShared || isCompared) groups.delete(binding)
    }
    return groups
  }
}

/** A key that one of them got from a snapshot stays: others that are not here may have it. */
function unite(cells: readonly CapturedCell[], snapshot: number): void {
  const key = cells.find((cell) => cell.snapshot > 0)?.key ?? {}
  for (const cell of cells) {
    cell.key = key
    cell.snapshot = snapshot
  }
}

function refuseDoubt({ name }: Binding, excess: HeapExcess | undefined): Refusal {
  const why =
    'several functions use it, one of them changes it, and it cannot be told whether they share it'
  return new Refusal(
    `the variable ${name}`,
    excess === undefined ? why : `${why}: ${excessText(excess)}`,
    'keep it in an object that they all use, or pass one object that has the functions as methods',
  )
}

function excessText({ heapBytes, limitBytes }: HeapExcess): string {
  const [heap, limit] = [heapBytes, limitBytes].map((bytes) => Math.ceil(bytes / 1024 ** 2))
  return `only a snapshot of the heap shows it; that has ${heap} MiB, and the limit is ${limit} MiB`
}

// Witnesses: variables that show which instance of a scope a function has captured. Each instance
// sets a witness once, to an object that is created for it. So two functions that see the same
// object have captured the same instance of the scope, and of all scopes around it.

import { isNeverAssigned, type Scope, type Variable } from './scope.js'
import type { MemberSite } from './sites.js'

const NO_NAMES: readonly string[] = []

/** The witnesses beside a variable that closures assign. */
export function witnessesOf({ scope, isAssignedWithin }: Variable): readonly string[] {
  if (!isAssignedWithin || scope.isTop) return NO_NAMES
  return [...(scope.variables?.values() ?? [])].filter(isWitness).map(({ name }) => name)
}

/** The witnesses in the scopes between a function, which is in `place`, and a variable. */
export function innerWitnesses(place: Scope, name: string): readonly string[] {
  const { scope: end, isAssignedWithin = false } = place.find(name) ?? {}
  if (end === undefined || end.isTop || !isAssignedWithin) return NO_NAMES
  const found = new Set<string>()
  const names = new Set<string>()
  for (let scope: Scope | undefined = place; scope !== end; scope = scope.parent) {
    if (scope === undefined || scope.hasEval || scope.hasEvalWithin) return NO_NAMES
    for (const variable of scope.variables?.values() ?? []) {
      // V8 may show only one of two variables of the same name.
      if (!names.has(variable.name) && isWitness(variable)) found.add(variable.name)
      else found.delete(variable.name)
      names.add(variable.name)
    }
  }
  return [...found]
}

/** Whether a variable belongs to the call that makes a function in `place`. */
export function isOfCall(place: Scope, name: string): boolean {
  const { owner } = place.find(name)?.scope ?? {}
  return owner === place.owner && !owner.isTop && !isInUnclearPlace(place)
}

function isWitness(variable: Variable): boolean {
  const { kind, scope, isCaptured, isFresh, freshVia } = variable
  if (!isCaptured || !isNeverAssigned(variable) || isInUnclearPlace(scope)) return false
  // No text that is evaluated assigns the helpers of a compiler.
  if (freshVia.some(({ isAssigned }) => isAssigned)) return false
  switch (kind) {
    case 'const':
      return isFresh
    case 'let':
      return isFresh && !scope.isLoopHead
    case 'var':
      return isFresh
    case 'class':
      return true
    case 'function':
      // A sloppy block also assigns it outside, and V8 does not show the name of an expression.
      return scope.kind !== 'name' && (scope.isStrict || scope.kind !== 'block')
    default:
      return false
  }
}

/** Whether names around a scope may mean something that the text does not show. */
function isInUnclearPlace(place: Scope): boolean {
  for (let scope: Scope | undefined = place; scope !== undefined; scope = scope.parent) {
    if (scope.hasEval || scope.kind === 'with') return true
  }
  return false
}

/**
 * What shows that a class and a method of its text were made by the same evaluation of that text:
 * either it is evaluated once per script, or they see the same object in one of these variables.
 * `own`: the scope of the class.
 */
export function evaluationOf(own: Scope): Pick<MemberSite, 'onceIn' | 'witnesses'> {
  const witnesses: string[] = []
  const counts = countsAround(own)
  for (const { name, isCaptured } of own.variables?.values() ?? []) {
    if (isCaptured && !counts.has(name)) witnesses.push(name)
  }
  for (let scope = own.parent; scope !== undefined; scope = scope.parent) {
    // A loop evaluates it again and again within the scopes around the loop.
    if (scope.isLoopHead) break
    for (const variable of scope.variables?.values() ?? []) {
      // V8 may show only one of two variables of the same name.
      const isAlone = counts.get(variable.name) === 1
      if (isAlone && isWitness(variable) && !isShared(variable)) witnesses.push(variable.name)
    }
    if (scope.owner === scope)
      return { onceIn: scope.isTop ? topKind(scope) : undefined, witnesses }
  }
  return { onceIn: undefined, witnesses }
}

/** Whether several evaluations of one script may have it in common, as those by `eval` do. */
function isShared({ kind, scope }: Variable): boolean {
  return scope.kind === 'script' && (kind === 'var' || kind === 'function')
}

function topKind({ kind }: Scope): MemberSite['onceIn'] {
  return kind === 'module' ? 'module' : 'file'
}

/** How many variables of each name are in the scopes around a class. */
function countsAround(own: Scope): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (let scope = own.parent; scope !== undefined; scope = scope.parent) {
    for (const name of scope.variables?.keys() ?? []) counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

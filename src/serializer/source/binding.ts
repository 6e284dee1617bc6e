// What is told about a variable once a whole script has been walked.

import type { Binding, ImportOrigin } from './function-site.js'
import type { LineIndex } from './line-index.js'
import type { Scope, Variable } from './scope.js'

/** The binding of a variable; the same object each time. */
export function bindingOf(variable: Variable, lines: LineIndex): Binding {
  return (variable.binding ??= makeBinding(variable, lines))
}

function makeBinding(variable: Variable, lines: LineIndex): Binding {
  const isConstant = isNeverAssigned(variable)
  return Object.freeze({
    name: variable.name,
    kind: variable.kind,
    isOnce: variable.scope.isTop,
    isConstant,
    isCell: isCell(variable),
    isInitialized: variable.isInitialized,
    isNeverUndefined: !variable.mayBeUndefined,
    literal: isConstant ? variable.literal : undefined,
    origin: isConstant ? originOf(variable) : undefined,
    isModuleObject: (isConstant && variable.isModuleObject) || isLateModule(variable),
    wrappedSpecifier: isConstant ? variable.wrappedSpecifier : undefined,
    isPrivateStore: isPrivateStore(variable),
    witness: witnessOf(variable),
    line: lines.lineOf(variable.position),
  })
}

/** The specifier means nothing if `require` may be another function. */
function originOf({ origin, originVia }: Variable): ImportOrigin | undefined {
  return originVia === undefined || isNeverAssigned(originVia) ? origin : undefined
}

/** Whether a variable has one value for ever, and its name means that variable for certain. */
export function isNeverAssigned(variable: Variable): boolean {
  const { scope, kind, isFixed } = variable
  if (variable.isAssigned || scope.hasSloppyEval) return false
  if (!isFixed && (scope.hasEval || scope.hasEvalWithin)) return false
  return !(kind === 'parameter' && scope.hasMappedArguments && variable.name !== 'arguments')
}

/** Bundlers set the variables of a module in a function, which is called when it is needed. */
function isLateModule(variable: Variable): boolean {
  const { isInitialized, assignCount, moduleCount } = variable
  return !isInitialized && assignCount === 1 && moduleCount === 1
}

function isPrivateStore({ storeCount, hasOtherUse }: Variable): boolean {
  return storeCount === 1 && !hasOtherUse
}

/** Not a `let`: of one in the head of a loop, each turn has a copy. */
function witnessOf({ scope, isAssignedWithin }: Variable): string | undefined {
  if (!isAssignedWithin || scope.isTop) return undefined
  for (const variable of scope.variables?.values() ?? []) {
    if (isWitness(variable)) return variable.name
  }
  return undefined
}

function isWitness(variable: Variable): boolean {
  const { kind, scope, isCaptured, isFresh } = variable
  if (!isCaptured || !isNeverAssigned(variable)) return false
  return (kind === 'const' && isFresh) || (kind === 'function' && scope.isStrict)
}

/** Whether closures can change it. */
export function isCell(variable: Variable): boolean {
  if (isLateModule(variable) || isPrivateStore(variable)) return false
  const isWithinReach = variable.scope.hasEvalWithin && !variable.isFixed
  return variable.isAssignedWithin || isWithinReach
}

/** Drops what no function can ask for, in this scope and those around it. */
export function prune(scope: Scope | undefined, done: Set<Scope>): void {
  for (let each = scope; each !== undefined && !done.has(each); each = each.parent) {
    done.add(each)
    if (each.isTop || each.variables === undefined) continue
    for (const [name, variable] of each.variables) {
      if (!variable.isCaptured) each.variables.delete(name)
    }
    if (each.variables.size === 0) each.variables = undefined
  }
}

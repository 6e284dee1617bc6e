// The variables that are a compiler's stand-ins for private names: a `WeakMap` or `WeakSet` for
// each, with the instances as keys. Their entries travel with the instances. A `WeakMap` of the
// user's own, such as a cache, does not: it is recognized by uses that compilers do not write.

import type * as acorn from 'acorn'
import { type ClassNode, type FunctionNode, isClassNode, type Node } from '../parse.js'
import { isComparison } from './evaluation.js'
import { storeMethod } from './operation.js'
import { isNamedCall, isOfInstance, Seen, StoreDecision } from './use.js'
import { namesIn, type Scope, type Variable } from '../scope.js'

/** `new WeakMap()` or `new WeakSet()`. */
export function makesWeakStore(node: Node, scope: Scope): boolean {
  if (node.type !== 'NewExpression' || node.callee.type !== 'Identifier') return false
  const { name } = node.callee
  const isWeak = name === 'WeakMap' || name === 'WeakSet'
  return isWeak && node.arguments.length === 0 && scope.find(name) === undefined
}

/** Only scripts with such a text are looked at. */
const MAKES_STORE = /\bnew\s+Weak(?:Map|Set)\b/

/** Where a walk is. */
interface Place {
  readonly scope: Scope
  /** The nodes around it, outermost first. */
  readonly ancestors: readonly Node[]
}

/** Collects the uses of variables during a walk over a script, and decides at its end. */
export class PrivateStores {
  /** Undefined if the script makes no stores. */
  #seen: Seen | undefined

  constructor(source: string) {
    this.#seen = MAKES_STORE.test(source) ? new Seen() : undefined
  }

  /** A function or class, which the nodes around it may give a name. */
  named(node: FunctionNode | ClassNode, { scope, ancestors }: Place, own?: Scope): void {
    const seen = this.#seen
    if (seen === undefined) return
    const parent = ancestors.at(-1)
    if (
      own !== undefined &&
      !isClassNode(node) &&
      parent?.type === 'CallExpression' &&
      parent.callee === node
    ) {
      seen.functions.set(node, { node, scope: own })
      return
    }
    // esbuild passes a function through another one that keeps its name.
    const isPassed = parent?.type === 'CallExpression' && parent.arguments[0] === node
    const name = isPassed ? nameOf(parent, ancestors.slice(0, -1)) : nameOf(node, ancestors)
    const variable = name === undefined ? undefined : scope.find(name)
    if (variable === undefined) return
    if (isPassed) seen.passed.set(variable, node)
    else if (isClassNode(node)) seen.classes.set(variable, node)
    else if (own !== undefined) seen.functions.set(variable, { node, scope: own })
  }

  /** A variable is read: sets `hasOtherUse` if no compiler uses a stand-in like that. */
  read(node: acorn.Identifier, variable: Variable, { scope, ancestors }: Place): void {
    const parent = ancestors.at(-1)
    const above = ancestors.at(-2)
    const seen = this.#seen
    const isNamed = isNamedUse(node, parent)
    const isOwn = isNamed || isUseByThis(node, parent, above)
    const isOpen = !isOwn && seen !== undefined && mayBeStoreUse(node, parent, above)
    if (!isOwn && !isOpen) {
      variable.hasOtherUse = true
      seen?.open.delete(variable)
      return
    }
    if (seen === undefined || parent === undefined) return
    if (isNamed) addTo(seen.filled, variable, 'compiled')
    else if (isOwn && fillsDirectly(node, parent, above)) addTo(seen.filled, variable, 'filled')
    if (!isOpen) return
    const use = { node, parent, above, scope }
    const known = seen.open.get(variable)
    if (known === undefined) seen.open.set(variable, [use])
    else known.push(use)
  }

  /**
   * A variable gets a value that is not a new store. Returns whether it may be another name for a
   * store, which minifiers give to one when they put the text of a helper where it is called.
   */
  assigned(variable: Variable, value: Node | undefined): boolean {
    if (this.#seen === undefined || value === undefined) return false
    if (isOfInstance(value)) this.#seen.instances.add(variable)
    if (value.type === 'ThisExpression') this.#seen.these.add(variable)
    return value.type === 'Identifier'
  }

  /** Decides about the uses that were left open, and drops what was collected. */
  finish(program: acorn.Program, top: Scope): void {
    const seen = this.#seen
    if (seen === undefined) return
    this.#seen = undefined
    const exported = exportedVariables(program, top)
    const decision = new StoreDecision(seen)
    for (const variable of seen.open.keys()) {
      if (variable.storeCount !== 1 || variable.hasOtherUse) continue
      const isHidden = !variable.scope.hasEval && !exported.has(variable)
      variable.hasOtherUse = !isHidden || !decision.isStore(variable)
    }
  }
}

/** Whether a variable is an argument of a compiler's helper, which has kept its name. */
function isNamedUse(node: acorn.Identifier, parent: Node | undefined): boolean {
  if (parent?.type !== 'CallExpression') return false
  return parent.arguments.some((argument) => argument === node) && isNamedCall(parent)
}

/** `x.get(this)` and the like. */
function isUseByThis(
  node: acorn.Identifier,
  parent: Node | undefined,
  above: Node | undefined,
): boolean {
  if (parent === undefined || above?.type !== 'CallExpression') return false
  const isThis = above.arguments[0]?.type === 'ThisExpression'
  return isThis && storeMethod(node, parent, above) !== undefined
}

function fillsDirectly(node: acorn.Identifier, parent: Node, above: Node | undefined): boolean {
  const method = above && storeMethod(node, parent, above)
  return method === 'set' || method === 'add'
}

function mayBeStoreUse(
  node: acorn.Identifier,
  parent: Node | undefined,
  above: Node | undefined,
): boolean {
  if (parent === undefined) return false
  if (parent.type === 'CallExpression') return parent.callee !== node
  if (parent.type === 'AssignmentExpression') {
    if (parent.operator !== '=' || parent.left.type !== 'Identifier') return false
    return above !== undefined && isKept(parent, above)
  }
  return (
    isComparison(node, parent) ||
    (above !== undefined && storeMethod(node, parent, above) !== undefined)
  )
}

/** Whether the value of an assignment is dropped, or passed to a function. */
function isKept(node: acorn.AssignmentExpression, above: Node): boolean {
  if (above.type === 'CallExpression') return above.callee !== node
  if (above.type === 'SequenceExpression') return above.expressions.at(-1) !== node
  return above.type === 'ExpressionStatement'
}

/** The variable that is certain to get a function or class as its value. */
function nameOf(node: Node, ancestors: readonly Node[]): string | undefined {
  if (node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration') return node.id?.name
  const parent = ancestors.at(-1)
  if (parent?.type === 'LogicalExpression') {
    const isDefault = parent.right === node && parent.operator === '||' && isOfThis(parent.left)
    return isDefault ? declaredName(parent, ancestors.at(-2)) : undefined
  }
  const isAssigned = parent?.type === 'AssignmentExpression' && parent.operator === '='
  if (!isAssigned) return declaredName(node, parent)
  return parent.right === node && parent.left.type === 'Identifier' ? parent.left.name : undefined
}

function declaredName(value: Node, parent: Node | undefined): string | undefined {
  if (parent?.type !== 'VariableDeclarator' || parent.init !== value) return undefined
  return parent.id.type === 'Identifier' ? parent.id.name : undefined
}

/**
 * `this && this.__classPrivateFieldGet`, as TypeScript begins its helpers; esbuild writes `exports`
 * for it.
 */
function isOfThis(node: Node): boolean {
  if (node.type !== 'LogicalExpression' || node.right.type !== 'MemberExpression') return false
  return isThisOrExports(node.left) && isThisOrExports(node.right.object)
}

function isThisOrExports(node: Node): boolean {
  return node.type === 'ThisExpression' || (node.type === 'Identifier' && node.name === 'exports')
}

/** The variables that other modules can use. */
function exportedVariables(program: acorn.Program, top: Scope): ReadonlySet<Variable> {
  const names = program.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    const { declaration, specifiers } = statement
    if (declaration?.type === 'VariableDeclaration') {
      return declaration.declarations.flatMap(({ id }) => namesIn(id).map(({ name }) => name))
    }
    return specifiers.flatMap(({ local }) => (local.type === 'Identifier' ? [local.name] : []))
  })
  return new Set(names.flatMap((name) => top.find(name) ?? []))
}

function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const known = sets.get(key)
  if (known === undefined) sets.set(key, new Set([value]))
  else known.add(value)
}

// Decides, at the end of a walk over a script, whether a variable is a compiler's stand-in for a
// private name. What tells it from a cache or a registry of the user's own: it is filled for `this`
// in a constructor, and everything else goes through functions that are helpers of a compiler
// (operation.ts), or is what remains of one when a minifier has put its text in place.

import type * as acorn from 'acorn'
import { calleeName } from '../initializer.js'
import { NameUses } from '../name-uses.js'
import type { ClassNode, Node } from '../parse.js'
import { isComparison } from './evaluation.js'
import { isPair, type NamedFunction, PrivateOperations, storeMethod } from './operation.js'
import type { Scope, Variable } from '../scope.js'

const PRIVATE_CALL = /^_+(?:classPrivate|class_private|assertClassBrand|check_?private)/i
const PRIVATE_SHORT = /^__private(?:Get|Set|Add|In|Method|Wrapper)\d*$/
const OBJECT_CHECK = /^_+check_?in_?rhs\d*$/i

/** A use of a variable that shows what it is only once the whole script is known. */
export interface OpenUse {
  readonly node: acorn.Identifier
  readonly parent: Node
  readonly above: Node | undefined
  readonly scope: Scope
}

/**
 * `compiled`: by a compiler's helper that adds private members. `filled`: by `set(this)` or
 * `add(this)`. `asked`: by `has(…)` with any object. `other`: as no compiler does.
 */
export type UseKind = 'compiled' | 'filled' | 'use' | 'asked' | 'other'

/** The variable that is used, and the one that the store was made for. */
interface Names {
  readonly name: Variable
  readonly store: Variable
}

/** What a walk has seen. */
export class Seen {
  /** By variable, or for a function that is called where it is written, by itself. */
  readonly functions: Map<Variable | Node, NamedFunction> = new Map()
  readonly classes: Map<Variable, ClassNode> = new Map()
  /** Functions and classes that are passed to a function whose result the variable gets. */
  readonly passed: Map<Variable, Node> = new Map()
  readonly open: Map<Variable, OpenUse[]> = new Map()
  /** How variables are filled where that is not left open. */
  readonly filled: Map<Variable, Set<UseKind>> = new Map()
  /** Variables that get `this`. */
  readonly these: Set<Variable> = new Set()
  /** Those, and variables that get what a function returns to which `this` was passed. */
  readonly instances: Set<Variable> = new Set()
}

/** The decision about the variables of one script. */
export class StoreDecision {
  readonly #seen: Seen
  readonly #operations: PrivateOperations

  constructor(seen: Seen) {
    this.#seen = seen
    this.#operations = new PrivateOperations((callee) =>
      'type' in callee || isSteady(callee) ? seen.functions.get(callee) : undefined,
    )
  }

  /** Whether a variable that gets a new store once is a stand-in for a private name. */
  isStore(variable: Variable): boolean {
    const kinds = new Set(this.#kindsOf(variable, variable))
    if (kinds.has('other')) return false
    const isCompiled = kinds.has('compiled')
    return isCompiled || (kinds.has('filled') && !kinds.has('asked'))
  }

  /** How a variable is used, and all others that hold the same store. */
  #kindsOf(name: Variable, store: Variable): readonly UseKind[] {
    const filled = this.#seen.filled.get(name) ?? []
    const open = this.#seen.open.get(name) ?? []
    return [...filled, ...open.flatMap((use) => this.#kindsOfUse(use, { name, store }))]
  }

  #kindsOfUse(use: OpenUse, names: Names): readonly UseKind[] {
    const { node, parent, above, scope } = use
    if (parent.type === 'AssignmentExpression') {
      const left = parent.left.type === 'Identifier' ? scope.find(parent.left.name) : undefined
      if (left === undefined || !isOtherName(left)) return ['other']
      const kinds = this.#kindsOf(left, names.store)
      if (above?.type !== 'CallExpression') return kinds
      return [...kinds, this.#kindOfArgument(above, parent, use, names)]
    }
    if (parent.type === 'CallExpression') {
      return [this.#kindOfArgument(parent, node, use, names)]
    }
    return [isComparison(node, parent) ? 'use' : this.#kindOfMethod(use, names)]
  }

  /** A call of a method of the store. */
  #kindOfMethod({ node, parent, above, scope }: OpenUse, names: Names): UseKind {
    const method = above && storeMethod(node, parent, above)
    const [key] = above?.type === 'CallExpression' ? above.arguments : []
    if (key === undefined) return 'other'
    if (this.#isThis(key, scope)) return method === 'set' || method === 'add' ? 'filled' : 'use'
    if (key.type === 'CallExpression') {
      if (this.#isAccess(key, names, scope)) return 'use'
      if (method === 'has' && this.#requiresObject(key, scope)) return 'use'
    }
    return method === 'has' ? 'asked' : 'other'
  }

  /** An argument of a call. */
  #kindOfArgument(
    call: acorn.CallExpression,
    argument: Node,
    { scope }: OpenUse,
    names: Names,
  ): UseKind {
    const index = call.arguments.findIndex((each) => each === argument)
    const found = index < 0 ? undefined : this.#operations.callOf(call, index, scope)
    if (found === undefined) return 'other'
    if (found.kind !== 'add') return 'use'
    return this.#isOwnKey(found.key, names, scope) ? 'compiled' : 'other'
  }

  /** A call by which a helper returns a key only if the store has it. */
  #isAccess(call: acorn.CallExpression, { name }: Names, scope: Scope): boolean {
    const isStore = (each: Node): boolean =>
      each.type === 'Identifier' && scope.find(each.name) === name
    if (!isPair(call)) return false
    if (isNamedCall(call)) return call.arguments.some(isStore)
    const store = call.arguments.findIndex(isStore)
    return store >= 0 && this.#operations.callOf(call, store, scope)?.kind === 'access'
  }

  #requiresObject(call: acorn.CallExpression, scope: Scope): boolean {
    const isNamed = OBJECT_CHECK.test(calleeName(call.callee) ?? '')
    return isNamed || this.#operations.requiresObject(call, scope)
  }

  /** An instance that is being made; or a class that uses the store, for its static members. */
  #isOwnKey(key: Node, { store }: Names, scope: Scope): boolean {
    if (isOfInstance(valueOf(key))) return true
    const holder = key.type === 'Identifier' ? scope.find(key.name) : undefined
    if (holder === undefined || !holdsOne(holder)) return false
    if (this.#seen.instances.has(holder)) return true
    const made = this.#seen.classes.get(holder)
    return made !== undefined && this.#uses(made, store, scope)
  }

  /** Whether a class uses a store: itself, or by functions that compilers put beside it. */
  #uses(root: Node, store: Variable, scope: Scope, looked = new Set<Node>()): boolean {
    looked.add(root)
    const { free } = new NameUses(root, true)
    const variables = [...free.keys()].flatMap((name) => scope.find(name) ?? [])
    if (variables.includes(store)) return true
    return variables.some((each) => {
      if (each.scope !== store.scope) return false
      const beside = this.#seen.functions.get(each)?.node ?? this.#seen.passed.get(each)
      return beside !== undefined && !looked.has(beside) && this.#uses(beside, store, scope, looked)
    })
  }

  /** `this`, or a variable that holds it. */
  #isThis(key: Node, scope: Scope): boolean {
    if (valueOf(key).type === 'ThisExpression') return true
    const holder = key.type === 'Identifier' ? scope.find(key.name) : undefined
    return holder !== undefined && holdsOne(holder) && this.#seen.these.has(holder)
  }
}

/** Whether a variable is not assigned after its declaration, but for text that is evaluated. */
function isSteady({ isAssigned, kind, scope }: Variable): boolean {
  return !isAssigned && kind !== 'parameter' && !scope.hasEval
}

/** Whether a variable has one value at most. */
function holdsOne(variable: Variable): boolean {
  const { kind, isInitialized, assignCount } = variable
  return isSteady(variable) || (kind !== 'parameter' && !isInitialized && assignCount === 1)
}

/** Whether a call is one of a compiler's helper that has kept its name. */
export function isNamedCall({ callee }: acorn.CallExpression): boolean {
  const name = calleeName(callee) ?? ''
  return PRIVATE_CALL.test(name) || PRIVATE_SHORT.test(name)
}

/** Whether a variable gets only one value, after its declaration, and from no closure. */
function isOtherName(variable: Variable): boolean {
  const { kind, isInitialized, assignCount, isAssignedWithin, hasOtherUse, scope } = variable
  if (kind !== 'var' && kind !== 'let') return false
  const isSetOnce = !isInitialized && assignCount === 1 && !isAssignedWithin
  return isSetOnce && !hasOtherUse && !scope.isTop && !scope.hasEval && !scope.hasEvalWithin
}

/** `this`, or what a function returns to which it is passed: `_callSuper(this, …)`. */
export function isOfInstance(node: Node): boolean {
  if (node.type === 'ThisExpression') return true
  return (
    node.type === 'CallExpression' && node.arguments.some(({ type }) => type === 'ThisExpression')
  )
}

/** The value of an assignment, or of anything else. */
function valueOf(node: Node): Node {
  return node.type === 'AssignmentExpression' && node.operator === '=' ? node.right : node
}

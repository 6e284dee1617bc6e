// The functions through which compilers use their stand-ins for private names, recognized by what
// they do, because bundlers rename them. What they do is what the language prescribes for private
// names, and no cache or registry does it: reading a name that an object does not have throws, as
// does adding one that it has, and asking for one that cannot be there.
//
// A helper is evaluated (evaluation.ts) with nothing known but whether the store has the
// key. It is recognized if it then certainly throws, and if it uses the store in no other way, so
// that it cannot keep it.

import type * as acorn from 'acorn'
import type { NameUse } from '../name-uses.js'
import { type FunctionNode, isFunction, type Node, staticName } from '../parse.js'
import {
  type Assumption,
  evaluate,
  type OperationKind,
  operationText,
  type OperationText,
  type InnerCalls,
  isComparison,
  resultsOf,
  type RoleVariables,
} from './evaluation.js'
import type { Scope, Variable } from '../scope.js'

/** A function that a variable certainly holds, and its own scope. */
export interface NamedFunction {
  readonly node: FunctionNode
  readonly scope: Scope
}

/** The methods of stores that compilers use. */
export const STORE_METHODS: ReadonlySet<string> = new Set(['get', 'set', 'has', 'add'])

/** The indexes of the parameters for a store and for an object that may be in it. */
interface Roles {
  readonly store: number
  readonly key: number
}

/**
 * The function that is called: that of a variable which never holds another value, or one that is
 * written at the call.
 */
type FunctionFinder = (callee: FunctionNode | Variable) => NamedFunction | undefined

/** The helpers of one script. */
export class PrivateOperations {
  readonly #functionOf: FunctionFinder
  readonly #texts = new Map<FunctionNode, OperationText | undefined>()
  readonly #kinds = new Map<string, OperationKind | undefined>()
  readonly #numbers = new Map<FunctionNode, number>()
  readonly #busy = new Set<FunctionNode>()

  constructor(functionOf: FunctionFinder) {
    this.#functionOf = functionOf
  }

  /** Where the key is in a call that passes a store as this argument, and what the call does. */
  callOf(
    call: acorn.CallExpression,
    store: number,
    scope: Scope,
  ): { readonly kind: OperationKind; readonly key: Node } | undefined {
    const { arguments: given } = call
    const fn = given.some(isSpread) ? undefined : this.#calledIn(call, scope)
    for (const [index, key] of fn === undefined ? [] : given.entries()) {
      if (fn === undefined || index === store) continue
      const kind = this.#kindOf(fn, { store, key: index })
      if (kind !== undefined) return { kind, key }
    }
    return undefined
  }

  /** Whether a call throws unless its only argument is an object, and then returns that. */
  requiresObject(call: acorn.CallExpression, scope: Scope): boolean {
    const fn = call.arguments.length === 1 ? this.#calledIn(call, scope) : undefined
    const text = fn && this.#textOf(fn)
    const key = text?.parameters[0]
    if (text === undefined || key === undefined) return false
    const { completes } = evaluate(text, { store: undefined, key }, 'number', this.#calls(text))
    const results = resultsOf(text.node)
    return !completes && results.length > 0 && results.every((each) => text.isUse(each, key))
  }

  #calledIn({ callee, optional }: acorn.CallExpression, scope: Scope): NamedFunction | undefined {
    if (optional) return undefined
    if (isFunction(callee)) return this.#functionOf(callee)
    const variable = callee.type === 'Identifier' ? scope.find(callee.name) : undefined
    return variable && this.#functionOf(variable)
  }

  /** Undefined if it is not such a function, or if it is being looked at. */
  #kindOf(fn: NamedFunction, roles: Roles): OperationKind | undefined {
    const number = this.#numbers.get(fn.node) ?? this.#numbers.size
    this.#numbers.set(fn.node, number)
    const id = `${number} ${roles.store} ${roles.key}`
    if (this.#kinds.has(id)) return this.#kinds.get(id)
    this.#kinds.set(id, undefined)
    const kind = this.#findKind(fn, roles)
    this.#kinds.set(id, kind)
    return kind
  }

  #findKind(fn: NamedFunction, roles: Roles): OperationKind | undefined {
    const text = this.#textOf(fn)
    const store = text?.parameters[roles.store]
    const key = text?.parameters[roles.key]
    if (text === undefined || store === undefined || key === undefined) return undefined
    const uses = text.usesOf(store).map((use) => this.#useOf(use, text, { store, key }))
    if (uses.length === 0 || uses.includes('other')) return undefined
    if (uses.every((use) => use === 'access')) return 'access'
    // What a function inside does happens at another time.
    if (text.usesOf(store).some((use, index) => text.isInner(use) && uses[index] !== 'access')) {
      return undefined
    }
    const throwsIf = (assumption: Assumption): boolean => {
      const { completes, fills } = evaluate(text, { store, key }, assumption, this.#calls(text))
      return !completes && !fills
    }
    if (throwsIf('absent')) return 'access'
    if (throwsIf('present')) return 'add'
    const onlyAsks = uses.every((use) => use === 'ask' || use === 'test')
    return onlyAsks && throwsIf('number') ? 'test' : undefined
  }

  #useOf({ node, access, around }: NameUse, text: OperationText, roles: RoleVariables): StoreUse {
    const [parent, above] = around
    if (access !== 'read' || parent === undefined) return 'other'
    if (isComparison(node, parent)) return 'ask'
    if (parent.type === 'CallExpression') return this.#innerKind(parent, text, roles) ?? 'other'
    if (above?.type !== 'CallExpression') return 'other'
    const method = storeMethod(node, parent, above)
    const [key] = above.arguments
    if (method === undefined || key === undefined) return 'other'
    const isKey = text.isUse(key, roles.key)
    const isChecked = isPair(key) && this.#innerKind(key, text, roles) === 'access'
    if (!isKey && !isChecked) return 'other'
    return method === 'has' ? 'ask' : 'direct'
  }

  /** What a call in a helper does with the store and the key; undefined if that is not certain. */
  #innerKind(
    call: acorn.CallExpression,
    text: OperationText,
    { store, key }: RoleVariables,
  ): OperationKind | undefined {
    const { arguments: given } = call
    if (given.some(isSpread) || store === undefined) return undefined
    const [at, ...others] = given.flatMap((each, index) => (text.isUse(each, store) ? [index] : []))
    const keyAt = given.findIndex((each) => text.isUse(each, key))
    const fn = this.#calledBy(call, text)
    if (fn === undefined || at === undefined || others.length > 0 || keyAt < 0) return undefined
    return this.#kindOf(fn, { store: at, key: keyAt })
  }

  /** The function of the script that a call in a helper calls. */
  #calledBy(
    { callee, optional }: acorn.CallExpression,
    text: OperationText,
  ): NamedFunction | undefined {
    if (optional) return undefined
    if (isFunction(callee)) return this.#functionOf(callee)
    const variable = text.freeVariable(callee)
    return variable && this.#functionOf(variable)
  }

  #calls(text: OperationText): InnerCalls {
    return {
      kindOf: (call, roles) => this.#innerKind(call, text, roles),
      mayReturn: (call) => {
        const fn = this.#calledBy(call, text)
        return fn === undefined || this.#mayReturn(fn)
      },
    }
  }

  /** Whether a function may return, whatever it is called with. */
  #mayReturn(fn: NamedFunction): boolean {
    const text = this.#textOf(fn)
    if (text === undefined || this.#busy.has(fn.node) || this.#busy.size > 3) return true
    this.#busy.add(fn.node)
    const roles = { store: undefined, key: undefined }
    const { completes } = evaluate(text, roles, 'absent', this.#calls(text))
    this.#busy.delete(fn.node)
    return completes
  }

  #textOf({ node, scope }: NamedFunction): OperationText | undefined {
    if (!this.#texts.has(node)) this.#texts.set(node, operationText(node, scope))
    return this.#texts.get(node)
  }
}

type StoreUse = OperationKind | 'ask' | 'direct' | 'other'

function isSpread({ type }: Node): boolean {
  return type === 'SpreadElement'
}

/** A call with two arguments: those that check a key return it. */
export function isPair(node: Node): node is acorn.CallExpression {
  return node.type === 'CallExpression' && node.arguments.length === 2
}

/** The method of a store in `store.method(…)`. */
export function storeMethod(store: Node, parent: Node, above: Node): string | undefined {
  if (parent.type !== 'MemberExpression' || parent.object !== store) return undefined
  if (above.type !== 'CallExpression' || above.callee !== parent) return undefined
  const name = staticName(parent.property, parent.computed)
  return name !== undefined && STORE_METHODS.has(name) ? name : undefined
}

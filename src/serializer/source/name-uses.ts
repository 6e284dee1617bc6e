// All uses of names in one function, each with the nodes around it: where read-depth.ts begins to
// follow values.

import type * as acorn from 'acorn'
import { isClassNode, type Node, staticName } from './parse.js'
import { Scope, type Variable } from './scope.js'
import { type Access, ScopeWalk, type WalkListener } from './walk.js'

/** A place where a name is used: the nodes around it, innermost first. */
export interface NameUse {
  readonly node: Node
  readonly access: Access
  readonly around: readonly Node[]
}

/** Collects all uses of names in one function. */
export class NameUses implements WalkListener {
  readonly #root: Node
  readonly #walk: ScopeWalk
  /** Of names from outside. */
  readonly free: Map<string, NameUse[]> = new Map()
  /** Of its own variables. */
  readonly local: Map<Variable, NameUse[]> = new Map()
  readonly #declared = new Map<Node, Variable>()
  /** Parameters, which no declaration initializes, by name. */
  readonly #parameters = new Map<string, Variable[]>()
  exposesItself = false
  callsItself = false

  constructor(root: Node, isStrict: boolean) {
    this.#root = root
    this.#walk = new ScopeWalk(new Scope('outside', undefined, isStrict), this)
    this.#walk.visit(root)
  }

  /** The variable that a name in a pattern declares; undefined if it declares none. */
  declaredBy(node: acorn.Identifier): Variable | undefined {
    const { name, start } = node
    const isThere = ({ position }: Variable): boolean => position === start
    return this.#declared.get(node) ?? this.#parameters.get(name)?.find(isThere)
  }

  onName(node: acorn.Identifier, access: Access): void {
    const { scope, ancestors } = this.#walk
    const variable = scope.find(node.name)
    const use: NameUse = { node, access, around: ancestors.toReversed() }
    if (variable === undefined) {
      add(this.free, node.name, use)
      return
    }
    add(this.local, variable, use)
    if (access === 'initialize') this.#declared.set(node, variable)
    const [parent] = use.around
    const { kind, parent: above, isStrict } = variable.scope
    const isOwnName = kind === 'name' && above?.kind === 'outside'
    if (isOwnName) this.callsItself = true
    if (isOwnName && !isCall(parent, node) && !isApplied(use.around, node)) {
      this.exposesItself = true
    }
    const isCopied = node.name === 'arguments' && isCopiedIn(parent, node)
    if (node.name === 'arguments' && !isStrict && !isElement(parent, node) && !isCopied) {
      this.exposesItself = true
    }
  }

  onScope(_node: Node, scope: Scope): void {
    for (const variable of scope.variables?.values() ?? []) {
      if (variable.kind === 'parameter') add(this.#parameters, variable.name, variable)
    }
  }

  /** As in the code that travels. */
  skips(node: Node): boolean {
    const root = this.#root
    if (!isClassNode(root) || this.#walk.scope.parent?.kind !== 'outside') return false
    if (node === root.superClass || node.type === 'StaticBlock') return true
    return node.type === 'PropertyDefinition' && node.static
  }
}

function add<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const known = lists.get(key)
  if (known === undefined) lists.set(key, [value])
  else known.push(value)
}

/** `f.call()`, `f.apply()`. */
function isApplied([member, call]: readonly Node[], node: Node): boolean {
  if (member?.type !== 'MemberExpression' || member.object !== node) return false
  const name = staticName(member.property, member.computed)
  return (name === 'call' || name === 'apply') && isCall(call, member)
}

function isCall(node: Node | undefined, callee: Node): boolean {
  return node?.type === 'CallExpression' && node.callee === callee
}

/** `f.apply(this, arguments)`, `Array.prototype.slice.call(arguments)`. */
function isCopiedIn(call: Node | undefined, list: Node): boolean {
  if (call?.type !== 'CallExpression' || call.callee.type !== 'MemberExpression') return false
  const { object, property, computed } = call.callee
  const name = staticName(property, computed)
  if (name === 'apply') return call.arguments[1] === list
  if (name !== 'call' || object.type !== 'MemberExpression') return false
  return staticName(object.property, object.computed) === 'slice' && call.arguments[0] === list
}

/** `arguments[0]`, `arguments.length`, `...arguments`: only values from the caller. */
function isElement(node: Node | undefined, object: Node): boolean {
  if (node?.type === 'SpreadElement') return true
  if (node?.type !== 'MemberExpression' || node.object !== object) return false
  return staticName(node.property, node.computed) !== 'callee'
}

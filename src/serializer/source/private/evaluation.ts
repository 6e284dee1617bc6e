// The evaluation of a function to which a store may be passed, with nothing known but whether the
// store has the key. The result of an expression is the set of what it can be; the empty set means
// that it never has a value, because something throws. What cannot be told counts as possible.

import type * as acorn from 'acorn'
import { NameUses, type NameUse } from '../name-uses.js'
import {
  eachChild,
  type FunctionNode,
  isClassNode,
  isFunction,
  type Node,
  staticName,
} from '../parse.js'
import type { Scope, Variable } from '../scope.js'

/**
 * What a helper does with a store. `access`: throws if the store does not have the key. `add`:
 * throws if it does. `test`: only asks, and throws if the key is not an object.
 */
export type OperationKind = 'access' | 'add' | 'test'

/** What a function is evaluated with: the store has the key or not; or the key is a number. */
export type Assumption = 'present' | 'absent' | 'number'

/** The parameters that are the store, and an object that may be in it. */
export interface RoleVariables {
  readonly store: Variable | undefined
  readonly key: Variable | undefined
}

/** The names in a function that may be a helper. */
export interface OperationText {
  readonly node: FunctionNode
  /** Undefined for one that is assigned. */
  readonly parameters: readonly (Variable | undefined)[]
  usesOf(variable: Variable): readonly NameUse[]
  isUse(node: Node, variable: Variable | undefined): boolean
  /** The variable around the function that a name in it means. */
  freeVariable(node: Node): Variable | undefined
  /** Whether a use is in a function inside. */
  isInner(use: NameUse): boolean
}

/** Undefined if it cannot be a helper. */
export function operationText(node: FunctionNode, scope: Scope): OperationText | undefined {
  const isPlain = !node.async && !node.generator && !scope.hasEval && !scope.hasEvalWithin
  const names = node.params.map((each) => (each.type === 'Identifier' ? each.name : ''))
  if (!isPlain || names.includes('') || new Set(names).size < names.length) return undefined
  const uses = new NameUses(node, scope.isStrict)
  const locals = new Map<Node, Variable>()
  const parameters = new Map<string, Variable>()
  for (const [variable, all] of uses.local) {
    for (const use of all) locals.set(use.node, variable)
    const { name, kind } = variable
    if (name === 'arguments' && !all.every(isLengthOf)) return undefined
    const isOwn =
      kind === 'parameter' && node.params.some(({ start }) => start === variable.position)
    if (isOwn && all.every(({ access }) => access === 'read')) parameters.set(name, variable)
  }
  const free = new Set([...uses.free.values()].flatMap((all) => all.map((use) => use.node)))
  return {
    node,
    parameters: names.map((name) => parameters.get(name)),
    usesOf: (variable) => uses.local.get(variable) ?? [],
    isUse: (each, variable) => variable !== undefined && locals.get(each) === variable,
    freeVariable: (each) =>
      each.type === 'Identifier' && free.has(each) ? scope.find(each.name) : undefined,
    isInner: ({ around }) =>
      around.some((each) => each !== node && (isFunction(each) || isClassNode(each))),
  }
}

function isLengthOf({ node, around: [parent] }: NameUse): boolean {
  if (parent?.type !== 'MemberExpression' || parent.object !== node) return false
  return staticName(parent.property, parent.computed) === 'length'
}

// The evaluation of a function with a store. The result of an expression is the set of what it can
// be; the empty set means that it never has one, because it throws.

const TRUE = 1
const FALSE = 2
const ANY = 3
const NEVER = 0

/** What is known about the calls in a function. */
export interface InnerCalls {
  /** What a call does with the store and the key. */
  kindOf(call: acorn.CallExpression, roles: RoleVariables): OperationKind | undefined
  /** Whether a call that gets no store may return. */
  mayReturn(call: acorn.CallExpression): boolean
}

/** The outcome of an evaluation. */
export interface Outcome {
  /** It may return. */
  readonly completes: boolean
  /** It may put the key into the store, or change its value. */
  readonly fills: boolean
}

/** Evaluates a function. */
export function evaluate(
  text: OperationText,
  roles: RoleVariables,
  assumption: Assumption,
  calls: InnerCalls,
): Outcome {
  return new Evaluation(text, roles, assumption, calls).run()
}

class Evaluation {
  readonly #text: OperationText
  readonly #roles: RoleVariables
  readonly #assumption: Assumption
  readonly #calls: InnerCalls
  #fills = false
  #returns = false

  constructor(
    text: OperationText,
    roles: RoleVariables,
    assumption: Assumption,
    calls: InnerCalls,
  ) {
    this.#text = text
    this.#roles = roles
    this.#assumption = assumption
    this.#calls = calls
  }

  run(): Outcome {
    const { body } = this.#text.node
    const ends =
      body.type === 'BlockStatement' ? this.#statement(body) : this.#value(body) !== NEVER
    return { completes: ends || this.#returns, fills: this.#fills }
  }

  /** Whether what follows a statement may run. */
  #statement(node: Node): boolean {
    switch (node.type) {
      case 'BlockStatement':
        return node.body.every((each) => this.#statement(each))
      case 'ExpressionStatement':
        return this.#value(node.expression) !== NEVER
      case 'VariableDeclaration':
        return node.declarations.every((each) => this.#declarator(each))
      case 'ReturnStatement':
        if (!node.argument || this.#value(node.argument) !== NEVER) this.#returns = true
        return false
      case 'ThrowStatement':
        this.#value(node.argument)
        return false
      case 'IfStatement':
        return this.#if(node)
      case 'EmptyStatement':
      case 'FunctionDeclaration':
        return true
      default:
        // A loop, or `try`.
        this.#returns = true
        this.#fills = true
        return true
    }
  }

  #declarator({ id, init }: acorn.VariableDeclarator): boolean {
    // A pattern can have calls in it.
    if (id.type !== 'Identifier') this.#fills = true
    return !init || this.#value(init) !== NEVER
  }

  #if({ test, consequent, alternate }: acorn.IfStatement): boolean {
    const value = this.#value(test)
    const then = (value & TRUE) !== 0 && this.#statement(consequent)
    const otherwise = (value & FALSE) !== 0 && (!alternate || this.#statement(alternate))
    return then || otherwise
  }

  #value(node: Node): number {
    switch (node.type) {
      case 'Literal':
        return node.value || 'regex' in node ? TRUE : FALSE
      case 'FunctionExpression':
      case 'ArrowFunctionExpression':
        return TRUE
      case 'UnaryExpression':
        return this.#unary(node)
      case 'BinaryExpression':
        return this.#known(node) ?? this.#children(node)
      case 'LogicalExpression':
        return this.#logical(node)
      case 'ConditionalExpression': {
        const test = this.#value(node.test)
        const then = test & TRUE ? this.#value(node.consequent) : NEVER
        return then | (test & FALSE ? this.#value(node.alternate) : NEVER)
      }
      case 'SequenceExpression': {
        let last = ANY
        for (const each of node.expressions) {
          last = this.#value(each)
          if (last === NEVER) return NEVER
        }
        return last
      }
      case 'CallExpression':
        return this.#call(node)
      case 'ChainExpression':
        this.#children(node)
        return ANY
      case 'AssignmentExpression': {
        const value = this.#children(node)
        // `a ||= b` may not reach `b`.
        return ['||=', '&&=', '??='].includes(node.operator) ? ANY : value
      }
      case 'ClassExpression':
        return ANY
      default:
        return this.#children(node)
    }
  }

  /** Anything if all parts have values. */
  #children(node: Node): number {
    let result = ANY
    eachChild(node, (child) => {
      if (result !== NEVER && this.#value(child) === NEVER) result = NEVER
    })
    return result
  }

  #unary({ operator, argument }: acorn.UnaryExpression): number {
    const value = this.#value(argument)
    if (value === NEVER) return NEVER
    if (operator === 'typeof') return TRUE
    if (operator === 'void') return FALSE
    if (operator !== '!') return ANY
    return (value & TRUE ? FALSE : NEVER) | (value & FALSE ? TRUE : NEVER)
  }

  #logical({ operator, left, right }: acorn.LogicalExpression): number {
    const value = this.#value(left)
    if (value === NEVER) return NEVER
    if (operator === '??') return value | this.#value(right)
    const stays = operator === '||' ? TRUE : FALSE
    return (value & stays) | (value & ~stays ? this.#value(right) : NEVER)
  }

  #call(node: acorn.CallExpression): number {
    const { callee, arguments: given } = node
    if (callee.type !== 'Identifier' && this.#value(callee) === NEVER) return NEVER
    for (const each of given) if (this.#value(each) === NEVER) return NEVER
    const { store } = this.#roles
    if (callee.type === 'MemberExpression' && this.#text.isUse(callee.object, store)) {
      const method = staticName(callee.property, callee.computed)
      if (method === 'has') return this.#assumption === 'present' ? TRUE : FALSE
      if (method !== 'get') this.#fills = true
      return ANY
    }
    if (given.some((each) => this.#text.isUse(each, store))) {
      return this.#throughOperation(this.#calls.kindOf(node, this.#roles))
    }
    return this.#calls.mayReturn(node) ? ANY : NEVER
  }

  #throughOperation(kind: OperationKind | undefined): number {
    const isPresent = this.#assumption === 'present'
    if (kind === 'add' ? isPresent : kind === 'access' && !isPresent) return NEVER
    if (kind === 'test') return this.#assumption === 'number' ? NEVER : ANY
    this.#fills = true
    return ANY
  }

  /** What the assumption says about a comparison; undefined if it says nothing. */
  #known({ operator, left, right }: acorn.BinaryExpression): number | undefined {
    if (!EQUALITY.has(operator)) return undefined
    const isEqual = this.#areEqual(left, right) ?? this.#areEqual(right, left)
    if (isEqual === undefined) return undefined
    return isEqual === operator.startsWith('=') ? TRUE : FALSE
  }

  #areEqual(one: Node, other: Node): boolean | undefined {
    const { store, key } = this.#roles
    const isNumber = this.#assumption === 'number'
    if (one.type === 'UnaryExpression' && one.operator === 'typeof' && other.type === 'Literal') {
      if (this.#text.isUse(one.argument, store)) return other.value === 'object'
      return isNumber && this.#text.isUse(one.argument, key) ? other.value === 'number' : undefined
    }
    if (!isNumber || !this.#text.isUse(other, key)) return undefined
    if (one.type === 'Literal' && one.raw === 'null') return false
    const [object] = one.type === 'CallExpression' ? one.arguments : []
    if (one.type !== 'CallExpression' || object === undefined) return undefined
    const isGlobal = one.callee.type === 'Identifier' && one.callee.name === 'Object'
    const isOwn = this.#text.freeVariable(one.callee) !== undefined
    return isGlobal && !isOwn && this.#text.isUse(object, key) ? false : undefined
  }
}

/** All that a function returns. */
export function resultsOf({ body }: FunctionNode): readonly Node[] {
  if (body.type !== 'BlockStatement') return [body]
  const found: Node[] = []
  const collect = (node: Node): void => {
    if (isFunction(node) || isClassNode(node)) return
    if (node.type === 'ReturnStatement' && node.argument) found.push(node.argument)
    eachChild(node, collect)
  }
  collect(body)
  return found
}

/** `typeof store`, `store === other`, `store instanceof WeakSet`: they only ask what it is. */
export function isComparison(store: Node, parent: Node): boolean {
  if (parent.type === 'UnaryExpression') return parent.operator === 'typeof'
  if (parent.type !== 'BinaryExpression') return false
  if (parent.operator === 'instanceof') return parent.left === store && isWeakClass(parent.right)
  return EQUALITY.has(parent.operator)
}

function isWeakClass(node: Node): boolean {
  return node.type === 'Identifier' && (node.name === 'WeakSet' || node.name === 'WeakMap')
}

const EQUALITY: ReadonlySet<string> = new Set(['==', '===', '!=', '!=='])

// What a script may do to the objects that its variables hold: a change, in place, of anything that
// can be reached from there. A use of a name is followed outwards, through whatever has the value
// or a part of it, to where that is changed, given to a function, or gets another name. Once all of
// a script has been seen, what is known of one name holds for those that had the value before.
//
// A level says what is changed: 0 the object that the variable holds, 1 what its properties or
// elements hold, and so on. A distance says where a value is seen from another: 1, the other is an
// array or object with the value in it; -1, the other is a part of the value.

import type * as acorn from 'acorn'
import { type ForeignCall, type Held, namesIn, type Scope, Variable } from './scope.js'
import { calleeName } from './initializer.js'
import { isPackage, isSteady, rootNameOf, STEADY_GLOBALS } from './remaking.js'
import { isFunction, staticName, type FunctionNode, type Node } from './parse.js'

/** Functions and methods that are called for what they do elsewhere: nothing here changes. */
const HARMLESS: RegExp = new RegExp(
  '^(?:trace|debug|info|warn|error|fatal|log|silly|verbose|http|flush|test|submit|map|child|' +
    '(?:safe)?parse(?:Async)?|(?:validate|assert|check|is)[a-z]*)$',
  'i',
)

/** Methods that change what they are called on, also where their result is used. */
const CHANGING: RegExp = new RegExp(
  '^(?:push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|clear|delete|append|use|' +
    'register|configure|(?:set|add|remove|enable|disable)(?:[A-Z]\\w*)?)$',
)

/** The same for functions of the language that are given the object. */
const CHANGING_STATIC = /^(?:assign|define|setPrototypeOf|set$|delete)/

/** Where a name is used. */
interface Use {
  readonly variable: Variable
  readonly scope: Scope
  /** Outermost first. */
  readonly ancestors: readonly Node[]
}

/** What has the value, or a part of it, where the reader is. */
interface Reached {
  readonly node: Node
  readonly distance: number
  /** It is, or has, a function that returns it, or what a function returned. */
  readonly isReturned?: boolean
  /** It is what a function made of it, which may be something else. */
  readonly isResult?: boolean
}

/** A change on so deep a level counts as one on this. */
const MAX_LEVEL = 4

/** A value is given to a function of the same script. */
interface Given extends Held {
  readonly fn: Variable
  readonly index: number
  readonly at: number
  /** It counts as changed if nothing is known of the function. */
  readonly isSuspect: boolean
}

/** Collects what one walk over a script shows. */
export class VariableChanges {
  /** By the variable that got the value later: those that have it, too. */
  readonly #held = new Map<Variable, Held[]>()
  readonly #given: Given[] = []
  readonly #changed: Variable[] = []
  readonly #foreign: (readonly [Variable, ForeignCall])[] = []
  readonly #functions: Variable[] = []

  /** A function that goes by the name of a variable, with the scope of its parameters. */
  declare(fn: Variable, { params }: FunctionNode, scope: Scope): void {
    fn.parameters = params.map((each) => parameterOf(each, scope))
    this.#functions.push(fn)
  }

  /** `x.y = …`, `delete x.y`. */
  target(node: acorn.MemberExpression, scope: Scope): void {
    const whole = rootIn(node, scope)
    const member = whole && exportOf(whole, firstMemberOf(node))
    const depth = depthOf(node)
    // `exports.a = …` is how a variable begins.
    if (whole?.kind === 'wrapper' && depth === 1) return
    if (member !== undefined) this.#change(member, Math.max(0, depth - 2), node.start)
    else if (whole !== undefined) this.#change(whole, depth - 1, node.start)
  }

  /** A name is read. */
  read(name: acorn.Identifier, whole: Use): void {
    const { ancestors } = whole
    let reached: Reached | undefined = { node: name, distance: 0 }
    let index = ancestors.length - 1
    const parent = ancestors[index]
    const isMember = parent?.type === 'MemberExpression' && parent.object === name
    const member = isMember ? exportOf(whole.variable, parent) : undefined
    const use = member === undefined ? whole : { ...whole, variable: member }
    if (isMember && member !== undefined) {
      reached = { node: parent, distance: 0 }
      index -= 1
    }
    for (; index >= 0; index -= 1) {
      const parent = ancestors[index]
      reached = parent && this.#pass(parent, reached, index, use)
      if (reached === undefined) return
      if (parent?.type !== 'ReturnStatement') continue
      // Whoever calls the function has what it returns.
      while (index > 0 && !isReturning(ancestors[index - 1])) index -= 1
    }
  }

  /** All has been seen: what is changed by one name is changed for those that had it before. */
  finish(): void {
    for (const { variable, fn, index, at, isSuspect, distance } of this.#given) {
      const parameters = fn.isAssigned ? undefined : fn.parameters
      if (parameters === undefined && isSuspect) this.#change(variable, levelAt(distance), at)
      const last = (parameters?.length ?? 0) - 1
      for (const each of parameters?.[Math.min(index, last)] ?? []) {
        this.hold(each.variable, { variable, distance: distance + each.distance })
      }
    }
    for (const holder of this.#changed) {
      const { changedAt = 0, changedLevel } = holder
      for (const { variable, distance } of this.#held.get(holder) ?? []) {
        if (changedLevel >= distance) this.#change(variable, changedLevel - distance, changedAt)
      }
    }
    for (const [holder, call] of this.#foreign) {
      for (const { variable, distance } of this.#held.get(holder) ?? []) {
        this.#giveAway(variable, { ...call, distance: call.distance + distance })
      }
    }
    for (const fn of this.#functions) if (!fn.scope.isTop) fn.parameters = undefined
  }

  #giveAway(variable: Variable, call: ForeignCall): void {
    if (variable.givenTo?.some(({ at }) => at === call.at) === true) return
    variable.givenTo = [...(variable.givenTo ?? []), call]
    this.#foreign.push([variable, call])
  }

  #change(variable: Variable, level: number, at: number): void {
    const isFirst = variable.changedAt === undefined
    const capped = Math.min(level, MAX_LEVEL)
    if (!isFirst && capped <= variable.changedLevel) return
    variable.changedAt = at
    variable.changedLevel = capped
    this.#changed.push(variable)
  }

  /** What is around the value and may have it, too. Notes who else gets it. */
  #pass(parent: Node, reached: Reached, index: number, use: Use): Reached | undefined {
    const { node, distance } = reached
    const around = { ...reached, node: parent }
    switch (parent.type) {
      case 'MemberExpression':
        return parent.object === node ? { ...around, distance: distance - 1 } : undefined
      case 'ConditionalExpression':
        return parent.test === node ? undefined : around
      case 'SequenceExpression':
        return parent.expressions.at(-1) === node ? around : undefined
      case 'Property':
        return parent.value === node ? around : undefined
      case 'ArrayExpression':
      case 'ObjectExpression':
        return { ...around, distance: distance + 1 }
      case 'NewExpression':
        return parent.callee === node ? undefined : { ...around, distance: distance + 1 }
      case 'ChainExpression':
      case 'ParenthesizedExpression':
      case 'AwaitExpression':
      case 'LogicalExpression':
      case 'ReturnStatement':
        return around
      case 'CallExpression':
        return this.#passCall(parent, reached, isUnused(use.ancestors, index), use)
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
        if (parent.body !== node && node.type !== 'ReturnStatement') return undefined
        return { ...around, isReturned: true }
      case 'AssignmentExpression':
        this.#assign(parent.left, reached, use)
        return parent.right === node ? around : undefined
      default:
        this.#bind(parent, reached, use)
        return undefined
    }
  }

  /** A declaration, a loop or a default gives the value to variables. */
  #bind(parent: Node, { node, distance }: Reached, use: Use): void {
    switch (parent.type) {
      case 'FunctionDeclaration':
        if (parent.id) this.#assign(parent.id, { node, distance }, use)
        break
      case 'VariableDeclarator':
        this.#assign(parent.id, { node, distance }, use)
        break
      case 'AssignmentPattern':
        this.#assign(parent.left, { node, distance }, use)
        break
      case 'ForOfStatement':
        if (parent.right === node) this.#assign(parent.left, { node, distance: distance - 1 }, use)
        break
      default:
    }
  }

  #passCall(
    call: acorn.CallExpression,
    { node, distance, isReturned = false, isResult = false }: Reached,
    unused: boolean,
    use: Use,
  ): Reached | undefined {
    const { variable, scope } = use
    const { callee } = call
    const name = calleeName(callee) ?? ''
    const result = { node: call, distance, isResult: true }
    if (callee === node) {
      if (callee.type !== 'MemberExpression') {
        return { node: call, distance, isReturned: true, isResult }
      }
      if (isResult) return undefined
      const isChange = CHANGING.test(name) || (unused && !HARMLESS.test(name))
      if (isChange && distance < 0) this.#change(variable, -distance - 1, call.start)
      return undefined
    }
    if (isReturned) return undefined
    if (HARMLESS.test(name)) return undefined
    const target = rootIn(callee, scope)
    if (target === undefined && isOfLanguage(rootNameOf(callee))) {
      const isFirst = call.arguments[0] === node
      const isChange = isFirst && distance <= 0 && isChangingGlobal(callee, name)
      if (isChange) this.#change(variable, -distance, call.start)
      return result
    }
    if (callee.type === 'MemberExpression' && !isOfModule(callee, target)) {
      // An object may keep what its methods are given.
      if (target !== undefined) this.hold(target, { variable, distance: distance + 1 })
      return result
    }
    const isSuspect = unused || (scope.owner.isTop && !isSteady(callee, scope))
    const about = {
      index: call.arguments.findIndex((each) => each === node),
      distance,
      at: call.start,
      isSuspect,
    }
    const origin = target?.origin
    if (target !== undefined && origin === undefined && callee.type === 'Identifier') {
      this.#given.push({ ...about, variable, fn: target })
    } else if (origin !== undefined && !isPackage(origin.specifier)) {
      const path = callee.type === 'Identifier' ? origin.path : [...origin.path, name]
      this.#giveAway(variable, { ...about, origin: { ...origin, path } })
    } else if (isSuspect) this.#change(variable, levelAt(distance), call.start)
    return result
  }

  #assign(left: Node, { node, distance }: Reached, use: Use): void {
    const { variable, scope } = use
    if (left.type === 'VariableDeclaration') {
      for (const { id } of left.declarations) this.#assign(id, { node, distance }, use)
    } else if (left.type === 'MemberExpression') {
      const holder = rootIn(left, scope)
      if (holder === undefined) return
      this.hold(holder, { variable, distance: distance + depthOf(left) })
    } else {
      const isWhole = left.type === 'Identifier'
      for (const { name } of namesIn(left)) {
        const holder = scope.find(name)
        if (holder === undefined) continue
        this.hold(holder, { variable, distance: isWhole ? distance : distance - 1 })
      }
    }
  }

  /** Whatever has the first variable's value has that of the other in it. */
  hold(holder: Variable, held: Held): void {
    if (holder === held.variable) return
    const known = this.#held.get(holder)
    if (known === undefined) this.#held.set(holder, [held])
    else known.push(held)
  }
}

/** The variables of a parameter, and how far from them is what the function is given. */
function parameterOf(pattern: Node, scope: Scope): readonly Held[] {
  const inner = pattern.type === 'AssignmentPattern' ? pattern.left : pattern
  const isRest = inner.type === 'RestElement' && inner.argument.type === 'Identifier'
  const distance = isRest ? 1 : inner.type === 'Identifier' ? 0 : -1
  return namesIn(inner).flatMap(({ name }) => {
    const variable = scope.variables?.get(name)
    return variable === undefined ? [] : [{ variable, distance }]
  })
}

/** An export of a module that a variable holds, as a variable of its own. */
function exportOf(
  variable: Variable,
  member: acorn.MemberExpression | undefined,
): Variable | undefined {
  const { origin, wrappedSpecifier, kind, scope } = variable
  const isExports = kind === 'wrapper' && variable.name === 'exports'
  if (!isExports && wrappedSpecifier === undefined && origin?.path.length !== 0) return undefined
  const name = member && staticName(member.property, member.computed)
  if (name === undefined) return undefined
  if (isExports) return scope.variables?.get(`exports.${name}`)
  variable.members ??= new Map()
  const known = variable.members.get(name) ?? new Variable(name, 'import', variable.position, scope)
  variable.members.set(name, known)
  return known
}

/** `a.b` in `a.b.c`. */
function firstMemberOf(node: Node): acorn.MemberExpression | undefined {
  if (node.type !== 'MemberExpression') return undefined
  return node.object.type === 'Identifier' ? node : firstMemberOf(node.object)
}

/** The variable that a member, or a call, begins with. */
function rootIn(node: Node, scope: Scope): Variable | undefined {
  const name = rootNameOf(node)
  return name === undefined ? undefined : scope.find(name)
}

/** The level of what a function gets and may change. */
function levelAt(distance: number): number {
  return Math.max(0, -distance)
}

/** How many properties are in `a.b.c`. */
function depthOf(node: Node): number {
  return node.type === 'MemberExpression' ? 1 + depthOf(node.object) : 0
}

function isReturning(node: Node | undefined): boolean {
  return node !== undefined && isFunction(node)
}

/** Whether functions of a global do nothing to what they are given, but for `CHANGING_STATIC`. */
function isOfLanguage(name: string = ''): boolean {
  return STEADY_GLOBALS.has(name) || ['Reflect', 'Promise', 'console'].includes(name)
}

/** Whether a call stands there for what it does, and nobody looks at what it returns. */
function isUnused(ancestors: readonly Node[], index: number): boolean {
  let value = ancestors[index]
  for (let at = index - 1; at >= 0; at -= 1) {
    const parent = ancestors[at]
    switch (parent?.type) {
      case 'ExpressionStatement':
        return true
      case 'UnaryExpression':
        return parent.operator === 'void'
      case 'SequenceExpression':
        if (parent.expressions.at(-1) !== value) return true
        break
      case 'ChainExpression':
      case 'ParenthesizedExpression':
      case 'AwaitExpression':
      case 'LogicalExpression':
      case 'ConditionalExpression':
        break
      default:
        return false
    }
    value = parent
  }
  return false
}

/** `Object.assign(x)`, `Reflect.set(x)`, `Array.prototype.push.call(x)`. */
function isChangingGlobal(callee: Node, name: string): boolean {
  if (callee.type !== 'MemberExpression') return false
  const { object } = callee
  const isBorrowed = ['call', 'apply'].includes(name) && object.type === 'MemberExpression'
  if (!isBorrowed) return CHANGING_STATIC.test(name)
  return CHANGING.test(staticName(object.property, object.computed) ?? '')
}

/** Whether `x.f` is a function of the module `x`, not a method. */
function isOfModule({ object }: acorn.MemberExpression, target: Variable | undefined): boolean {
  if (target === undefined || object.type !== 'Identifier') return false
  const { kind, origin, isModuleObject, wrappedSpecifier } = target
  return kind === 'import' || origin !== undefined || isModuleObject || !!wrappedSpecifier
}

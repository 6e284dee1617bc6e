// Changes that a script may make, in place, to the objects that its variables hold, and to anything
// reachable from there. A use of a name is followed outwards, through each expression that has the
// value or a part of it, to where the value is changed, passed to a function, or assigned to
// another name. Once the whole script has been seen, facts about one name apply to the names that
// had the value before.
//
// A level says which object is changed: 0 the object that the variable holds, 1 the values of its
// properties or elements, and so on. A distance relates two values: 1, the other is an array or
// object that contains the value; -1, the other is a part of the value.

import type * as acorn from 'acorn'
import { type ForeignCall, type Held, namesIn, type Scope, Variable } from './scope.js'
import {
  CHANGING,
  changesParameter,
  HARMLESS,
  isChangingGlobal,
  isOfLanguage,
  isUnused,
  PARTS,
  VISITING,
} from './changing.js'
import { calleeName } from './initializer.js'
import { isPackage, isSteady, rootNameOf } from './remaking.js'
import { isFunction, staticName, type FunctionNode, type Node } from './parse.js'

/** Where a name is used. */
interface Use {
  readonly variable: Variable
  readonly scope: Scope
  /** Outermost first. */
  readonly ancestors: readonly Node[]
}

/** The expression that has the value, or a part of it, at this point of the walk. */
interface Reached {
  readonly node: Node
  readonly distance: number
  /** It is, or has, a function that returns it, or the result of a function. */
  readonly isReturned?: boolean
  /** It is the result of a function, which may be another value. */
  readonly isResult?: boolean
  /** A method has returned it, as a part of the value if that is an array, a map or a set. */
  readonly isPart?: boolean
}

/** Deeper changes count as changes on this level. */
const MAX_LEVEL = 4

/** Where a value is changed: the offset of the place, and of the last one. */
interface ChangePlace {
  readonly at: number
  readonly lastAt?: number
  /** It is in a function. */
  readonly isLate: boolean
}

/** A value is passed to a function of the same script. */
interface Given extends Held {
  readonly fn: Variable
  readonly index: number
  readonly at: number
  /** It counts as changed if nothing is known of the function. */
  readonly isSuspect: boolean
  readonly isLate: boolean
}

/** Collects the facts during one walk over a script. */
export class VariableChanges {
  /** By the variable that got the value later: the variables that share it. */
  readonly #held = new Map<Variable, Held[]>()
  readonly #given: Given[] = []
  readonly #changed: Variable[] = []
  readonly #foreign: (readonly [Variable, ForeignCall])[] = []
  readonly #functions: Variable[] = []
  /** By variable: what stands for the results of methods that return parts of its value. */
  readonly #parts = new Map<Variable, Variable>()

  /** A function that has the name of a variable, with the scope of its parameters. */
  declare(fn: Variable, { params }: FunctionNode, scope: Scope): void {
    fn.parameters = params.map((each) => parameterOf(each, scope))
    this.#functions.push(fn)
  }

  /** `x.y = …`, `delete x.y`. */
  target(node: acorn.MemberExpression, scope: Scope): void {
    const whole = rootIn(node, scope)
    const member = whole && exportOf(whole, firstMemberOf(node))
    const depth = depthOf(node)
    // `exports.a = …` initializes a variable.
    if (whole?.kind === 'wrapper' && depth === 1) return
    const place = { at: node.start, isLate: isLate(scope) }
    if (member !== undefined) this.#change(member, Math.max(0, depth - 2), place)
    else if (whole !== undefined) this.#change(whole, depth - 1, place)
  }

  /** A name is read. */
  read(name: acorn.Identifier, whole: Use): void {
    const { ancestors } = whole
    let reached: Reached | undefined = { node: name, distance: 0 }
    let index = ancestors.length - 1
    const parent = ancestors[index]
    const isMember = parent?.type === 'MemberExpression' && parent.object === name
    const member = isMember ? exportOf(whole.variable, parent) : undefined
    let use = member === undefined ? whole : { ...whole, variable: member }
    if (isMember && member !== undefined) {
      reached = { node: parent, distance: 0 }
      index -= 1
    }
    for (; index >= 0; index -= 1) {
      const parent = ancestors[index]
      reached = parent && this.#pass(parent, reached, index, use)
      if (reached === undefined) return
      if (reached.isPart === true) use = { ...use, variable: this.#partsOf(use.variable) }
      if (parent?.type !== 'ReturnStatement') continue
      // The caller of the function has its result.
      while (index > 0 && !isReturning(ancestors[index - 1])) index -= 1
    }
  }

  /**
   * Everything has been seen: a change through one name applies to the names that had the value
   * before.
   */
  finish(): void {
    for (const [variable, parts] of this.#parts) {
      if (parts !== variable && this.#hasParts(variable))
        this.hold(parts, { variable, distance: 0, isCopy: true })
    }
    for (const given of this.#given) {
      const { variable, fn, index, isSuspect, distance } = given
      const parameters = fn.isAssigned ? undefined : fn.parameters
      if (parameters === undefined && isSuspect) this.#change(variable, levelAt(distance), given)
      const last = (parameters?.length ?? 0) - 1
      for (const each of parameters?.[Math.min(index, last)] ?? []) {
        this.hold(each.variable, { variable, distance: distance + each.distance })
      }
    }
    for (const holder of this.#changed) {
      const { changedAt = 0, changedLevel, lastChangedAt, isChangedLate } = holder
      const place = { at: changedAt, lastAt: lastChangedAt, isLate: isChangedLate }
      for (const { variable, distance, isCopy = false } of this.#held.get(holder) ?? []) {
        if (changedLevel < distance || (isCopy && changedLevel === 0)) continue
        this.#change(variable, changedLevel - distance, place)
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

  #change(variable: Variable, level: number, { at, lastAt = at, isLate }: ChangePlace): void {
    const capped = Math.min(level, MAX_LEVEL)
    const isDeeper = variable.changedAt === undefined || capped > variable.changedLevel
    const isLater = lastAt > variable.lastChangedAt || (isLate && !variable.isChangedLate)
    if (!isDeeper && !isLater) return
    if (isDeeper) {
      variable.changedAt = at
      variable.changedLevel = capped
    }
    variable.lastChangedAt = Math.max(lastAt, variable.lastChangedAt)
    variable.isChangedLate ||= isLate
    this.#changed.push(variable)
  }

  /** Stands for what methods of its value return. */
  #partsOf(variable: Variable): Variable {
    const { name, kind, position, scope } = variable
    const parts = this.#parts.get(variable) ?? new Variable(name, kind, position, scope)
    this.#parts.set(variable, parts)
    // Parts of parts.
    this.#parts.set(parts, parts)
    return parts
  }

  /** Whether these may be parts of its value: nothing is known of what a parameter gets. */
  #hasParts(variable: Variable, seen: ReadonlySet<Variable> = new Set()): boolean {
    const { isContainer, kind, origin } = variable
    if (seen.has(variable)) return false
    if (isContainer || kind === 'parameter') return true
    if (origin !== undefined) return !isPackage(origin.specifier)
    const others = this.#held.get(variable) ?? []
    return others.some((each) => this.#hasParts(each.variable, new Set([...seen, variable])))
  }

  /** The surrounding expression that may have the value as well. Notes where else it goes. */
  #pass(parent: Node, reached: Reached, index: number, use: Use): Reached | undefined {
    const { node, distance } = reached
    const around = { ...reached, node: parent }
    switch (parent.type) {
      case 'MemberExpression':
        return parent.object === node ? { ...around, distance: distance - 1 } : undefined
      case 'ConditionalExpression':
        return parent.test === node ? undefined : around
      case 'SpreadElement':
        return { ...around, distance: distance - 1, isPart: true }
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
        return this.#passCall(parent, reached, index, use)
      case 'ArrowFunctionExpression':
      case 'FunctionExpression':
        if (parent.body !== node && node.type !== 'ReturnStatement') return undefined
        return { ...around, isReturned: true }
      case 'AssignmentExpression':
        if (parent.left === node) return this.#changePart(reached, use)
        this.#assign(parent.left, reached, use)
        return around
      case 'UpdateExpression':
        return this.#changePart(reached, use)
      case 'UnaryExpression':
        return parent.operator === 'delete' ? this.#changePart(reached, use) : undefined
      default:
        this.#bind(parent, reached, use)
        return undefined
    }
  }

  /** `m.get(a).b = …`; `target` notes what is changed by names alone. */
  #changePart({ node, distance, isPart = false }: Reached, { variable, scope }: Use): undefined {
    const place = { at: node.start, isLate: isLate(scope) }
    if (isPart && distance < 0) this.#change(variable, -distance - 1, place)
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
    { node, distance, isReturned = false, isResult = false, isPart = false }: Reached,
    index: number,
    use: Use,
  ): Reached | undefined {
    const { variable, scope } = use
    const { callee } = call
    const unused = isUnused(use.ancestors, index, callee === node)
    const name = calleeName(callee) ?? ''
    const place = { at: call.start, isLate: isLate(scope) }
    const result = { node: call, distance, isResult: true, isPart }
    if (callee === node) {
      if (callee.type !== 'MemberExpression') {
        return { node: call, distance, isReturned: true, isResult }
      }
      if (isResult && !isPart) return undefined
      const isChange = CHANGING.test(name) || (unused && !HARMLESS.test(name))
      if (isChange && distance < 0) this.#change(variable, -distance - 1, place)
      const steps = PARTS.get(name)
      const isVisit = VISITING.test(name) && call.arguments.some(changesParameter)
      if (isVisit) this.#change(this.#partsOf(variable), levelAt(distance), place)
      if (steps === undefined) return undefined
      return { node: call, distance: distance + steps, isPart: true }
    }
    if (isReturned) return undefined
    if (HARMLESS.test(name)) return undefined
    const target = rootIn(callee, scope)
    if (target === undefined && isOfLanguage(rootNameOf(callee))) {
      const isFirst = call.arguments[0] === node
      const isChange = isFirst && distance <= 0 && isChangingGlobal(callee, name)
      if (isChange) this.#change(variable, -distance, place)
      return result
    }
    if (callee.type === 'MemberExpression' && !isOfModule(callee, target)) {
      // An object may keep the arguments of its methods.
      if (target !== undefined) this.hold(target, { variable, distance: distance + 1 })
      return result
    }
    const isSuspect = unused || (scope.owner.isTop && !isSteady(callee, scope))
    const about = {
      index: call.arguments.findIndex((each) => each === node),
      distance,
      ...place,
      isSuspect,
    }
    const origin = target?.origin
    if (target !== undefined && origin === undefined && callee.type === 'Identifier') {
      this.#given.push({ ...about, variable, fn: target })
      return result
    }
    const isOfPackage = origin === undefined || isPackage(origin.specifier)
    if (isOfPackage && isSuspect) this.#change(variable, levelAt(distance), place)
    if (origin !== undefined) {
      const path = callee.type === 'Identifier' ? origin.path : [...origin.path, name]
      // What looks like a package may be a module of the user's own.
      const isSuspectOwn = isSuspect || (isOfPackage && scope.owner.isTop)
      const { index, at } = about
      const own = { ...origin, path }
      this.#giveAway(variable, { index, distance, at, isSuspect: isSuspectOwn, origin: own })
    }
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

  /** Any value of the first variable contains the value of the other. */
  hold(holder: Variable, held: Held): void {
    if (holder === held.variable) return
    const known = this.#held.get(holder)
    if (known === undefined) this.#held.set(holder, [held])
    else known.push(held)
  }
}

/** The variables of a parameter, and their distances from the argument. */
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

/** Whether it runs after its script has begun, at any time. */
function isLate(scope: Scope): boolean {
  return !scope.owner.isTop
}

/** The variable that a member, or a call, begins with. */
function rootIn(node: Node, scope: Scope): Variable | undefined {
  const name = rootNameOf(node)
  return name === undefined ? undefined : scope.find(name)
}

/** The level at which a function may change its argument. */
function levelAt(distance: number): number {
  return Math.max(0, -distance)
}

/** The number of properties in `a.b.c`. */
function depthOf(node: Node): number {
  return node.type === 'MemberExpression' ? 1 + depthOf(node.object) : 0
}

function isReturning(node: Node | undefined): boolean {
  return node !== undefined && isFunction(node)
}

/** Whether `x.f` is a function of the module `x`, not a method. */
function isOfModule({ object }: acorn.MemberExpression, target: Variable | undefined): boolean {
  if (target === undefined || object.type !== 'Identifier') return false
  const { kind, origin, isModuleObject, wrappedSpecifier } = target
  return kind === 'import' || origin !== undefined || isModuleObject || !!wrappedSpecifier
}

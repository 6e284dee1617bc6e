// Whether a function can change the values of its captured variables. A worker creates read-only
// values once for all tasks, and all others anew for each task.
//
// For each name: the depth to which the function certainly only reads. Level 0 is the object that
// the variable holds, level 1 the values of its properties or elements, and so on. Anything that
// the text does not show counts as a change: an object that is passed to another function,
// returned, or assigned.
//
//   rows.length                        Infinity: nothing but a number leaves
//   rows[i].price * 2                  Infinity: arithmetic
//   for (const row of rows) use(row)   1: rows is only read, each row may be changed
//   return rows[i]                     1; but Infinity for the function that the task calls
//   rows.push(1), use(rows)            0
//   for (const [, v] of map) use(v)    1: the entries of a map are not a level of their own
//   [...rows].sort(compare)            as if it were rows, but a change counts from level 1 on

import type * as acorn from 'acorn'
import {
  ACCUMULATED,
  ADDING,
  CALLBACKS,
  COMPARED,
  CONVERTERS,
  COPYING,
  COUNTS,
  FINDING,
  LISTING,
  LISTS,
  NEW_COPY,
  OPENING,
  REMOVING,
  REORDERING,
  SHARING,
  SHARING_TEXT,
  TAKING,
  TELLING,
} from './methods.js'
import { type NameUse, NameUses } from './name-uses.js'
import { isFunction, type Node, type ParsedText, staticName } from './parse.js'
import type { Variable } from './scope.js'

/** How a function uses one of its captured variables. */
export interface NameDepth {
  /** The first level at which it may change something; 0 for all, Infinity for none. */
  readonly depth: number
  /** The same if the variable holds a module, whose functions do not change it when called. */
  readonly moduleDepth: number
  /** The same if only a worker calls it: its result is only sent. */
  readonly rootDepth: number
  /** For buffers, whose slices share their memory, these are too large. */
  readonly isSliced: boolean
}

/** How a function affects its surroundings and itself. */
interface ReadDepths {
  readonly byName: ReadonlyMap<string, NameDepth>
  /** Its own name, or `arguments.callee`, is used other than by calling it. */
  readonly exposesItself: boolean
  /** See `FunctionSite`. */
  readonly hasShadows: boolean
}

/** Analyses a function. `isGlobal`: whether a free name has its usual global meaning. */
export function readDepthsOf(
  { root, source }: ParsedText,
  isStrict: boolean,
  isGlobal: (name: string) => boolean,
): ReadDepths {
  const uses = new NameUses(root, isStrict)
  const byName = new Map<string, NameDepth>()
  const mayShare = SHARING_TEXT.test(source)
  for (const [name, all] of uses.free) {
    const depthsAs = (isBuffer: boolean): readonly [number, number, number] => {
      const depthAs = (kind: FlowKind): number => {
        const flow = new Flow(uses, isGlobal, kind, isBuffer)
        return Math.min(...all.map((use) => flow.depthOf(use)))
      }
      const depth = depthAs('plain')
      return [depth, depthAs('module'), uses.callsItself ? depth : depthAs('root')]
    }
    const depths = depthsAs(false)
    const [depth, moduleDepth, rootDepth] = depths
    const isSliced = mayShare && depthsAs(true).join() !== depths.join()
    byName.set(name, { depth, moduleDepth, rootDepth, isSliced })
  }
  const hasShadows = [...uses.local.keys()].some(({ name }) => uses.free.has(name))
  return { byName, exposesItself: uses.exposesItself, hasShadows }
}

/** Whether the value here is returned by the outermost function. */
function isOfRoot({ around, index }: Place): boolean {
  const at = around.findIndex((node, position) => position >= index && isFunction(node))
  const fn = around[at]
  return at === around.length - 1 && fn !== undefined && isFunction(fn) && !fn.generator
}

/** The position of a value: `around[index]` directly surrounds it. */
interface Place {
  readonly around: readonly Node[]
  readonly index: number
}

function outer({ around, index }: Place): Place {
  return { around, index: index + 1 }
}

/** How the variable, or the function, is to be treated; see `NameDepth`. */
type FlowKind = 'plain' | 'module' | 'root'

/** Follows a value from the use of a name to where it ends up. */
class Flow {
  readonly #uses: NameUses
  readonly #isGlobal: (name: string) => boolean
  readonly #kind: FlowKind
  readonly #isBuffer: boolean
  readonly #known = new Map<Variable, number>()
  /** Follows variables of the function itself: what they hold is not a module. */
  readonly #inner: Flow

  /** `isBuffer`: the value, or something in it, is a `Buffer`. */
  constructor(
    uses: NameUses,
    isGlobal: (name: string) => boolean,
    kind: FlowKind,
    isBuffer: boolean,
  ) {
    this.#uses = uses
    this.#isGlobal = isGlobal
    this.#kind = kind
    this.#isBuffer = isBuffer
    this.#inner = kind === 'module' ? new Flow(uses, isGlobal, 'plain', isBuffer) : this
  }

  /** The first level of the value that may change. */
  depthOf({ node, access, around }: NameUse): number {
    // The variable gets another value: its previous value is unchanged.
    if (access === 'write') return Infinity
    return access === 'read' ? this.#at(node, { around, index: 0 }, 0) : 0
  }

  /** `node` has the value. */
  #at(node: Node, place: Place, level: number): number {
    const { around, index } = place
    const parent = around[index]
    if (parent === undefined) return level
    const outside = (value: Node): number => this.#at(value, outer(place), level)
    switch (parent.type) {
      case 'BinaryExpression':
        return parent.operator === 'instanceof' && parent.left === node ? level : Infinity
      case 'UnaryExpression':
      case 'TemplateLiteral':
      case 'ExpressionStatement':
      case 'IfStatement':
      case 'WhileStatement':
      case 'DoWhileStatement':
      case 'ForStatement':
      case 'ForInStatement':
      case 'SwitchStatement':
      case 'SwitchCase':
        return around[index + 1]?.type === 'TaggedTemplateExpression' ? level : Infinity
      case 'MemberExpression':
        return parent.object === node ? this.#member(parent, place, level) : Infinity
      case 'ChainExpression':
      case 'ParenthesizedExpression':
      case 'LogicalExpression':
      case 'AwaitExpression':
        return outside(parent)
      case 'ConditionalExpression':
        return parent.test === node ? Infinity : outside(parent)
      case 'SequenceExpression':
        return parent.expressions.at(-1) === node ? outside(parent) : Infinity
      case 'TaggedTemplateExpression':
        return parent.tag === node ? Infinity : level
      case 'CallExpression':
        return parent.callee === node ? Infinity : this.#argument(parent, node, outer(place), level)
      case 'NewExpression':
        return parent.callee === node ? level : this.#argument(parent, node, outer(place), level)
      case 'SpreadElement':
        return this.#spread(outer(place), level)
      case 'AssignmentExpression':
        return parent.right === node && isArithmetic(parent.operator) ? Infinity : level
      case 'VariableDeclarator':
        return parent.init === node ? this.#pattern(parent.id, level) : level
      case 'ForOfStatement':
        return parent.right === node ? this.#loop(parent, level + 1) : Infinity
      case 'Property':
        return parent.computed && parent.key === node ? Infinity : level
      case 'ReturnStatement':
      case 'ArrowFunctionExpression':
        return this.#kind === 'root' && isOfRoot(place) ? Infinity : level
      default:
        return level
    }
  }

  /** A property of the value is used. */
  #member(member: acorn.MemberExpression, place: Place, level: number): number {
    const { around, index } = place
    const name = staticName(member.property, member.computed)
    const next = around[index + 1]
    if (next === undefined || isChange(next, around[index + 2], member)) return level
    const isCall = next.type === 'CallExpression' && next.callee === member
    if (!isCall && this.#isMemory(name)) return level
    if (name !== undefined && COUNTS.has(name)) return Infinity
    if (isCall) {
      if (this.#kind === 'module' && index === 0) return Infinity
      return this.#method(next, outer(place), level)
    }
    if (next.type === 'TaggedTemplateExpression') return level
    return this.#at(member, outer(place), level + 1)
  }

  /** Whether a property of a value is memory that the value is only a view of. */
  #isMemory(name: string | undefined): boolean {
    return name === 'buffer' || (this.#isBuffer && name !== undefined && SHARING.has(name))
  }

  #method(call: acorn.CallExpression, place: Place, level: number): number {
    const { callee } = call
    if (callee.type !== 'MemberExpression') return level
    const name = staticName(callee.property, callee.computed)
    if (name === undefined) return level
    // The slice of a buffer is another view of the same memory.
    if (this.#isBuffer && name === 'slice') return this.#at(call, outer(place), level)
    if (TELLING.has(name)) return Infinity
    const taken = CALLBACKS.get(name)
    const [first] = call.arguments
    const isComparison = taken === COMPARED && first === undefined
    const given =
      taken === undefined || isComparison ? Infinity : this.#callback(first, taken, level)
    if (FINDING.has(name)) return Math.min(given, this.#at(call, outer(place), level + 1))
    if (COPYING.has(name)) return Math.min(given, this.#copy(call, outer(place), level, level))
    if (LISTING.has(name)) return this.#copy(call, outer(place), level)
    // The result of such a function was examined with it; without a first value it is an element.
    const isAccumulated = taken === ACCUMULATED && call.arguments.length < 2
    if (taken === undefined) return level
    return isAccumulated ? Math.min(given, level + 1) : given
  }

  /**
   * `node` is a new collection with the elements of a value of this level: changes to the
   * collection change nothing else. `listLevel`: the level to treat it as; one less than that of
   * the value if its elements may be entries of a map, which are not a level of their own.
   */
  #copy(node: Node, place: Place, level: number, listLevel: number = level - 1): number {
    if (this.#kind === 'module') return level + 1
    const own = this.#change(node, place, listLevel)
    return Math.max(level + 1, own ?? this.#at(node, place, listLevel))
  }

  /** A new collection is changed by its own method; undefined if the use is another one. */
  #change(node: Node, place: Place, level: number): number | undefined {
    const { around, index } = place
    const [member, call] = around.slice(index, index + 2)
    if (member?.type !== 'MemberExpression' || member.object !== node) return undefined
    if (call?.type !== 'CallExpression' || call.callee !== member) return undefined
    const name = staticName(member.property, member.computed) ?? ''
    if (ADDING.has(name)) return Infinity
    const after = outer(outer(place))
    if (REMOVING.has(name)) return this.#at(call, after, level + 1)
    if (!REORDERING.has(name)) return undefined
    const [first] = call.arguments
    const given =
      name === 'sort' && first !== undefined ? this.#callback(first, COMPARED, level) : Infinity
    return Math.min(given, this.#copy(call, after, level, level))
  }

  /** The elements of the value are spread; `place`: of the spread. */
  #spread(place: Place, level: number): number {
    const { around, index } = place
    const target = around[index]
    if (target?.type === 'ArrayExpression') return this.#copy(target, outer(place), level)
    const isMath = target?.type === 'CallExpression' && this.#isOfMath(target)
    return isMath ? Infinity : level + 1
  }

  #isOfMath({ callee }: acorn.CallExpression): boolean {
    if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return false
    return callee.object.name === 'Math' && this.#isGlobal('Math')
  }

  /** A function is called for each element; `taken`: the levels of its parameters, from here. */
  #callback(fn: Node | undefined, taken: readonly number[], level: number): number {
    if (fn?.type === 'Identifier' && CONVERTERS.has(fn.name) && this.#isGlobal(fn.name)) {
      return Infinity
    }
    if (fn?.type !== 'ArrowFunctionExpression') return level
    const depths = fn.params.map((parameter, at) =>
      parameter.type === 'RestElement' ? level : this.#pattern(parameter, level + (taken[at] ?? 0)),
    )
    return Math.min(Infinity, ...depths)
  }

  /** The value is an argument; `place`: of the call. */
  #argument(
    call: acorn.CallExpression | acorn.NewExpression,
    node: Node,
    place: Place,
    level: number,
  ): number {
    const { callee } = call
    const [first, second] = call.arguments
    if (callee.type === 'Identifier' && this.#isGlobal(callee.name)) {
      if (call.type === 'NewExpression') {
        return NEW_COPY.has(callee.name) ? this.#copy(call, place, level) : level
      }
      return CONVERTERS.has(callee.name) || TAKING.has(callee.name) ? Infinity : level
    }
    if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return level
    if (!this.#isGlobal(callee.object.name)) return level
    const name = staticName(callee.property, callee.computed)
    const path = `${callee.object.name}.${name ?? ''}`
    if (path === 'JSON.stringify') return isNothing(second) ? Infinity : level
    if (TAKING.has(path) || callee.object.name === 'Math') return Infinity
    if (path === 'Object.assign' && first === node) return level
    const isList = LISTS.has(path) && first === node
    if (isList && second === undefined) return this.#copy(call, place, level)
    return OPENING.has(path) && (path !== 'Array.from' || isSafeMapping(second)) ? level + 1 : level
  }

  #loop({ left }: acorn.ForOfStatement, level: number): number {
    const [declarator] = left.type === 'VariableDeclaration' ? left.declarations : []
    return declarator === undefined ? level : this.#pattern(declarator.id, level, true)
  }

  /**
   * A value of this level is destructured by a pattern, or gets a name. `isItem`: it comes from an
   * iteration and may be an entry of a map, which is a new array: values in a map are one level
   * less deep than in an array.
   */
  #pattern(pattern: Node, level: number, isItem: boolean = false): number {
    const inner = isItem ? level : level + 1
    switch (pattern.type) {
      case 'Identifier': {
        const inside = this.#inner
        const depth = inside.#named(this.#uses.declaredBy(pattern))
        return level + (isItem ? Math.max(0, depth - 1) : depth)
      }
      case 'AssignmentPattern':
        return this.#pattern(pattern.left, level, isItem)
      case 'ObjectPattern':
        return Math.min(
          Infinity,
          ...pattern.properties.map((each) =>
            each.type === 'Property' ? this.#property(each, level, inner) : inner,
          ),
        )
      case 'ArrayPattern':
        return Math.min(
          Infinity,
          ...pattern.elements.map((each) => {
            if (each === null) return Infinity
            return each.type === 'RestElement' ? inner : this.#pattern(each, inner, true)
          }),
        )
      default:
        return level
    }
  }

  #property(
    { key, computed, value }: acorn.AssignmentProperty,
    level: number,
    inner: number,
  ): number {
    if (this.#isMemory(staticName(key, computed))) return level
    return this.#pattern(value, inner)
  }

  /** The depth to which the value of a variable of the function itself is only read. */
  #named(variable: Variable | undefined): number {
    if (variable === undefined || variable.kind === 'var') return 0
    const known = this.#known.get(variable)
    if (known !== undefined) return known
    // A variable that leads back to itself shows nothing.
    this.#known.set(variable, 0)
    const uses = this.#uses.local.get(variable) ?? []
    const isSteady = uses.every(({ access }) => access === 'read' || access === 'initialize')
    const depths = uses.filter(({ access }) => access === 'read').map((use) => this.depthOf(use))
    const depth = isSteady ? Math.min(Infinity, ...depths) : 0
    this.#known.set(variable, depth)
    return depth
  }
}

/** Whether a property is assigned or deleted. */
function isChange(parent: Node, above: Node | undefined, member: Node): boolean {
  switch (parent.type) {
    case 'AssignmentExpression':
      return parent.left === member
    case 'UpdateExpression':
    case 'RestElement':
    case 'ArrayPattern':
      return true
    case 'UnaryExpression':
      return parent.operator === 'delete'
    case 'AssignmentPattern':
    case 'ForInStatement':
    case 'ForOfStatement':
      return parent.left === member
    case 'ChainExpression':
      return above?.type === 'UnaryExpression' && above.operator === 'delete'
    case 'Property':
      return above?.type === 'ObjectPattern'
    default:
      return false
  }
}

function isArithmetic(operator: acorn.AssignmentOperator): boolean {
  return operator !== '=' && !['||=', '&&=', '??='].includes(operator)
}

function isNothing(node: Node | undefined): boolean {
  return node === undefined || (node.type === 'Literal' && node.value === null)
}

/** A function whose only arguments are an element and its index. */
function isSafeMapping(node: Node | undefined): boolean {
  return node === undefined || isFunction(node)
}

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
}

/** How a function affects its surroundings and itself. */
interface ReadDepths {
  readonly byName: ReadonlyMap<string, NameDepth>
  /** Its own name, or `arguments.callee`, is used other than by calling it. */
  readonly exposesItself: boolean
}

/** The properties that are numbers on every object that is not a plain one. */
export const COUNTS: ReadonlySet<string> = new Set(['length', 'size', 'byteLength'])

/** Analyses a function. `isGlobal`: whether a free name has its usual global meaning. */
export function readDepthsOf(
  { root }: ParsedText,
  isStrict: boolean,
  isGlobal: (name: string) => boolean,
): ReadDepths {
  const uses = new NameUses(root, isStrict)
  const byName = new Map<string, NameDepth>()
  for (const [name, all] of uses.free) {
    const depthAs = (kind: FlowKind): number => {
      const flow = new Flow(uses, isGlobal, kind)
      return Math.min(...all.map((use) => flow.depthOf(use)))
    }
    const depth = depthAs('plain')
    const rootDepth = uses.callsItself ? depth : depthAs('root')
    byName.set(name, { depth, moduleDepth: depthAs('module'), rootDepth })
  }
  return { byName, exposesItself: uses.exposesItself }
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
  readonly #known = new Map<Variable, number>()
  /** Follows variables of the function itself: what they hold is not a module. */
  readonly #inner: Flow

  constructor(uses: NameUses, isGlobal: (name: string) => boolean, kind: FlowKind) {
    this.#uses = uses
    this.#isGlobal = isGlobal
    this.#kind = kind
    this.#inner = kind === 'module' ? new Flow(uses, isGlobal, 'plain') : this
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
    if (name === 'buffer') return level
    if (name !== undefined && COUNTS.has(name)) return Infinity
    if (next.type === 'CallExpression' && next.callee === member) {
      if (this.#kind === 'module' && index === 0) return Infinity
      return this.#method(next, outer(place), level)
    }
    if (next.type === 'TaggedTemplateExpression') return level
    return this.#at(member, outer(place), level + 1)
  }

  #method(call: acorn.CallExpression, place: Place, level: number): number {
    const { callee } = call
    if (callee.type !== 'MemberExpression') return level
    const name = staticName(callee.property, callee.computed)
    if (name === undefined) return level
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
            each.type === 'Property' ? this.#pattern(each.value, inner) : inner,
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

function setOf(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}

/** Methods that return only numbers, texts and other primitives. */
const TELLING = setOf(
  'includes indexOf lastIndexOf join has toString toLocaleString hasOwnProperty test exec call ' +
    'apply getTime getFullYear getMonth getDate getDay getHours getMinutes getSeconds ' +
    'getMilliseconds getTimezoneOffset getUTCFullYear getUTCMonth getUTCDate getUTCDay ' +
    'getUTCHours getUTCMinutes getUTCSeconds getUTCMilliseconds toISOString toJSON ' +
    'toDateString toTimeString toUTCString getInt8 getUint8 getInt16 getUint16 getInt32 ' +
    'getUint32 getFloat32 getFloat64 getBigInt64 getBigUint64 isSubsetOf isSupersetOf ' +
    'isDisjointFrom',
)

/** Methods that return one of the elements. */
const FINDING = setOf('at get find findLast')

/** Methods that return a new collection with the elements in it. */
const COPYING = setOf(
  'slice concat filter flat toReversed toSorted toSpliced with union intersection difference ' +
    'symmetricDifference',
)

/** Methods that return an iterator of the elements or of entries. */
const LISTING = setOf('entries keys values')

/** Methods that only add to a collection, and return a number. */
const ADDING = setOf('push unshift')

/** Methods that remove an element of a collection, and return it. */
const REMOVING = setOf('pop shift')

/** Methods that change a collection, and return it. */
const REORDERING = setOf('sort reverse fill copyWithin')

const ELEMENTS = [1, 1, 0]
const ACCUMULATED = [1, 1, 1, 0]
const COMPARED = [1, 1]

/** Methods that call a function; for each of its parameters, the level of the argument. */
const CALLBACKS: ReadonlyMap<string, readonly number[]> = new Map([
  ...[...setOf('map filter forEach some every find findLast findIndex findLastIndex flatMap')].map(
    (name) => [name, ELEMENTS] as const,
  ),
  ['reduce', ACCUMULATED],
  ['reduceRight', ACCUMULATED],
  ['toSorted', COMPARED],
])

/** Functions that return primitives. */
const CONVERTERS = setOf('Number String Boolean BigInt parseInt parseFloat isNaN isFinite')

/** Functions that change nothing and keep no reference. */
const TAKING = setOf(
  'structuredClone Array.isArray Object.keys Object.getOwnPropertyNames Object.hasOwn ' +
    'Object.is Object.isFrozen console.log console.info console.warn console.error ' +
    'console.debug console.dir console.table Buffer.byteLength Number.isInteger Number.isFinite',
)

/** Functions that return a new array with the content of the argument in it. */
const LISTS = setOf('Object.values Object.entries Array.from')

/** Functions that return a new object with the content of the argument in it. */
const OPENING = setOf('Object.values Object.entries Object.fromEntries Object.assign Array.from')

/** Classes whose instances contain the elements of their argument. */
const NEW_COPY = setOf('Map Set')

// Whether a variable at the top of a module can be created again from its initializer: `const
// schema = z.object({ name: z.string() })`. That is the case if the initializer calls only
// packages, the language and variables of the same kind, and does not depend on the moment or the
// process.

import { isBuiltin } from 'node:module'
import type * as acorn from 'acorn'
import type { Shape } from './sites.js'
import { calleeName, literalOf } from './initializer.js'
import type { ImportedName, Initializer, Scope, Variable } from './scope.js'
import { eachChild, isFunction, staticName, type Node } from './parse.js'

/** Globals that are the same in each process, and whose functions change nothing. */
export const STEADY_GLOBALS: ReadonlySet<string> = new Set(
  (
    'undefined NaN Infinity Object Array Number String Boolean BigInt RegExp JSON Map Set Intl ' +
    'URL URLSearchParams TextEncoder TextDecoder Headers Blob File Buffer ArrayBuffer DataView ' +
    'Uint8Array Int8Array Uint16Array Int16Array Uint32Array Int32Array Float32Array ' +
    'Float64Array BigInt64Array BigUint64Array Uint8ClampedArray Error TypeError RangeError Math ' +
    'Temporal structuredClone parseInt parseFloat isNaN isFinite'
  ).split(' '),
)

/** Their properties that are not. */
const UNSTEADY: ReadonlySet<string> = new Set(['random', 'Now', 'setPrototypeOf', 'assign'])

/** Modules of Node whose functions only create values. */
const STEADY_MODULES = /^(?:node:)?(?:util|path|url|string_decoder|async_hooks|querystring)$/

/** The function by which istanbul counts the executed code of a script. */
export const COVERAGE: RegExp = /^cov_[0-9a-z]+$/

/**
 * Whether evaluating the expression again, elsewhere and later, creates an equal value. A part of
 * another value belongs to that value.
 */
export function makesValue(node: Node, scope: Scope): boolean {
  if (node.type === 'Identifier' || isFunction(node)) return false
  return isRemakable(node, scope) && (node.type !== 'MemberExpression' || isSteady(node, scope))
}

function isRemakable(node: Node, scope: Scope): boolean {
  const all = (nodes: readonly (Node | null | undefined)[]): boolean =>
    nodes.every((each) => !each || isRemakable(each, scope))
  switch (node.type) {
    case 'Literal':
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
      return true
    case 'Identifier':
      return scope.find(node.name) !== undefined || STEADY_GLOBALS.has(node.name)
    case 'TemplateLiteral':
    case 'SequenceExpression':
      return all(node.expressions)
    case 'TaggedTemplateExpression':
      return isSteady(node.tag, scope) && all(node.quasi.expressions)
    case 'ArrayExpression':
      return all(node.elements)
    case 'ObjectExpression':
      return all(node.properties)
    case 'Property':
      return (!node.computed || isRemakable(node.key, scope)) && isRemakable(node.value, scope)
    case 'SpreadElement':
      return isRemakable(node.argument, scope)
    case 'UpdateExpression':
      return COVERAGE.test(rootNameOf(node.argument) ?? '')
    case 'UnaryExpression':
      return node.operator !== 'delete' && isRemakable(node.argument, scope)
    case 'BinaryExpression':
    case 'LogicalExpression':
      return all([node.left, node.right])
    case 'ConditionalExpression':
      return all([node.test, node.consequent, node.alternate])
    case 'ChainExpression':
      return isRemakable(node.expression, scope)
    case 'MemberExpression': {
      const name = staticName(node.property, node.computed)
      if (name === undefined && !isRemakable(node.property, scope)) return false
      return !UNSTEADY.has(name ?? '') && isRemakable(node.object, scope)
    }
    case 'CallExpression':
    case 'NewExpression':
      return isSteady(node.callee, scope) && isRemakable(node.callee, scope) && all(node.arguments)
    default:
      return false
  }
}

/** The facts that the expression shows about its value. */
export function shapeOf(node: Node, scope: Scope): Shape {
  switch (node.type) {
    case 'Literal':
    case 'TemplateLiteral': {
      const value = literalOf(node)
      return value === undefined ? undefined : { kind: 'literal', value }
    }
    case 'ArrayExpression': {
      const { elements } = node
      if (elements.some((each) => each?.type === 'SpreadElement' || each === null)) return undefined
      const shapes = elements.map((each, at) => [`${at}`, each && shapeOf(each, scope)] as const)
      return { kind: 'keys', keys: new Map(shapes.map(([at, shape]) => [at, shape ?? undefined])) }
    }
    case 'ObjectExpression': {
      const keys = new Map<string, Shape>()
      for (const each of node.properties) {
        const name = each.type === 'Property' ? staticName(each.key, each.computed) : undefined
        if (each.type !== 'Property' || name === undefined || name === '__proto__') return undefined
        keys.set(name, each.kind === 'init' ? shapeOf(each.value, scope) : undefined)
      }
      return { kind: 'keys', keys }
    }
    case 'CallExpression':
    case 'NewExpression':
      return shapeOfMade(node, scope)
    default:
      return undefined
  }
}

/** `new Map([[a, b]])`, `new Set([a])`, `Object.freeze({ a })`. */
function shapeOfMade(node: acorn.CallExpression | acorn.NewExpression, scope: Scope): Shape {
  const name = rootNameOf(node)
  const [first, ...others] = node.arguments
  if (name === undefined || scope.find(name) !== undefined || others.length > 0) return undefined
  if (node.type === 'CallExpression') {
    const isFrozen = name === 'Object' && ['freeze', 'seal'].includes(calleeName(node.callee) ?? '')
    return isFrozen && first !== undefined ? shapeOf(first, scope) : undefined
  }
  const width = name === 'Map' ? 2 : name === 'Set' ? 1 : undefined
  if (width === undefined) return undefined
  if (first === undefined) return { kind: 'entries', entries: [] }
  if (first.type !== 'ArrayExpression') return undefined
  const entries = first.elements.map((each) => entryShapes(each, width, scope))
  return entries.every((each) => each !== undefined) ? { kind: 'entries', entries } : undefined
}

/** `width`: 2 for the key and value of a map, 1 for the value of a set. */
function entryShapes(
  element: Node | null,
  width: 1 | 2,
  scope: Scope,
): readonly Shape[] | undefined {
  if (element === null || element.type === 'SpreadElement') return undefined
  if (width === 1) return [shapeOf(element, scope)]
  if (element.type !== 'ArrayExpression' || element.elements.length !== width) return undefined
  const parts = element.elements.flatMap((each) =>
    each === null || each.type === 'SpreadElement' ? [] : [shapeOf(each, scope)],
  )
  return parts.length === width ? parts : undefined
}

/** Whether the value is an array, a map, a set, or an object that the text creates. */
export function makesContainer(node: Node, scope: Scope): boolean {
  if (node.type === 'ArrayExpression' || node.type === 'ObjectExpression') return true
  if (node.type !== 'CallExpression' && node.type !== 'NewExpression') return false
  const name = rootNameOf(node) ?? ''
  return ['Array', 'Map', 'Object', 'Set'].includes(name) && scope.find(name) === undefined
}

/** The names that the expression reads when it is evaluated, and not in a function. */
export function inputsOf(node: Node): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (each: Node): void => {
    if (each.type === 'Identifier' && !COVERAGE.test(each.name)) found.add(each.name)
    if (!isFunction(each)) eachChild(each, visit)
  }
  visit(node)
  return found
}

/** The first name of the member `a.b.c` or the call `a.b()`: `a`. */
export function rootNameOf(node: Node): string | undefined {
  switch (node.type) {
    case 'Identifier':
      return node.name
    case 'MemberExpression':
      return rootNameOf(node.object)
    case 'CallExpression':
    case 'NewExpression':
      return rootNameOf(node.callee)
    case 'TaggedTemplateExpression':
      return rootNameOf(node.tag)
    case 'ChainExpression':
      return rootNameOf(node.expression)
    case 'SequenceExpression': {
      const last = node.expressions.at(-1)
      return last === undefined ? undefined : rootNameOf(last)
    }
    default:
      return undefined
  }
}

/** Whether it belongs to a package, the language, or a variable that can be created again. */
export function isSteady(callee: Node, scope: Scope): boolean {
  const name = rootNameOf(callee)
  if (name === undefined) return false
  const variable = scope.find(name)
  if (variable === undefined) return STEADY_GLOBALS.has(name)
  return isSteadyVariable(variable) || importedIn(callee, scope) !== undefined
}

/** Methods of literals may be the user's own functions, which may do anything. */
function isSteadyVariable({ origin, wrappedSpecifier, initializer }: Variable): boolean {
  const specifier = origin?.specifier ?? wrappedSpecifier
  if (specifier === undefined) return initializer !== undefined && !isLiteral(initializer)
  return isPackage(specifier) || STEADY_MODULES.test(specifier)
}

function isLiteral({ shape }: Initializer): boolean {
  return shape?.kind === 'keys'
}

/** What must be true of other modules, so that an initializer can be evaluated again. */
type Reliance = Pick<Initializer, 'needs' | 'packages'>

/**
 * The modules whose functions the expression calls, itself or through the variables that it calls.
 * Only the process in which it was evaluated knows which of them are packages: a link may lead to a
 * module of the user's own.
 */
export function relianceOf(node: Node, scope: Scope): Reliance {
  const needs: ImportedName[] = []
  const packages: Reliance['packages'][number][] = []
  const rely = (callee: Node): void => {
    const imported = importedIn(callee, scope)
    if (imported !== undefined) needs.push(imported)
    const { origin, wrappedSpecifier, initializer } = scope.find(rootNameOf(callee) ?? '') ?? {}
    const specifier = origin?.specifier ?? wrappedSpecifier
    if (specifier === undefined) {
      needs.push(...(initializer?.needs ?? []))
      packages.push(...(initializer?.packages ?? []))
    } else if (isPackage(specifier)) packages.push({ specifier, form: origin?.form ?? 'import' })
  }
  const visit = (each: Node): void => {
    if (isFunction(each)) return
    if (each.type === 'CallExpression' || each.type === 'NewExpression') rely(each.callee)
    else if (each.type === 'TaggedTemplateExpression') rely(each.tag)
    eachChild(each, visit)
  }
  if (node.type === 'MemberExpression') rely(node)
  visit(node)
  return { needs, packages }
}

/** `a` in `a.b()`, or in `module.a.b()`, if it is an export of a module of the user's own. */
function importedIn(callee: Node, scope: Scope): ImportedName | undefined {
  const path: string[] = []
  let node = callee
  while (node.type !== 'Identifier') {
    if (node.type === 'MemberExpression') {
      const name = staticName(node.property, node.computed)
      if (name === undefined) return undefined
      path.unshift(name)
      node = node.object
    } else if (node.type === 'CallExpression') {
      if (node.callee.type !== 'MemberExpression') return undefined
      node = node.callee
    } else if (node.type === 'ChainExpression') node = node.expression
    else return undefined
  }
  const { name } = node
  const { origin, wrappedSpecifier, kind } = scope.find(name) ?? {}
  const specifier = origin?.specifier ?? wrappedSpecifier
  const isOwn = kind === 'wrapper' && name === 'exports'
  if (!isOwn && (specifier === undefined || isPackage(specifier) || isBuiltin(specifier)))
    return undefined
  const isModule = isOwn || origin === undefined || origin.path.length === 0
  if (path.length < (isModule ? 2 : 1)) return undefined
  return { name, member: isModule ? path[0] : undefined }
}

/**
 * Whether a specifier looks like the name of a package: see `relianceOf`. Calls to other modules of
 * Node and to the user's modules may do anything.
 */
export function isPackage(specifier: string): boolean {
  if (specifier.includes('/node_modules/')) return true
  return !/^(?:\.{0,2}\/|#|[a-z]+:|~\/|@\/)/i.test(specifier) && !isBuiltin(specifier)
}

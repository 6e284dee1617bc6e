// Expressions that create an object which no other evaluation creates, and the helpers of esbuild
// that such expressions, and the modules of its bundles, are wrapped in.

import type * as acorn from 'acorn'
import { FRESH_OBJECT } from './initializer.js'
import { type Node, staticName } from './parse.js'
import type { Scope, Variable } from './scope.js'

/** Built-in classes that return another object each time, whatever their arguments. */
const FRESH_CLASS: ReadonlySet<string> = new Set(['Map', 'Set', 'WeakMap', 'WeakSet', 'Array'])

/**
 * Whether an expression creates an object, or a symbol, that no other evaluation creates: then the
 * helpers of a compiler that it calls, which must never be assigned. Undefined if that is not
 * certain.
 */
export function makesFresh(node: Node, scope: Scope): readonly Variable[] | undefined {
  if (FRESH_OBJECT.has(node.type)) return []
  switch (node.type) {
    case 'Literal':
      return 'regex' in node && node.regex ? [] : undefined
    case 'NewExpression':
      return isGlobal(node.callee, scope, FRESH_CLASS) ? [] : undefined
    case 'SequenceExpression': {
      const last = node.expressions.at(-1)
      return last && makesFresh(last, scope)
    }
    case 'CallExpression':
      return isGlobal(node.callee, scope, SYMBOL) ? [] : namesFresh(node, scope)
    default:
      return undefined
  }
}

const SYMBOL: ReadonlySet<string> = new Set(['Symbol'])
const OBJECT: ReadonlySet<string> = new Set(['Object'])

function isGlobal(callee: Node, scope: Scope, names: ReadonlySet<string>): boolean {
  if (callee.type !== 'Identifier' || !names.has(callee.name)) return false
  return scope.find(callee.name) === undefined
}

/** `__name(() => 1, 'f')`, by which esbuild keeps the name of a function. */
function namesFresh(
  { callee, arguments: [value] }: acorn.CallExpression,
  scope: Scope,
): readonly Variable[] | undefined {
  const known = callee.type === 'Identifier' ? scope.find(callee.name) : undefined
  if (known?.esbuildRole !== 'name' || value === undefined) return undefined
  const inner = makesFresh(value, scope)
  return inner && [known, ...known.freshVia, ...inner]
}

/**
 * esbuild's helpers: `var __defProp = Object.defineProperty`,
 * `var __name = (target, value) => __defProp(target, 'name', …)`, which returns its first argument,
 * and `__commonJS`, which calls the function of a module when it is first needed.
 */
export function setEsbuildRole(
  variable: Variable,
  value: Node,
  { scope, source }: { readonly scope: Scope; readonly source: string },
): void {
  if (value.type === 'MemberExpression') {
    const isOfObject = isGlobal(value.object, scope, OBJECT)
    const isDefine = staticName(value.property, value.computed) === 'defineProperty'
    if (isOfObject && isDefine) variable.esbuildRole = 'define'
    return
  }
  if (value.type !== 'ArrowFunctionExpression') return
  if (isModuleCaller(source.slice(value.start, value.end))) variable.esbuildRole = 'module'
  if (value.body.type !== 'CallExpression') return
  const { callee, optional, arguments: values } = value.body
  if (callee.type !== 'Identifier' || optional) return
  if (!value.params.every(({ type }) => type === 'Identifier')) return
  const names = value.params.map((each) => (each.type === 'Identifier' ? each.name : ''))
  const [target] = values
  const isFirst = target?.type === 'Identifier' && target.name === names[0]
  const define = names.includes(callee.name) ? undefined : scope.find(callee.name)
  if (!isFirst || new Set(names).size < names.length || define?.esbuildRole !== 'define') return
  variable.esbuildRole = 'name'
  variable.freshVia = [define]
}

const MODULE_CALLER = new RegExp(
  [
    String.raw`^\((?<f>[\w$]+),(?<m>[\w$]+)\)=>(?:\(\)=>|function[\w$]+\(\))`,
    String.raw`\(?(?:\{(?:try\{)?return)?`,
    String.raw`\k<m>\|\|(?:\k<f>|\(0,\k<f>\[[\w$]+\(\k<f>\)\[0\]\]\))`,
    String.raw`\(\(\k<m>=\{exports:\{\}\}\)\.exports,\k<m>\),\k<m>\.exports[;)}]*`,
    String.raw`(?:catch\((?<e>[\w$]+)\)\{throw\k<m>=0,\k<e>;?\}[;}]*)?$`,
  ].join(''),
)

/** Whether this is `__commonJS` of esbuild, minified or not. */
function isModuleCaller(text: string): boolean {
  if (text.length > MAX_CALLER || !text.includes('.exports')) return false
  return MODULE_CALLER.test(text.replaceAll(/\s/g, ''))
}

const MAX_CALLER = 400

/**
 * The name of the function that is called with nothing but the function with these ancestors, as in
 * `helper(exports => …)`, or with an object that has it as a method, `helper({ 'a.js'() {…} })`.
 */
export function callerIn(ancestors: readonly Node[]): string | undefined {
  const [outer, object, parent] = [-3, -2, -1].map((at) => ancestors.at(at))
  const isMethod = parent?.type === 'Property' && object?.type === 'ObjectExpression'
  if (isMethod && (object.properties.length > 1 || parent.computed)) return undefined
  const call = isMethod ? outer : parent
  if (call?.type !== 'CallExpression' || call.arguments.length > 1) return undefined
  return call.callee.type === 'Identifier' ? call.callee.name : undefined
}

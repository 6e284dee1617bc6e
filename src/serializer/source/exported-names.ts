// The exports of a CommonJS file, and of a module that a loader has wrapped in a function: the
// variable or expression behind each name. Compilers write exports in several ways:
//
//   exports.a = b                      the variable b
//   const a = exports.a = f()          the variable a
//   exports.a = f()                    the expression: a variable by the name `exports.a`
//   __export(exports, { a: () => b })  the variable b, as in `__exportName__('a', () => b)`
//   Object.defineProperty(exports, 'a', { get() { return b } })
//
// Instead of `b` there may be `c.b`, which is an export of the module that `c` holds.

import type * as acorn from 'acorn'
import { calleeName, moduleValueOf } from './initializer.js'
import type { Scope, Variable } from './scope.js'
import { isFunction, staticName, statementsOf, type Node } from './parse.js'

/** Called with an expression that is the only value of an export. */
type OnExpression = (variable: Variable, value: Node, exports: Variable) => void

/** Everything that another module exports: `__exportStar(require('x'), exports)`. */
const STAR = /^__(?:exportStar|reExport|vite_ssr_exportAll__)\d*$/

const EXPORTER = /^__(?:export|defProp|(?:vite_ssr|vi)_exportName__)\d*$|^defineProperty$/

/** Collects the exports. */
export class ExportedNames {
  /** Exported name to local name. */
  readonly byName: Map<string, string> = new Map()
  /** Specifiers of modules whose exports are all exported again. */
  readonly stars: string[] = []
  readonly #onExpression: OnExpression

  constructor(onExpression: OnExpression) {
    this.#onExpression = onExpression
  }

  /** A property is assigned. `ancestors`: outermost first. */
  target(member: acorn.MemberExpression, ancestors: readonly Node[], scope: Scope): void {
    const name = staticName(member.property, member.computed)
    const exports = exportsIn(member.object, scope)
    if (name === undefined || exports === undefined || !scope.owner.isTop) return
    let index = ancestors.length - 1
    const inner = ancestors[index]
    if (inner?.type !== 'AssignmentExpression' || inner.left !== member) return
    while (ancestors[index - 1]?.type === 'AssignmentExpression') index -= 1
    const outer = ancestors[index - 1]
    const value = assignedValue(inner)
    // Compilers begin with `exports.a = void 0`.
    if (value.type === 'UnaryExpression') {
      exports.scope.declare(`exports.${name}`, 'const', member.start)
      return
    }
    const isNamed = outer?.type === 'VariableDeclarator' && outer.id.type === 'Identifier'
    const local = isNamed ? outer.id : value
    if (local.type === 'Identifier') this.#add(name, local.name)
    else this.#addExpression(name, value, exports)
  }

  /** A function is called. */
  call({ callee, arguments: given }: acorn.CallExpression, scope: Scope): void {
    const called = calleeName(callee) ?? ''
    if (STAR.test(called)) {
      for (const each of given) this.stars.push(...specifiersIn(each, scope))
    }
    if (!EXPORTER.test(called)) return
    const last = given.at(-1)
    if (last?.type === 'ObjectExpression') {
      const key = given.at(-2)
      for (const each of last.properties) {
        if (each.type !== 'Property') continue
        const own = staticName(each.key, each.computed)
        const isGetter = own === 'get' && key?.type === 'Literal'
        const name = isGetter ? String(key.value) : own
        const local = returnedName(each.value)
        if (name !== undefined && local !== undefined) this.#add(name, local)
      }
      return
    }
    const [key] = given
    const local = last && returnedName(last)
    if (key?.type === 'Literal' && local !== undefined) this.#add(String(key.value), local)
  }

  #add(name: string, local: string): void {
    const known = this.byName.get(name)
    // Two values of one name: nothing is certain.
    this.byName.set(name, known === undefined || known === local ? local : '')
  }

  #addExpression(name: string, value: Node, exports: Variable): void {
    const local = `exports.${name}`
    const { scope } = exports
    const known = scope.variables?.get(local)
    if (known?.isInitialized === true) known.isAssigned = true
    this.#add(name, local)
    const variable = known ?? scope.declare(local, 'const', value.start)
    variable.isInitialized = true
    this.#onExpression(variable, value, exports)
  }
}

/** The value that `a = b = value` assigns. */
export function assignedValue(node: Node): Node {
  return node.type === 'AssignmentExpression' && node.operator === '='
    ? assignedValue(node.right)
    : node
}

/** The variable in `exports`, or `module.exports`. */
function exportsIn(node: Node, scope: Scope): Variable | undefined {
  if (node.type === 'MemberExpression') {
    const isExports = staticName(node.property, node.computed) === 'exports'
    const module = node.object.type === 'Identifier' ? scope.find(node.object.name) : undefined
    return isExports && module?.kind === 'wrapper' && module.name === 'module' ? module : undefined
  }
  if (node.type !== 'Identifier') return undefined
  const variable = scope.find(node.name)
  return variable?.kind === 'wrapper' && variable.name === 'exports' ? variable : undefined
}

/** `a` of `() => a`, `a.b` of `function () { return a.b }`, also in a `try`. */
function returnedName(fn: Node): string | undefined {
  if (!isFunction(fn)) return undefined
  const [statement] = statementsOf(fn)
  const inner = statement?.type === 'TryStatement' ? statement.block.body[0] : statement
  const value = inner?.type === 'ReturnStatement' ? inner.argument : fn.body
  if (value?.type === 'Identifier') return value.name
  if (value?.type !== 'MemberExpression' || value.object.type !== 'Identifier') return undefined
  const member = staticName(value.property, value.computed)
  return member === undefined ? undefined : `${value.object.name}.${member}`
}

/** The module in `require('x')`, or in a variable that holds it. */
function specifiersIn(node: Node, scope: Scope): readonly string[] {
  const variable = node.type === 'Identifier' ? scope.find(node.name) : undefined
  const from = variable?.wrappedSpecifier ?? variable?.origin?.specifier
  const specifier = from ?? moduleValueOf(node, scope)?.specifier
  return specifier === undefined ? [] : [specifier]
}

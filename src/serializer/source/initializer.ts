// Facts about the expression that initializes a variable: whether it can be undefined, whether it
// names a module, whether a compiler wrote it.

import type * as acorn from 'acorn'
import { type Node, staticName } from './parse.js'
import type { Scope, Variable } from './scope.js'
import type { LiteralValue } from './sites.js'

/** A constant from `require('…')` or `await import('…')`. */
export interface ModuleValue {
  readonly specifier: string
  readonly form: 'import' | 'require'
  readonly path: readonly string[]
  /** The `require` that was called. */
  readonly via: Variable | undefined
}

/** Expressions that create an object each time. */
export const FRESH_OBJECT: ReadonlySet<string> = new Set([
  'FunctionExpression',
  'ArrowFunctionExpression',
  'ClassExpression',
  'ArrayExpression',
  'ObjectExpression',
])

const NEVER_UNDEFINED: ReadonlySet<string> = new Set([
  ...FRESH_OBJECT,
  'TemplateLiteral',
  'NewExpression',
  'BinaryExpression',
  'UpdateExpression',
  'ImportExpression',
  'Literal',
])

/** The value of a literal, except regular expressions and `null`. */
export function literalOf(node: Node): LiteralValue | undefined {
  if (node.type === 'TemplateLiteral' && node.expressions.length === 0) {
    return node.quasis[0]?.value.cooked ?? undefined
  }
  if (node.type !== 'Literal' || node.value === null || node.value instanceof RegExp)
    return undefined
  return node.value
}

/** Whether the value of an expression can never be undefined, whatever its variables hold. */
export function isNeverUndefined(node: Node): boolean {
  if (NEVER_UNDEFINED.has(node.type)) return true
  switch (node.type) {
    case 'UnaryExpression':
      return node.operator !== 'void'
    case 'AwaitExpression':
      return node.argument.type === 'ImportExpression'
    case 'ConditionalExpression':
      return isNeverUndefined(node.consequent) && isNeverUndefined(node.alternate)
    case 'LogicalExpression':
      return isNeverUndefined(node.right) && (node.operator !== '&&' || isNeverUndefined(node.left))
    case 'AssignmentExpression':
      return node.operator === '=' ? isNeverUndefined(node.right) : isArithmetic(node.operator)
    default:
      return false
  }
}

/** Whether `x op= y` makes `x` a number, bigint or string. */
export function isArithmetic(operator: acorn.AssignmentOperator): boolean {
  return !['=', '||=', '&&=', '??='].includes(operator)
}

/** `require('x')`, `require('x').y.z`, `await import('x')`; undefined for anything else. */
export function moduleValueOf(node: Node, scope: Scope): ModuleValue | undefined {
  const path: string[] = []
  let inner = node
  while (inner.type === 'MemberExpression' && !inner.optional) {
    const name = staticName(inner.property, inner.computed)
    if (name === undefined) return undefined
    path.unshift(name)
    inner = inner.object
  }
  if (inner.type === 'AwaitExpression') {
    const specifier = importedBy(inner.argument)
    return specifier === undefined ? undefined : { specifier, form: 'import', path, via: undefined }
  }
  const call = requireCall(inner, scope)
  return call === undefined ? undefined : { ...call, form: 'require', path }
}

function importedBy(node: Node): string | undefined {
  if (node.type !== 'ImportExpression' || node.options !== null) return undefined
  return textOf(node.source)
}

function requireCall(
  node: Node,
  scope: Scope,
): { readonly specifier: string; readonly via: Variable } | undefined {
  if (node.type !== 'CallExpression' || node.optional || node.callee.type !== 'Identifier') {
    return undefined
  }
  const [first, ...rest] = node.arguments
  const specifier = first === undefined || rest.length > 0 ? undefined : textOf(first)
  const via = scope.find(node.callee.name)
  return specifier !== undefined && via !== undefined && isRequire(via)
    ? { specifier, via }
    : undefined
}

/** Whether a variable is the `require` of its file, provided that it is never assigned. */
export function isRequire(variable: Variable): boolean {
  return variable.isRequire || (variable.kind === 'wrapper' && variable.name === 'require')
}

/** `createRequire(import.meta.url)`, with the function imported under any name. */
export function makesRequire(node: Node, scope: Scope): boolean {
  if (node.type !== 'CallExpression') return false
  const [first, ...rest] = node.arguments
  if (rest.length > 0 || first?.type !== 'MemberExpression') return false
  const isOwnUrl =
    first.object.type === 'MetaProperty' &&
    first.object.meta.name === 'import' &&
    ['url', 'filename'].includes(staticName(first.property, first.computed) ?? '')
  return isOwnUrl && isCreateRequire(node.callee, scope)
}

function isCreateRequire(callee: Node, scope: Scope): boolean {
  const isMember = callee.type === 'MemberExpression'
  const owner = isMember ? callee.object : callee
  if (owner.type !== 'Identifier') return false
  const { origin } = scope.find(owner.name) ?? {}
  if (origin === undefined || !['module', 'node:module'].includes(origin.specifier)) return false
  const last = isMember ? staticName(callee.property, callee.computed) : origin.path.at(-1)
  return last === 'createRequire'
}

/** Compilers' functions that create a kind of namespace from the result of `require`. */
const NAMESPACE_MAKER =
  /^_*(?:importStar|importDefault|toESM|interop_?require_?(?:wildcard|default))\d*$/i
const SSR_IMPORT = /^__(?:vite_ssr|vi)_import/
/** Of vite for `import('x')`, and of vitest for the imports of a file that mocks modules. */
const SSR_DYNAMIC_IMPORT = '__vite_ssr_dynamic_import__'

/** Compiled forms of `import * as x`. */
export function isWrappedModule(node: Node): boolean {
  const isAwaited = node.type === 'AwaitExpression'
  const call = isAwaited ? node.argument : node
  if (call.type !== 'CallExpression') return false
  const name = calleeName(call.callee)
  const [first] = call.arguments
  if (name === undefined || first === undefined) return false
  if (SSR_IMPORT.test(name) || name === SSR_DYNAMIC_IMPORT) return isAwaited
  if (isAwaited) return false
  return NAMESPACE_MAKER.test(name) || (name !== 'require' && isPlainRequire(first))
}

/** The module that a compiler's function was called with, where `isWrappedModule` holds. */
export function wrappedSpecifierOf(node: Node): string | undefined {
  const call = node.type === 'AwaitExpression' ? node.argument : node
  if (!isWrappedModule(node) || call.type !== 'CallExpression') return undefined
  // It may be a mock of that module.
  if (calleeName(call.callee) === SSR_DYNAMIC_IMPORT) return undefined
  const [first] = call.arguments
  if (first?.type !== 'CallExpression') return first === undefined ? undefined : textOf(first)
  const [inner] = first.arguments
  return isPlainRequire(first) && inner !== undefined ? textOf(inner) : undefined
}

function isPlainRequire(node: Node): boolean {
  if (node.type !== 'CallExpression' || node.callee.type !== 'Identifier') return false
  const [first] = node.arguments
  return node.callee.name === 'require' && first !== undefined && textOf(first) !== undefined
}

/** The only export of a module that a compiler has made for one helper. */
const ONLY_EXPORT = /^(?:_|default)$/

/**
 * `f` of `f()`, `tslib.f()` and `(0, tslib.f)()`; also of `f.default()` and `f._()`, by which Babel
 * and swc call helpers of their packages.
 */
export function calleeName(callee: Node): string | undefined {
  if (callee.type === 'SequenceExpression') {
    const last = callee.expressions.at(-1)
    return last === undefined ? undefined : calleeName(last)
  }
  if (callee.type === 'MemberExpression') {
    const { object, property, computed } = callee
    const name = staticName(property, computed)
    return object.type === 'Identifier' && ONLY_EXPORT.test(name ?? '') ? object.name : name
  }
  return callee.type === 'Identifier' ? callee.name : undefined
}

/** The text of a literal. */
function textOf(node: Node): string | undefined {
  if (node.type === 'Literal') return typeof node.value === 'string' ? node.value : undefined
  if (node.type !== 'TemplateLiteral' || node.expressions.length > 0) return undefined
  return node.quasis[0]?.value.cooked ?? undefined
}

// The exports of a module and their sources: needed to follow an import to the variable behind it.

/**
 * A variable of the module itself, or an export of another one; the name `*` means the whole
 * namespace.
 */
export type ExportTarget =
  { readonly local: string } | { readonly from: string; readonly name: string }

/** The exports of a module. */
export interface ModuleExports {
  readonly byName: ReadonlyMap<string, ExportTarget>
  /** Specifiers of `export * from '…'`. */
  readonly stars: readonly string[]
}

/** The name of a value that `export default` exports without a name. Not a variable. */
const DEFAULT_LOCAL = '*default*'

/** Collects the exports; `scope` is that of the module, with the origins of its imports. */
export function moduleExportsOf(program: acorn.Program, scope: Scope): ModuleExports {
  const byName = new Map<string, ExportTarget>()
  const stars: string[] = []
  for (const statement of program.body) {
    switch (statement.type) {
      case 'ExportAllDeclaration': {
        const from = String(statement.source.value)
        if (!statement.exported) stars.push(from)
        else byName.set(nameOf(statement.exported), { from, name: '*' })
        break
      }
      case 'ExportDefaultDeclaration':
        byName.set('default', { local: defaultLocal(statement.declaration) })
        break
      case 'ExportNamedDeclaration':
        addNamed(statement, scope, byName)
        break
      default:
    }
  }
  return { byName, stars }
}

function defaultLocal(node: Node): string {
  const isNamed = node.type === 'FunctionDeclaration' || node.type === 'ClassDeclaration'
  return (isNamed ? node.id?.name : undefined) ?? DEFAULT_LOCAL
}

function addNamed(
  { declaration, source, specifiers }: acorn.ExportNamedDeclaration,
  scope: Scope,
  byName: Map<string, ExportTarget>,
): void {
  for (const local of declaration ? declaredNames(declaration) : []) byName.set(local, { local })
  for (const specifier of specifiers) {
    const name = nameOf(specifier.local)
    const target = source ? { from: String(source.value), name } : targetOf(name, scope)
    byName.set(nameOf(specifier.exported), target)
  }
}

/** Exporting an imported name passes it on. */
function targetOf(local: string, scope: Scope): ExportTarget {
  const variable = scope.variables?.get(local)
  if (variable?.kind !== 'import' || variable.origin === undefined) return { local }
  const { specifier, path } = variable.origin
  return { from: specifier, name: path[0] ?? '*' }
}

function declaredNames(node: acorn.Declaration): readonly string[] {
  if (node.type !== 'VariableDeclaration') return [node.id.name]
  return node.declarations.flatMap(({ id }) => namesOf(id))
}

function namesOf(pattern: Node): readonly string[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name]
    case 'ObjectPattern':
      return pattern.properties.flatMap((each) =>
        namesOf(each.type === 'Property' ? each.value : each),
      )
    case 'ArrayPattern':
      return pattern.elements.flatMap((each) => (each === null ? [] : namesOf(each)))
    case 'RestElement':
      return namesOf(pattern.argument)
    case 'AssignmentPattern':
      return namesOf(pattern.left)
    default:
      return []
  }
}

/** `export { x as 'any text' }` is allowed. */
function nameOf(node: acorn.Identifier | acorn.Literal): string {
  return node.type === 'Identifier' ? node.name : String(node.value)
}

/** Sets the origins of import bindings. */
export function setImportOrigins(program: acorn.Program, scope: Scope): void {
  for (const statement of program.body) {
    if (statement.type !== 'ImportDeclaration') continue
    const { specifiers, source, attributes } = statement
    for (const each of specifiers) {
      const variable = scope.variables?.get(each.local.name)
      if (variable === undefined) continue
      const path = importPath(each)
      variable.isModuleObject = path.length === 0
      // With attributes, the result differs from that of the specifier alone; JSON travels by
      // value.
      if (attributes.length > 0) continue
      variable.origin = { specifier: String(source.value), form: 'import', path }
    }
  }
}

function importPath(
  node: acorn.ImportSpecifier | acorn.ImportDefaultSpecifier | acorn.ImportNamespaceSpecifier,
): readonly string[] {
  if (node.type === 'ImportNamespaceSpecifier') return []
  return [node.type === 'ImportDefaultSpecifier' ? 'default' : nameOf(node.imported)]
}

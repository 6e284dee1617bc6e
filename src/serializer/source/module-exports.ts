// What a module exports, and from where: needed to follow an import to the variable behind it.

import type * as acorn from 'acorn'
import type { Scope } from './scope.js'
import type { Node } from './syntax.js'

/**
 * A variable of the module itself, or an export of another one; the name `*` is all of that one.
 */
export type ExportTarget =
  { readonly local: string } | { readonly from: string; readonly name: string }

/** The exports of a module. */
export interface ModuleExports {
  readonly byName: ReadonlyMap<string, ExportTarget>
  /** Specifiers of `export * from '…'`. */
  readonly stars: readonly string[]
}

/** The name of what `export default` gives a value and no name. Not a variable. */
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

/** To export what was imported is to pass it on. */
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

/** Tells the bindings of imports what they import. */
export function setImportOrigins(program: acorn.Program, scope: Scope): void {
  for (const statement of program.body) {
    if (statement.type !== 'ImportDeclaration') continue
    const { specifiers, source, attributes } = statement
    for (const each of specifiers) {
      const variable = scope.variables?.get(each.local.name)
      if (variable === undefined) continue
      const path = importPath(each)
      variable.isModuleObject = path.length === 0
      // With attributes it is not what the specifier alone would import; JSON travels by value.
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

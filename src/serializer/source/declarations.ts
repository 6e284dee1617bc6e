// Finds what a function, a block or a script declares before its code is looked at: names are known
// throughout their scope, and `var` throughout its function.

import type * as acorn from 'acorn'
import type { Binding } from './function-site.js'
import { Scope } from './scope.js'
import { eachChild, type ClassNode, type Node } from './syntax.js'

type Kind = Binding['kind']

/** Declares the names in a pattern. */
export function declarePattern(pattern: Node, kind: Kind, scope: Scope): void {
  for (const { name, start } of namesIn(pattern)) {
    const variable = scope.declare(name, kind, start)
    if (kind === 'const' || kind === 'import') variable.isFixed = true
  }
}

/** The names that a pattern gives something to. */
export function namesIn(pattern: Node): readonly acorn.Identifier[] {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern]
    case 'ObjectPattern':
      return pattern.properties.flatMap((each) =>
        namesIn(each.type === 'Property' ? each.value : each),
      )
    case 'ArrayPattern':
      return pattern.elements.flatMap((each) => (each === null ? [] : namesIn(each)))
    case 'RestElement':
      return namesIn(pattern.argument)
    case 'AssignmentPattern':
      return namesIn(pattern.left)
    default:
      return []
  }
}

/** Declares what the statements of a block have of their own. */
export function declareBlock(statements: readonly Node[], scope: Scope): void {
  for (const statement of statements) declareStatement(statement, scope)
}

function declareStatement(statement: Node, scope: Scope): void {
  switch (statement.type) {
    case 'VariableDeclaration':
      if (statement.kind !== 'var') declareVariables(statement, scope)
      return
    case 'FunctionDeclaration':
      declareNamed(statement, 'function', scope)
      return
    case 'ClassDeclaration':
      declareNamed(statement, 'class', scope)
      return
    case 'LabeledStatement':
      declareStatement(statement.body, scope)
      return
    case 'ExportNamedDeclaration':
    case 'ExportDefaultDeclaration':
      if (statement.declaration) declareStatement(statement.declaration, scope)
      return
    case 'ImportDeclaration':
      for (const { local } of statement.specifiers) declarePattern(local, 'import', scope)
      break
    default:
  }
}

/** Declares the variables of a declaration in the scope that they belong to. */
export function declareVariables(node: acorn.VariableDeclaration, scope: Scope): void {
  const kind = node.kind === 'var' || node.kind === 'let' ? node.kind : 'const'
  for (const { id } of node.declarations) declarePattern(id, kind, scope)
}

function declareNamed(
  { id, start }: { readonly id?: acorn.Identifier | null; readonly start: number },
  kind: 'function' | 'class',
  scope: Scope,
): void {
  if (!id) return
  const variable = scope.declare(id.name, kind, start)
  variable.isInitialized = true
  variable.mayBeUndefined = false
}

/** Declares what the body of a function or a script has of its own. */
export function declareBody(statements: readonly Node[], scope: Scope): void {
  declareBlock(statements, scope)
  for (const statement of statements) declareVars(statement, scope, undefined)
}

/** The statements with a scope of their own around a place inside of a function. */
interface Around {
  readonly node: Node
  readonly outer: Around | undefined
}

/** Declares each `var` in a statement, and what sloppy code makes of functions in blocks. */
function declareVars(statement: Node, scope: Scope, around: Around | undefined): void {
  switch (statement.type) {
    case 'VariableDeclaration':
      if (statement.kind === 'var') declareVariables(statement, scope)
      return
    case 'FunctionDeclaration':
      if (around !== undefined) declareBlockFunction(statement, scope, around.outer)
      return
    case 'BlockStatement':
    case 'SwitchStatement':
    case 'ForStatement':
    case 'ForInStatement':
    case 'ForOfStatement':
    case 'CatchClause':
    case 'IfStatement':
      eachStatement(statement, (each) =>
        declareVars(each, scope, { node: statement, outer: around }),
      )
      return
    default:
      eachStatement(statement, (each) => declareVars(each, scope, around))
  }
}

/** Calls `visit` with the statements directly inside of one. */
function eachStatement(node: Node, visit: (statement: Node) => void): void {
  switch (node.type) {
    case 'BlockStatement':
    case 'SwitchCase':
    case 'SwitchStatement':
    case 'TryStatement':
    case 'CatchClause':
    case 'ForStatement':
    case 'ForInStatement':
    case 'ForOfStatement':
    case 'WhileStatement':
    case 'DoWhileStatement':
    case 'IfStatement':
    case 'WithStatement':
    case 'LabeledStatement':
    case 'ExportNamedDeclaration':
      eachChild(node, visit)
      break
    default:
  }
}

/**
 * A sloppy function in a block is also a `var`, which is assigned when the block is reached; but
 * not where a block between has a variable of that name.
 */
function declareBlockFunction(
  { id, async, generator }: acorn.FunctionDeclaration | acorn.AnonymousFunctionDeclaration,
  scope: Scope,
  between: Around | undefined,
): void {
  if (scope.isStrict || !id || async || generator) return
  for (let each = between; each !== undefined; each = each.outer) {
    if (declaresLexically(each.node, id.name)) return
  }
  const known = scope.variables?.get(id.name)
  if (known !== undefined && known.kind !== 'var' && known.kind !== 'function') return
  const variable = scope.declare(id.name, 'var', id.start)
  variable.isAssigned = true
  variable.mayBeUndefined = true
  variable.hasOtherUse = true
}

/** Whether a statement with a scope of its own declares a name in that. */
function declaresLexically(node: Node, name: string): boolean {
  const scope = new Scope('block', undefined, false)
  switch (node.type) {
    case 'BlockStatement':
      declareBlock(node.body, scope)
      break
    case 'SwitchStatement':
      for (const { consequent } of node.cases) declareBlock(consequent, scope)
      break
    case 'ForStatement':
      if (node.init) declareBlock([node.init], scope)
      break
    case 'ForInStatement':
    case 'ForOfStatement':
      declareBlock([node.left], scope)
      break
    case 'CatchClause':
      // A plain name can be declared again by `var`.
      if (node.param && node.param.type !== 'Identifier') declarePattern(node.param, 'catch', scope)
      break
    default:
  }
  return scope.variables?.has(name) === true
}

/** Declares the name by which a function expression or a class knows itself. */
export function declareOwnName(
  id: acorn.Identifier,
  kind: 'function' | 'class',
  scope: Scope,
): void {
  const variable = scope.declare(id.name, kind, id.start)
  variable.isFixed = true
  variable.mayBeUndefined = false
}

/** The private names that a class declares, without `#`. */
export function privateNamesOf(node: ClassNode): ReadonlySet<string> | undefined {
  const names = new Set<string>()
  for (const member of node.body.body) {
    if (member.type !== 'StaticBlock' && member.key.type === 'PrivateIdentifier') {
      names.add(member.key.name)
    }
  }
  return names.size > 0 ? names : undefined
}

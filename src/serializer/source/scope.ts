// Scopes and the variables declared in them, while a tree is walked. Only a small part is kept
// afterwards: see `variables.ts`.

import type * as acorn from 'acorn'
import { type ClassNode, eachChild, type Node } from './parse.js'
import type { Binding, GivenTo, ImportOrigin, LiteralValue, Shape, TextPlace } from './sites.js'

/**
 * `outside` surrounds a text that is analysed alone. `name` has the name that a function expression
 * has for itself; `initializer` is a class field or static block.
 */
type ScopeKind =
  | 'outside'
  | 'module'
  | 'script'
  | 'function'
  | 'arrow'
  | 'initializer'
  | 'block'
  | 'class'
  | 'with'
  | 'name'

/** An expression from which a value can be created again. */
export interface Initializer {
  readonly start: number
  readonly end: number
  readonly shape: Shape
  /** Exports of the user's own modules that must be such values, too. */
  readonly needs: readonly ImportedName[]
  /** The names whose values it reads when it is evaluated, and not in a function. */
  readonly inputs: ReadonlySet<string>
  /** Modules that must be packages. */
  readonly packages: readonly Pick<ImportOrigin, 'specifier' | 'form'>[]
}

/** An imported name, or the property of a name that holds a module. */
export interface ImportedName {
  readonly name: string
  readonly member: string | undefined
}

/** A variable and the facts seen about it. */
export class Variable {
  readonly name: string
  readonly scope: Scope
  kind: Binding['kind']
  /** Offset of the declaration. */
  position: number
  /** Assignments to it throw, or have no effect. */
  isFixed = false
  /** Assigned after it was initialized. */
  isAssigned = false
  /** Assigned by a function inside the one that declares it. */
  isAssignedWithin = false
  /** Used by a function or class inside the one that declares it. */
  isCaptured = false
  isInitialized = false
  mayBeUndefined = true
  /** The value of its initializer, if that is a literal. */
  literal: LiteralValue | undefined
  origin: ImportOrigin | undefined
  /** The `require` that `origin` relies on. */
  originVia: Variable | undefined
  isModuleObject = false
  /** Its initializer creates an object, or a symbol, that no other evaluation creates. */
  isFresh = false
  /** The helpers of a compiler that `isFresh` relies on. */
  freshVia: readonly Variable[] = []
  /** What it does if it is a helper of esbuild. */
  esbuildRole: 'define' | 'name' | 'module' | undefined
  /** The number of assignments, and of assignments of a module. */
  assignCount = 0
  moduleCount = 0
  /** `createRequire(import.meta.url)`. */
  isRequire = false
  /** The number of assignments of a new `WeakMap` or `WeakSet`. */
  storeCount = 0
  /** Used in a way in which no compiler uses its stand-in for a private name. */
  hasOtherUse = false
  /** The module that a compiler's stand-in for a namespace was made from. */
  wrappedSpecifier: string | undefined
  /** The position of the expression that can create it again, if it can (remaking.ts). */
  initializer: Initializer | undefined
  /** Where something in the script may change its value. */
  changedAt: number | undefined
  /** The deepest level of a change: see changes.ts. */
  changedLevel = 0
  /** The last place, and whether a place is in a function. */
  lastChangedAt = 0
  isChangedLate = false
  /** Its initializer is an array, object, map or set. */
  isContainer = false
  /** The exports of the module that it holds, by name, as far as the script uses them. */
  members: Map<string, Variable> | undefined
  /** Functions of other modules that receive it. */
  givenTo: ForeignCall[] | undefined
  /** Of a function: the variables of each parameter. */
  parameters: readonly (readonly Held[])[] | undefined
  /** The result, once everything is known. */
  binding: Binding | undefined

  constructor(name: string, kind: Binding['kind'], position: number, scope: Scope) {
    this.name = name
    this.kind = kind
    this.position = position
    this.scope = scope
  }
}

/** A variable whose value is at this distance from that of another: see changes.ts. */
export interface Held {
  readonly variable: Variable
  readonly distance: number
  /** The other is another array, map or set of the same parts. */
  readonly isCopy?: boolean
}

/** A call, by its offset in place of its line. */
export type ForeignCall = Omit<GivenTo, keyof TextPlace> & { readonly at: number }

/** One scope. */
export class Scope {
  readonly kind: ScopeKind
  readonly parent: Scope | undefined
  /** The scope of the function (or script) that this one belongs to; itself if it is one. */
  readonly owner: Scope
  readonly isStrict: boolean
  /** A scope that exists once per script. */
  isTop = false
  /** The helper of a bundler that calls the function: once, unless the function throws. */
  moduleCaller: Variable | undefined
  /** That of the head of a loop: each iteration has a copy of what `let` declares there. */
  isLoopHead = false
  /** The function that owns it is a method: `super` means something. */
  isMethod = false
  /** A direct `eval` in the function itself, or in one inside. */
  hasEval = false
  hasEvalWithin = false
  /** One of them is sloppy: it can declare variables. */
  hasSloppyEval = false
  /** A sloppy function whose parameters are also its `arguments`. */
  hasMappedArguments = false
  variables: Map<string, Variable> | undefined
  /** Names of private members, for a class. */
  privateNames: ReadonlySet<string> | undefined

  constructor(kind: ScopeKind, parent: Scope | undefined, isStrict: boolean) {
    this.kind = kind
    this.parent = parent
    this.isStrict = isStrict
    const isOwner =
      parent === undefined || kind === 'function' || kind === 'arrow' || kind === 'initializer'
    this.owner = isOwner ? this : parent.owner
  }

  /** Declares a variable; a repeated `var` changes nothing, a function takes its place. */
  declare(name: string, kind: Binding['kind'], position: number): Variable {
    this.variables ??= new Map()
    const known = this.variables.get(name)
    if (known !== undefined && (kind === 'var' || kind === 'function')) {
      if (kind === 'function') {
        // It can still be changed as an element of `arguments`.
        if (known.kind === 'parameter') known.isAssigned = true
        known.kind = kind
        known.position = position
      }
      return known
    }
    const variable = new Variable(name, kind, position, this)
    this.variables.set(name, variable)
    return variable
  }

  /** The variable that a name means here. Declares the `arguments` of a function when asked for. */
  find(name: string): Variable | undefined {
    const own = this.#own(name)
    if (own !== undefined) return own
    for (let scope = this.parent; scope !== undefined; scope = scope.parent) {
      const variable = scope.#own(name)
      if (variable !== undefined) return variable
    }
    return undefined
  }

  #own(name: string): Variable | undefined {
    const variable = this.variables?.get(name)
    return variable === undefined && name === 'arguments' ? this.#declareArguments() : variable
  }

  /** The nearest scope that has its own `this`: not that of an arrow function. */
  get thisOwner(): Scope {
    let { owner } = this as Scope
    while (owner.kind === 'arrow' && owner.parent !== undefined) owner = owner.parent.owner
    return owner
  }

  #declareArguments(): Variable | undefined {
    const isOfFile = this.kind === 'script' && this.isTop
    if (this.kind !== 'function' && !isOfFile) return undefined
    const variable = this.declare('arguments', 'parameter', 0)
    variable.mayBeUndefined = false
    if (!this.isStrict && this.kind === 'function') this.hasMappedArguments = true
    return variable
  }
}

/** Whether a variable never changes its value, and its name certainly refers to that variable. */
export function isNeverAssigned(variable: Variable): boolean {
  const { scope, kind, isFixed } = variable
  if (variable.isAssigned || scope.hasSloppyEval) return false
  if (!isFixed && (scope.hasEval || scope.hasEvalWithin)) return false
  return !(kind === 'parameter' && scope.hasMappedArguments && variable.name !== 'arguments')
}

// Finds what a function, a block or a script declares before its code is looked at: names are known
// throughout their scope, and `var` throughout its function.

type Kind = Binding['kind']

/** Declares the names in a pattern. */
export function declarePattern(pattern: Node, kind: Kind, scope: Scope): void {
  for (const { name, start } of namesIn(pattern)) {
    const variable = scope.declare(name, kind, start)
    if (kind === 'const' || kind === 'import') variable.isFixed = true
  }
}

/** The names to which a pattern assigns. */
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

/** Declares the variables of the statements of a block. */
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

/** Declares the variables of the body of a function or a script. */
export function declareBody(statements: readonly Node[], scope: Scope): void {
  declareBlock(statements, scope)
  for (const statement of statements) declareVars(statement, scope, undefined)
}

/** The statements with a scope of their own around a place inside of a function. */
interface Around {
  readonly node: Node
  readonly outer: Around | undefined
}

/** Declares each `var` in a statement, and the functions in blocks as sloppy code sees them. */
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
 * A sloppy function in a block is also a `var`, which is assigned when the block is reached, unless
 * a block in between has a variable of that name.
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

/** Whether a statement with a scope of its own declares a name in that scope. */
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

/** Declares the name by which a function expression or a class refers to itself. */
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

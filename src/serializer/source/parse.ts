// The only file that calls the parser: for scripts as V8 has compiled them, and for texts of single
// functions.

import { createRequire } from 'node:module'
import type * as acorn from 'acorn'
import type { Options, Program } from 'acorn'
import type { FunctionSite } from './sites.js'

// The nodes of a syntax tree, and the fields with their children: all that a walk needs.

/** Any node. */
export type Node = acorn.AnyNode

/** A node with parameters and a body. */
export type FunctionNode =
  | acorn.FunctionDeclaration
  | acorn.AnonymousFunctionDeclaration
  | acorn.FunctionExpression
  | acorn.ArrowFunctionExpression

/** A class, declared or not. */
export type ClassNode =
  acorn.ClassDeclaration | acorn.AnonymousClassDeclaration | acorn.ClassExpression

/** A loop: runs its body again and again. */
export type LoopNode =
  | acorn.ForStatement
  | acorn.ForInStatement
  | acorn.ForOfStatement
  | acorn.WhileStatement
  | acorn.DoWhileStatement

/** A function or class: the subject of a site. */
export type RootNode = FunctionNode | ClassNode

/** Fields that hold nodes, in the order of evaluation. */
const CHILDREN: Readonly<Record<string, readonly string[]>> = {
  Program: ['body'],
  ExpressionStatement: ['expression'],
  BlockStatement: ['body'],
  WithStatement: ['object', 'body'],
  ReturnStatement: ['argument'],
  LabeledStatement: ['body'],
  IfStatement: ['test', 'consequent', 'alternate'],
  SwitchStatement: ['discriminant', 'cases'],
  SwitchCase: ['test', 'consequent'],
  ThrowStatement: ['argument'],
  TryStatement: ['block', 'handler', 'finalizer'],
  CatchClause: ['param', 'body'],
  WhileStatement: ['test', 'body'],
  DoWhileStatement: ['body', 'test'],
  ForStatement: ['init', 'test', 'update', 'body'],
  ForInStatement: ['right', 'left', 'body'],
  ForOfStatement: ['right', 'left', 'body'],
  FunctionDeclaration: ['params', 'body'],
  FunctionExpression: ['params', 'body'],
  ArrowFunctionExpression: ['params', 'body'],
  ClassDeclaration: ['superClass', 'body'],
  ClassExpression: ['superClass', 'body'],
  ClassBody: ['body'],
  MethodDefinition: ['key', 'value'],
  PropertyDefinition: ['key', 'value'],
  StaticBlock: ['body'],
  VariableDeclaration: ['declarations'],
  VariableDeclarator: ['init', 'id'],
  ArrayExpression: ['elements'],
  ObjectExpression: ['properties'],
  Property: ['key', 'value'],
  UnaryExpression: ['argument'],
  UpdateExpression: ['argument'],
  BinaryExpression: ['left', 'right'],
  AssignmentExpression: ['left', 'right'],
  LogicalExpression: ['left', 'right'],
  MemberExpression: ['object', 'property'],
  ConditionalExpression: ['test', 'consequent', 'alternate'],
  CallExpression: ['callee', 'arguments'],
  NewExpression: ['callee', 'arguments'],
  SequenceExpression: ['expressions'],
  SpreadElement: ['argument'],
  YieldExpression: ['argument'],
  TemplateLiteral: ['expressions'],
  TaggedTemplateExpression: ['tag', 'quasi'],
  ObjectPattern: ['properties'],
  ArrayPattern: ['elements'],
  RestElement: ['argument'],
  AssignmentPattern: ['left', 'right'],
  AwaitExpression: ['argument'],
  ChainExpression: ['expression'],
  ImportExpression: ['source', 'options'],
  ParenthesizedExpression: ['expression'],
  ExportNamedDeclaration: ['declaration'],
  ExportDefaultDeclaration: ['declaration'],
}

type Child = Node | readonly (Node | null)[] | null | undefined

/**
 * Calls `visit` with each node directly inside of one. Names of properties and labels do not count.
 */
export function eachChild(node: Node, visit: (child: Node) => void): void {
  const fields = CHILDREN[node.type]
  if (fields === undefined) return
  const byField = node as unknown as Readonly<Record<string, Child>>
  for (const field of fields) {
    if (isPlainName(node, field)) continue
    const child = byField[field]
    if (child === null || child === undefined) continue
    if ('type' in child) visit(child)
    else for (const each of child) if (each !== null) visit(each)
  }
}

/** Whether the field holds a name that is only text: `b` of `a.b`. */
function isPlainName(node: Node, field: string): boolean {
  switch (node.type) {
    case 'MemberExpression':
      return field === 'property' && !node.computed && node.property.type === 'Identifier'
    case 'Property':
    case 'MethodDefinition':
    case 'PropertyDefinition':
      return field === 'key' && !node.computed
    default:
      return false
  }
}

/** Whether a node is a function that is not a class. */
export function isFunction(node: Node): node is FunctionNode {
  const { type } = node
  return (
    type === 'FunctionExpression' ||
    type === 'ArrowFunctionExpression' ||
    type === 'FunctionDeclaration'
  )
}

/** Whether a node is a class. */
export function isClassNode(node: Node): node is ClassNode {
  return node.type === 'ClassDeclaration' || node.type === 'ClassExpression'
}

/** Whether a body begins with the directive `'use strict'`. */
export function saysStrict(body: readonly Node[]): boolean {
  for (const statement of body) {
    if (statement.type !== 'ExpressionStatement' || statement.directive === undefined) return false
    if (statement.directive === 'use strict') return true
  }
  return false
}

/** The body of a function as statements; none for `() => expression`. */
export function statementsOf(node: FunctionNode): readonly Node[] {
  return node.body.type === 'BlockStatement' ? node.body.body : []
}

/** The name of a property if it does not have to be computed: `a.b`, `a['b']`. */
export function staticName(key: Node, computed: boolean): string | undefined {
  if (key.type === 'Identifier' && !computed) return key.name
  return key.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined
}

let loaded: typeof acorn | undefined

/** The parser; most processes never need it. */
export function parser(): typeof acorn {
  loaded ??= createRequire(import.meta.url)('acorn') as typeof acorn
  return loaded
}

/**
 * A script as a tree: a module, or else the body of a function, for a CommonJS file. Undefined if
 * it cannot be parsed.
 */
export function parseScript(source: string, isModule: boolean): Program | undefined {
  const options: Options = {
    ecmaVersion: 'latest',
    sourceType: isModule ? 'module' : 'commonjs',
    allowHashBang: true,
  }
  return attempt(() => parser().parse(source, options))
}

/** A function or class whose text was parsed alone. */
export interface ParsedText {
  readonly root: RootNode
  /** The text that the positions of nodes refer to: the function's text with a prefix. */
  readonly source: string
  /** Where the function's text begins in it. */
  readonly offset: number
  /** Set for a method: its parts. */
  readonly method: MethodHead | undefined
}

/** The text before the parameters of a method. Positions as those of nodes. */
interface MethodHead {
  readonly kind: 'method' | 'getter' | 'setter'
  /** The same with the name `m`: `async *m`. */
  readonly text: string
  /** Where the parameters begin. */
  readonly end: number
}

/**
 * The text that V8 gives for a function or class. Undefined if it is neither, or if it means
 * something else in strict (or sloppy) code.
 */
export function parseFunctionText(
  text: string,
  isStrict: boolean,
  isMethod?: boolean,
): ParsedText | undefined {
  const plain = isMethod === true ? undefined : parsePlain(text, isStrict)
  if (plain !== undefined || isMethod === false) return plain
  return parseMember(text, '({', '})', isStrict) ?? parseMember(text, '(class{', '})', isStrict)
}

function parsePlain(text: string, isStrict: boolean): ParsedText | undefined {
  const root = attempt(() => parser().parseExpressionAt(text, 0, textOptions(isStrict)))
  if (root === undefined) return parseAwaitingClass(text)
  const isRoot = isFunction(root) || isClassNode(root)
  if (!isRoot || root.start !== 0 || root.end !== text.length) return undefined
  return { root, source: text, offset: 0, method: undefined }
}

/** The parent of a class, and the names of its members, can contain `await` and `yield`. */
function parseAwaitingClass(text: string): ParsedText | undefined {
  if (!text.startsWith('class')) return undefined
  const before = 'async function* f() {('
  const source = `${before}${text}\n)}`
  const around = attempt(() => parser().parse(source, textOptions(true)))?.body[0]
  if (around?.type !== 'FunctionDeclaration') return undefined
  const [statement] = around.body.body
  if (statement?.type !== 'ExpressionStatement') return undefined
  const { expression: root } = statement
  const offset = before.length
  if (!isClassNode(root) || root.end !== offset + text.length) return undefined
  return { root, source, offset, method: undefined }
}

function parseMember(
  text: string,
  before: string,
  after: string,
  isStrict: boolean,
): ParsedText | undefined {
  const source = `${before}${text}\n${after}`
  const tree = attempt(() => parser().parse(source, textOptions(isStrict)))
  const [statement] = tree?.body ?? []
  if (statement?.type !== 'ExpressionStatement') return undefined
  const { expression } = statement
  const offset = before.length
  const member = onlyMember(expression)
  if (member?.start !== offset || member.end !== offset + text.length) return undefined
  const { value } = member
  if (value?.type !== 'FunctionExpression') return undefined
  return { root: value, source, offset, method: headOf(member, value) }
}

function headOf({ kind }: Member, { start: end, async, generator }: FunctionNode): MethodHead {
  if (kind === 'get') return { kind: 'getter', text: 'get m', end }
  if (kind === 'set') return { kind: 'setter', text: 'set m', end }
  return { kind: 'method', text: `${async ? 'async ' : ''}${generator ? '*' : ''}m`, end }
}

function onlyMember(node: Node): Member | undefined {
  if (node.type === 'ObjectExpression') {
    const [property, ...others] = node.properties
    const isMethod = property?.type === 'Property' && (property.method || property.kind !== 'init')
    return isMethod && others.length === 0 ? property : undefined
  }
  if (node.type !== 'ClassExpression') return undefined
  const [member, ...others] = node.body.body
  const isMethod = member?.type === 'MethodDefinition' && !member.static
  return isMethod && others.length === 0 ? member : undefined
}

interface Member {
  readonly start: number
  readonly end: number
  readonly value: Node | null | undefined
  readonly kind: string
}

/** The syntax that is allowed around the text is not known: all of it is allowed. */
function textOptions(isStrict: boolean): Options {
  return {
    ecmaVersion: 'latest',
    sourceType: 'commonjs',
    strict: isStrict,
    allowImportExportEverywhere: true,
    allowSuperOutsideMethod: true,
    checkPrivateFields: false,
  }
}

/** Undefined for text that cannot be parsed, or is nested too deeply to be parsed or walked. */
export function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

// The position that V8 gives for a function: where its parameters begin, its `(` in most cases. An
// arrow function begins at its first character (`async` is part of it), a class at its
// constructor's parameters or, if it has no constructor, at `class`.

/** The offset that V8 gives for a function or class. */
export function placeOf(node: RootNode, source: string): number {
  if (isClassNode(node)) return constructorOf(node)?.value.start ?? node.start
  if (node.type === 'ArrowFunctionExpression') return node.start
  // The node of a method begins with the parameters.
  if (source[node.start] === '(') return node.start
  const from = node.id?.end ?? node.start
  if (source[from] === '(') return from
  return endOf(node.id ? GAP : BEFORE_PARAMETERS, source, from)
}

/** White space and comments, as a pattern. */
const GAP = String.raw`(?:\s|//.*|/\*[^]*?\*/)*`
const BEFORE_PARAMETERS = `(?:async${GAP})?function${GAP}\\*?${GAP}`

/** Where the match of a pattern at an offset ends. */
function endOf(pattern: string, source: string, from: number): number {
  const expression = new RegExp(pattern, 'y')
  expression.lastIndex = from
  return from + (expression.exec(source)?.[0].length ?? 0)
}

function constructorOf(node: acorn.Class): acorn.MethodDefinition | undefined {
  for (const member of node.body.body) {
    if (member.type === 'MethodDefinition' && member.kind === 'constructor') return member
  }
  return undefined
}

/** The kind of a function; undefined for a constructor, which is a part of its class. */
export function kindOf(node: RootNode, parent: Node | undefined): FunctionSite['kind'] | undefined {
  if (isClassNode(node)) return 'class'
  if (node.type === 'ArrowFunctionExpression') return 'arrow'
  if (parent?.type === 'MethodDefinition' && parent.value === node) {
    if (parent.kind === 'constructor') return undefined
    return accessorKind(parent.kind) ?? 'method'
  }
  if (parent?.type === 'Property' && parent.value === node) {
    return accessorKind(parent.kind) ?? (parent.method ? 'method' : 'function')
  }
  return 'function'
}

function accessorKind(kind: string): 'getter' | 'setter' | undefined {
  if (kind === 'get') return 'getter'
  return kind === 'set' ? 'setter' : undefined
}

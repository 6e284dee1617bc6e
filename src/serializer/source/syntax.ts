// The nodes of a syntax tree, and what is inside of each: all that a walk needs to know of them.

import type * as acorn from 'acorn'

/** Any node. */
export type Node = acorn.AnyNode

/** What has parameters and a body. */
export type FunctionNode =
  | acorn.FunctionDeclaration
  | acorn.AnonymousFunctionDeclaration
  | acorn.FunctionExpression
  | acorn.ArrowFunctionExpression

/** A class, declared or not. */
export type ClassNode =
  acorn.ClassDeclaration | acorn.AnonymousClassDeclaration | acorn.ClassExpression

/** What runs its body again and again. */
export type LoopNode =
  | acorn.ForStatement
  | acorn.ForInStatement
  | acorn.ForOfStatement
  | acorn.WhileStatement
  | acorn.DoWhileStatement

/** A function or class: what a site is about. */
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

/** Calls `visit` with each node directly inside of one. Names of properties and labels are none. */
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

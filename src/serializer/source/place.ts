// Where V8 says that a function is: where its parameters begin, its `(` in most cases. An arrow
// function begins at its first character (`async` is part of it), a class at its constructor's
// parameters or, if it has no constructor, at `class`.

import type * as acorn from 'acorn'
import type { FunctionSite } from './function-site.js'
import { isClassNode, type Node, type RootNode } from './syntax.js'

/** The offset that V8 gives for a function or class. */
export function placeOf(node: RootNode, source: string): number {
  if (isClassNode(node)) return constructorOf(node)?.value.start ?? node.start
  if (node.type === 'ArrowFunctionExpression') return node.start
  // Of a method, the node begins with the parameters.
  if (source[node.start] === '(') return node.start
  const from = node.id?.end ?? node.start
  if (source[from] === '(') return from
  return endOf(node.id ? GAP : BEFORE_PARAMETERS, source, from)
}

/** White space and comments, as a pattern. */
const GAP = String.raw`(?:\s|//.*|/\*[^]*?\*/)*`
const BEFORE_PARAMETERS = `(?:async${GAP})?function${GAP}\\*?${GAP}`

/** Where what matches a pattern at an offset ends. */
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

/** What a function is; undefined for a constructor, which is a part of its class. */
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

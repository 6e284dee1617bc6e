// How the use of a captured variable is written when the variable is a cell, has another name, or
// cannot be assigned: each place where a name can stand has its own way.

import type * as acorn from 'acorn'
import type { Edit } from './edit.js'
import type { CodeName } from './function-site.js'
import type { Use } from './site-uses.js'
import type { Node } from './syntax.js'

/** What a use becomes; nothing if it can stay as it is. */
export function editsOf(use: Use, code: CodeName, isStrict: boolean): readonly Edit[] {
  const { name, free } = code
  const isFixedWrite = use.access !== 'read' && !code.isCell && free.binding !== undefined
  if (isFixedWrite) {
    const isSilent = !isStrict && free.binding.kind === 'function'
    return [replace(use, atStart(use, constantTarget(name, isSilent)))]
  }
  if (code.isCell) return cellEdits(use, name)
  return name === free.name ? [] : [replace(use, name)]
}

function cellEdits(use: Use, name: string): readonly Edit[] {
  const { parent, node } = use
  if (parent?.type === 'UnaryExpression' && parent.operator === 'delete') {
    return [{ start: parent.start, end: parent.end, text: 'false' }]
  }
  const isCalled =
    (parent?.type === 'CallExpression' && parent.callee === node) ||
    (parent?.type === 'TaggedTemplateExpression' && parent.tag === node)
  // `name.v()` would have the cell as its `this`.
  if (isCalled) return [replace(use, atStart(use, `(0, ${name}.v)`))]
  return [replace(use, `${name}.v`), ...nameKeepingEdits(use)]
}

function replace({ node, parent, around }: Use, text: string): Edit {
  const { start, end } = node
  const property = parent?.type === 'AssignmentPattern' && parent.left === node ? around : parent
  const isShort =
    property?.type === 'Property' &&
    property.shorthand &&
    (property.value === node || property.value === parent)
  return { start, end, text: isShort ? `${node.name}: ${text}` : text }
}

/** What begins with `(` would be a call of what stands on the line before. */
function atStart({ isAtStatement }: Use, text: string): string {
  return isAtStatement ? `;${text}` : text
}

/** Reads like the variable, and throws what a constant throws when it is assigned. */
function constantTarget(name: string, isSilent: boolean): string {
  const body = isSilent ? '' : 'const c=0;c=_'
  return `({get v(){return ${name}},set v(_){${body}}}).v`
}

/** `x = () => {}` names the function `x`; `x.v = () => {}` would not. */
function nameKeepingEdits({ node, parent }: Use): readonly Edit[] {
  const value = assignedWith(node, parent)
  if (value === undefined || !isAnonymous(value)) return []
  const key = node.name === '__proto__' ? '["__proto__"]' : node.name
  const access = node.name === '__proto__' ? key : `.${key}`
  return [
    { start: value.start, end: value.start, text: `({${key}: ` },
    { start: value.end, end: value.end, text: `})${access}` },
  ]
}

function assignedWith(node: acorn.Identifier, parent: Node | undefined): Node | undefined {
  if (parent?.type !== 'AssignmentExpression' && parent?.type !== 'AssignmentPattern') {
    return undefined
  }
  // `(x) = () => {}` names nothing.
  const isDirect = parent.left === node && parent.start === node.start
  const isNaming =
    parent.type === 'AssignmentPattern' || ['=', '||=', '&&=', '??='].includes(parent.operator)
  return isDirect && isNaming ? parent.right : undefined
}

function isAnonymous(node: Node): boolean {
  if (node.type === 'ArrowFunctionExpression') return true
  return (node.type === 'FunctionExpression' || node.type === 'ClassExpression') && !node.id
}

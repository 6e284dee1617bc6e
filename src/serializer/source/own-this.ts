// Whether a function uses its own `this`: the object that it is called on.

import type * as acorn from 'acorn'
import { calleeName } from './initializer.js'
import { attempt, parseFunctionText } from './parse.js'
import { eachChild, isClassNode, isFunction, type Node } from './syntax.js'

const MENTION = /\b(?:this|super)\b/
const AWAITER = /^__(?:awaiter|async)\d*$/

/**
 * Whether the function with this text uses the object that it is called on, by `this` or `super`.
 * True if it mentions them and cannot be understood.
 */
export function usesOwner(text: string): boolean {
  if (!MENTION.test(text)) return false
  const parsed = parseFunctionText(text, true) ?? parseFunctionText(text, false)
  if (parsed === undefined) return true
  const { root } = parsed
  if (isClassNode(root) || root.type === 'ArrowFunctionExpression') return false
  return attempt(() => usesThis(root)) ?? true
}

/**
 * Compilers call `__awaiter(this, …, function* () {…})` whether or not `this` is used: that `this`,
 * where it is not.
 */
export function idleThisOf(node: acorn.CallExpression): acorn.ThisExpression | undefined {
  const [self] = node.arguments
  const body = node.arguments.at(-1)
  if (self?.type !== 'ThisExpression' || body?.type !== 'FunctionExpression') return undefined
  const name = calleeName(node.callee) ?? ''
  return AWAITER.test(name) && body.generator && !usesThis(body) ? self : undefined
}

/** In arrow functions and parameters, too. */
function usesThis(fn: Node): boolean {
  let isFound = false
  const visit = (node: Node): void => {
    if (node.type === 'ThisExpression' || node.type === 'Super') isFound = true
    else if (isClassNode(node)) visitHead(node)
    else if (node.type === 'CallExpression') visitCall(node)
    else if (!isFunction(node) || node.type === 'ArrowFunctionExpression') eachChild(node, visit)
  }
  const visitCall = (node: acorn.CallExpression): void => {
    const idle = idleThisOf(node)
    eachChild(node, (child) => {
      if (child !== idle) visit(child)
    })
  }
  const visitHead = (node: acorn.Class): void => {
    if (node.superClass) visit(node.superClass)
    for (const member of node.body.body) {
      if (member.type !== 'StaticBlock' && member.computed) visit(member.key)
    }
  }
  eachChild(fn, visit)
  return isFound
}

// What calls may change: known by the names of functions and methods, and by how their results are
// used.

import type * as acorn from 'acorn'
import { calleeName } from './initializer.js'
import { eachChild, isFunction, staticName, type Node } from './parse.js'
import { rootNameOf, STEADY_GLOBALS } from './remaking.js'
import { namesIn } from './scope.js'

/** Functions and methods that are called for effects elsewhere: they change nothing here. */
export const HARMLESS: RegExp = new RegExp(
  '^(?:trace|debug|info|warn|error|fatal|log|silly|verbose|http|flush|test|submit|map|child|' +
    '(?:safe)?parse(?:Async)?|(?:validate|assert|check|is)[a-z]*)$',
  'i',
)

/** Methods that change the object that they are called on, even where their result is used. */
export const CHANGING: RegExp = new RegExp(
  '^(?:push|pop|shift|unshift|splice|sort|reverse|fill|copyWithin|clear|delete|append|use|' +
    'configure|train|fit|seed|define|merge[A-Z]\\w*|' +
    '(?:set|add|remove|enable|disable|register|insert|upsert)(?:[A-Z]\\w*)?)$',
)

/** The same for functions of the language that take the object as an argument. */
const CHANGING_STATIC = /^(?:assign|define|setPrototypeOf|set$|delete)/

/**
 * Methods of arrays, maps and sets that return parts of them: the number of levels between the
 * result and the method as a part.
 */
export const PARTS: ReadonlyMap<string, number> = new Map([
  ...'get at find findLast'.split(' ').map((name) => [name, 0] as const),
  ...'values keys slice filter concat flat with toSorted toReversed toSpliced'
    .split(' ')
    .map((name) => [name, 1] as const),
  ['entries', 2],
])

/** Methods that call a function with the parts. */
export const VISITING: RegExp =
  /^(?:map|filter|find\w*|some|every|flatMap|reduce\w*|forEach|sort|toSorted)$/

/** Whether functions of a global leave their arguments unchanged, except `CHANGING_STATIC`. */
export function isOfLanguage(name: string = ''): boolean {
  return STEADY_GLOBALS.has(name) || ['Reflect', 'Promise', 'console'].includes(name)
}

/** Methods that are called on results for what these are: `api.get(url).then(print)`. */
const USING = /^(?:then|catch|finally|pipe|on|once|subscribe|json|text|toString|join)$/

/**
 * Whether a call is made for its effects, and its result is unused. `isMethod`: a method of the
 * object in question is called; then calls that go on with the result may have effects on it, too.
 */
export function isUnused(ancestors: readonly Node[], index: number, isMethod: boolean): boolean {
  let value = ancestors[index]
  for (let at = index - 1; at >= 0; at -= 1) {
    const parent = ancestors[at]
    switch (parent?.type) {
      case 'ExpressionStatement':
        return true
      case 'UnaryExpression':
        return parent.operator === 'void'
      case 'SequenceExpression':
        if (parent.expressions.at(-1) !== value) return true
        break
      case 'MemberExpression': {
        // `x.bind(1).to(2)`
        const call = ancestors[at - 1]
        if (!isMethod || parent.object !== value || call?.type !== 'CallExpression') return false
        if (call.callee !== parent || isUsing(parent)) return false
        break
      }
      case 'CallExpression':
        if (parent.callee !== value && !isGathering(parent)) return false
        break
      case 'ArrowFunctionExpression': {
        // `list.forEach((each) => x.insert(each))`
        const call = ancestors[at - 1]
        if (parent.body !== value || call?.type !== 'CallExpression') return false
        const name = calleeName(call.callee) ?? ''
        if (call.callee === parent || !VISITING.test(name)) return false
        return name === 'forEach' || (name === 'map' && isUnused(ancestors, at - 1, true))
      }
      case 'ChainExpression':
      case 'ParenthesizedExpression':
      case 'AwaitExpression':
      case 'LogicalExpression':
      case 'ConditionalExpression':
        break
      default:
        return false
    }
    value = parent
  }
  return false
}

function isUsing({ property, computed }: acorn.MemberExpression): boolean {
  const name = staticName(property, computed) ?? ''
  return USING.test(name) || VISITING.test(name)
}

/** `Promise.all(x)`: unused, if its result is. */
function isGathering({ callee }: acorn.CallExpression): boolean {
  return rootNameOf(callee) === 'Promise' && calleeName(callee)?.startsWith('all') === true
}

/** `Object.assign(x)`, `Reflect.set(x)`, `Array.prototype.push.call(x)`. */
export function isChangingGlobal(callee: Node, name: string): boolean {
  if (callee.type !== 'MemberExpression') return false
  const { object } = callee
  const isBorrowed = ['call', 'apply'].includes(name) && object.type === 'MemberExpression'
  if (!isBorrowed) return CHANGING_STATIC.test(name)
  return CHANGING.test(staticName(object.property, object.computed) ?? '')
}

/** Whether a function changes, in place, what its parameters get. */
export function changesParameter(node: Node): boolean {
  if (!isFunction(node)) return false
  const names = new Set(node.params.flatMap((each) => namesIn(each).map(({ name }) => name)))
  const isIts = (part: Node): boolean =>
    part.type === 'MemberExpression' && names.has(rootNameOf(part) ?? '')
  const isChange = (each: Node): boolean => {
    switch (each.type) {
      case 'AssignmentExpression':
        return isIts(each.left)
      case 'UpdateExpression':
        return isIts(each.argument)
      case 'CallExpression':
        return isIts(each.callee) && CHANGING.test(calleeName(each.callee) ?? '')
      default:
        return false
    }
  }
  return contains(node.body, isChange)
}

function contains(node: Node, isMeant: (node: Node) => boolean): boolean {
  let found = isMeant(node)
  eachChild(node, (child) => (found ||= contains(child, isMeant)))
  return found
}

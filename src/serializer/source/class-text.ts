// A class without its surroundings: its static parts travel as values, and what it extends is
// given.

import type * as acorn from 'acorn'
import { blank, inPlaceOf, type Edit } from './edit.js'
import type { ClassSite, ComputedMember } from './function-site.js'
import { staticName, type ClassNode, type Node } from './syntax.js'
import { unusedName } from './unused-name.js'

/** What the text of a class says about the class. */
export function classSiteOf(node: ClassNode, source: string): ClassSite {
  const instancePrivates: string[] = []
  const staticPrivates: string[] = []
  for (const member of node.body.body) {
    if (member.type === 'StaticBlock' || member.key.type !== 'PrivateIdentifier') continue
    const name = `#${member.key.name}`
    if (!member.static) instancePrivates.push(name)
    else if (member.type === 'PropertyDefinition') staticPrivates.push(name)
  }
  return {
    hasParent: Boolean(node.superClass),
    extendsNull: extendsNull(node),
    instancePrivates: [...new Set(instancePrivates)],
    staticPrivates,
    computedMembers: computedMembersOf(node, source).map(({ member }) => member),
  }
}

/** A member whose name is computed, and where that is. */
interface NamedMember {
  readonly member: ComputedMember
  readonly node: acorn.MethodDefinition
}

/** Methods and accessors with computed names that are neither literals nor symbols of all. */
export function computedMembersOf(node: ClassNode, source: string): readonly NamedMember[] {
  const found: NamedMember[] = []
  const name = unusedName('member', source)
  for (const each of node.body.body) {
    if (each.type !== 'MethodDefinition' || !each.computed || isPlainName(each.key)) continue
    const whole = source.slice(each.start, each.end)
    const text = each.static ? whole.replace(STATIC, '') : whole
    const kind = each.kind === 'get' || each.kind === 'set' ? each.kind : 'method'
    const member = { name: `${name}${found.length}`, kind, isStatic: each.static, text } as const
    found.push({ member, node: each })
  }
  return found
}

/** `static` and what stands between it and the member itself. */
const STATIC = /^static(?:\s|\/\*[^]*?\*\/|\/\/[^\n\r\u2028\u2029]*)*/

function isPlainName(key: Node): boolean {
  if (key.type === 'Literal') return true
  return key.type === 'MemberExpression' && !key.computed && isName(key.object, 'Symbol')
}

function isName(node: Node, name: string): boolean {
  return node.type === 'Identifier' && node.name === name
}

/** Whether the class says `extends null`. */
export function extendsNull({ superClass }: ClassNode): boolean {
  return superClass?.type === 'Literal' && superClass.value === null
}

/**
 * Takes static fields and blocks out of the text. A semicolon keeps what stands around them
 * apart.
 */
export function staticEdits(node: ClassNode, source: string): readonly Edit[] {
  const edits: Edit[] = []
  for (const member of node.body.body) {
    const { end } = member
    const isField = member.type === 'PropertyDefinition' && member.static
    if (!isField && member.type !== 'StaticBlock') continue
    const isPrivate = isField && member.key.type === 'PrivateIdentifier'
    const start = isPrivate ? member.key.end : member.start
    edits.push(
      start === end
        ? { start, end, text: ';' }
        : { start, end, text: inPlaceOf(source.slice(start, end), ';') },
    )
  }
  return edits
}

/** Gives the class what it extends under another name. */
export function parentEdit(superClass: acorn.Expression, name: string, source: string): Edit {
  const { start, end } = superClass
  return { start, end, text: inPlaceOf(source.slice(start, end), name) }
}

/** Lets the class hand out its private static fields when it is defined. */
export function adoptEdit(node: ClassNode, fields: readonly string[], adopt: string): Edit {
  const calls = fields.map(
    (field) => `${adopt}({name:"${field}",get:()=>this.${field},set:(v)=>{this.${field}=v}})`,
  )
  const end = node.body.end - 1
  return { start: end, end, text: `;static{${calls.join(';')}}` }
}

/** Takes the name away from a function that is known by a variable around it. */
export function namelessEdit(id: acorn.Identifier, source: string): Edit {
  return { start: id.start, end: id.end, text: blank(source.slice(id.start, id.end)) }
}

/** Computed names of members that stay in the text. */
export function computedKeys(node: ClassNode): readonly Node[] {
  return node.body.body.flatMap((member) => {
    if (member.type === 'StaticBlock' || !member.computed) return []
    return member.type === 'PropertyDefinition' && member.static ? [] : [member.key]
  })
}

/**
 * Whether an expression has the same value each time, without effects, if its variables are
 * constant.
 */
export function isPure(node: Node, isConstant: (name: string) => boolean): boolean {
  const isPureToo = (part: Node): boolean => isPure(part, isConstant)
  switch (node.type) {
    case 'Literal':
      return true
    case 'Identifier':
      return isConstant(node.name)
    case 'TemplateLiteral':
      return node.expressions.every(isPureToo)
    case 'MemberExpression':
      return isPureToo(node.object) && (!node.computed || isPureToo(node.property))
    case 'BinaryExpression':
    case 'LogicalExpression':
      return isPureToo(node.left) && isPureToo(node.right)
    case 'ConditionalExpression':
      return isPureToo(node.test) && isPureToo(node.consequent) && isPureToo(node.alternate)
    case 'UnaryExpression':
      return node.operator !== 'delete' && isPureToo(node.argument)
    case 'CallExpression':
      return isSymbolFor(node.callee) && node.arguments.every(isPureToo)
    default:
      return false
  }
}

/** `Symbol.for`, which gives the same symbol each time. */
function isSymbolFor(callee: Node): boolean {
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return false
  return callee.object.name === 'Symbol' && staticName(callee.property, callee.computed) === 'for'
}

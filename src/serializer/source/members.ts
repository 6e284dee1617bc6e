// Methods and accessors of classes that mean something only in their class, because they use its
// private names or `super`: what they are called there.

import { type ClassNode, type Node, placeOf } from './parse.js'
import { privateNamesOf, type Scope } from './scope.js'
import type { MemberSite } from './sites.js'

/** A method or accessor where its class is defined. */
export interface MemberFacts extends Pick<MemberSite, 'key' | 'isStatic' | 'slot'> {
  /** The offset that V8 gives for the class. */
  readonly classAt: number
}

type Members = ReadonlyMap<Node, MemberFacts>

const NO_MEMBERS: Members = new Map()

/**
 * The methods and accessors of a class, by their functions. None for a class whose methods can all
 * travel on their own. `scope`: around it. One that another member of that name has replaced is
 * among them, but nobody can have it.
 */
export function membersOf(node: ClassNode, source: string, scope: Scope): Members {
  const isBound =
    privateNamesOf(node) !== undefined || source.slice(node.start, node.end).includes('super')
  if (!isBound) return NO_MEMBERS
  const found = new Map<Node, MemberFacts>()
  const classAt = placeOf(node, source)
  for (const each of node.body.body) {
    if (each.type !== 'MethodDefinition' || each.kind === 'constructor') continue
    const key = keyOf(each.key, each.computed, scope)
    const slot = each.kind === 'method' ? 'value' : each.kind
    if (key !== undefined) found.set(each.value, { classAt, key, isStatic: each.static, slot })
  }
  return found
}

/** The name of a member; undefined if it is private, or has to be computed. */
function keyOf(key: Node, isComputed: boolean, scope: Scope): string | symbol | undefined {
  if (key.type === 'Identifier' && !isComputed) return key.name
  if (key.type === 'Literal') {
    const { value } = key
    const isName = ['string', 'number', 'bigint'].includes(typeof value)
    return isName ? String(value) : undefined
  }
  if (key.type !== 'MemberExpression' || key.computed) return undefined
  if (key.object.type !== 'Identifier' || key.object.name !== 'Symbol') return undefined
  if (key.property.type !== 'Identifier' || scope.find('Symbol') !== undefined) return undefined
  const symbol: unknown = Reflect.get(Symbol, key.property.name)
  return typeof symbol === 'symbol' ? symbol : undefined
}

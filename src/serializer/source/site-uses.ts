// What the text of one function uses of its surroundings: names, and whatever means nothing
// elsewhere.

import type * as acorn from 'acorn'
import type { Obstacle } from './function-site.js'
import { idleThisOf } from './own-this.js'
import type { ParsedText } from './parse.js'
import { Scope } from './scope.js'
import { ScopeWalk, type Access, type WalkListener } from './scope-walk.js'
import { isClassNode, type Node } from './syntax.js'

/** One place where a name of the surroundings is used. */
export interface Use {
  readonly node: acorn.Identifier
  readonly access: Access
  readonly parent: Node | undefined
  readonly around: Node | undefined
  /** It is the first thing in a statement of a list: before `(`, a semicolon may be needed. */
  readonly isAtStatement: boolean
  /** It is part of a computed key of the class. */
  readonly isEarly: boolean
  /** `parent` is a property of it that is assigned or deleted. */
  isTarget: boolean
}

/** A node that is not a name and has to be replaced. */
export interface Replaceable {
  readonly node: Node
  readonly isAtStatement: boolean
}

/** Hears of the uses in one function. */
export class SiteUses implements WalkListener {
  readonly #root: Node
  readonly #walk: ScopeWalk
  readonly #targets = new Set<Node>()
  readonly byName: Map<string, Use[]> = new Map()
  readonly obstacles: { readonly kind: Obstacle; readonly position: number }[] = []
  readonly imports: acorn.ImportExpression[] = []
  readonly metas: acorn.MetaProperty[] = []
  /** `this` of what surrounds an arrow function. */
  readonly outerThis: Replaceable[] = []
  /** The same, where its value does not matter. */
  readonly unusedThis: Set<Node> = new Set()

  constructor({ root }: ParsedText, isStrict: boolean) {
    this.#root = root
    this.#walk = new ScopeWalk(new Scope('outside', undefined, isStrict), this)
    this.#walk.visit(root)
    for (const uses of this.byName.values()) {
      for (const use of uses) {
        use.isTarget = use.parent !== undefined && this.#targets.has(use.parent)
      }
    }
  }

  onName(node: acorn.Identifier, access: Access): void {
    const { scope, ancestors } = this.#walk
    if (scope.find(node.name) !== undefined) return
    const uses = this.byName.get(node.name) ?? []
    if (uses.length === 0) this.byName.set(node.name, uses)
    uses.push({
      node,
      access,
      parent: ancestors.at(-1),
      around: ancestors.at(-2),
      isAtStatement: this.#isAtStatement(node),
      isEarly: scope.kind === 'class' && scope.parent?.kind === 'outside',
      isTarget: false,
    })
  }

  onThis(node: acorn.ThisExpression): void {
    if (this.#walk.scope.thisOwner.kind !== 'outside' || isClassNode(this.#root)) return
    this.outerThis.push({ node, isAtStatement: this.#isAtStatement(node) })
  }

  onSuper(node: acorn.Super): void {
    if (!this.#walk.scope.thisOwner.isMethod) this.#refuse('super', node)
  }

  onMeta(node: acorn.MetaProperty): void {
    if (node.meta.name === 'import') this.metas.push(node)
    else if (this.#walk.scope.thisOwner.kind === 'outside') this.#refuse('new.target', node)
  }

  onImport(node: acorn.ImportExpression): void {
    this.imports.push(node)
  }

  onPrivateName(node: acorn.PrivateIdentifier): void {
    let scope: Scope | undefined = this.#walk.scope
    while (scope !== undefined && scope.privateNames?.has(node.name) !== true) scope = scope.parent
    if (scope === undefined) this.#refuse('private name', node)
  }

  onEval(node: acorn.CallExpression): void {
    this.#refuse('eval', node)
  }

  onTarget(node: acorn.MemberExpression): void {
    this.#targets.add(node)
  }

  onCall(node: acorn.CallExpression): void {
    const self = idleThisOf(node)
    if (self !== undefined) this.unusedThis.add(self)
  }

  /** Of a class, static fields travel as values and blocks have done their work. */
  skips(node: Node): boolean {
    const root = this.#root
    if (!isClassNode(root) || this.#walk.scope.parent?.kind !== 'outside') return false
    if (node === root.superClass || node.type === 'StaticBlock') return true
    return node.type === 'PropertyDefinition' && node.static
  }

  #refuse(kind: Obstacle, { start }: Node): void {
    this.obstacles.push({ kind, position: start })
  }

  #isAtStatement({ start }: Node): boolean {
    const { ancestors } = this.#walk
    for (let index = ancestors.length - 1; index > 0; index -= 1) {
      const node = ancestors[index]
      if (node === undefined || node.start !== start) return false
      if (node.type === 'ExpressionStatement') return LISTS.has(ancestors[index - 1]?.type ?? '')
    }
    return false
  }
}

const LISTS: ReadonlySet<string> = new Set(['BlockStatement', 'StaticBlock', 'SwitchCase'])

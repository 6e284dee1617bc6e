// From the text of one function to its meaning: its free names, the obstacles to moving it, its
// code.

import type * as acorn from 'acorn'
import {
  classSiteOf,
  codeOf,
  type CodeParts,
  computedMembers,
  computedMembersOf,
  type Edit,
  inPlaceOf,
  isPure,
} from './code.js'
import { calleeName } from './initializer.js'
import {
  attempt,
  eachChild,
  isClassNode,
  isFunction,
  type Node,
  type ParsedText,
  parseFunctionText,
  staticName,
} from './parse.js'
import { type NameDepth, readDepthsOf } from './read-depth.js'
import { Scope } from './scope.js'
import type { LineIndex } from './script.js'
import type {
  Binding,
  FreeName,
  FunctionCode,
  FunctionSite,
  Obstacle,
  RuntimeName,
  TextPlace,
} from './sites.js'
import { type Access, ScopeWalk, type WalkListener } from './walk.js'

// Whether a function uses its own `this`: the object that it is called on.

const MENTION = /\b(?:this|super)\b/
const AWAITER = /^__(?:awaiter|async)\d*$/

/**
 * Whether the function with this text uses the object that it is called on, by `this` or `super`.
 * True if it mentions them and cannot be parsed.
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
 * if it is unused.
 */
function idleThisOf(node: acorn.CallExpression): acorn.ThisExpression | undefined {
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

// What the text of one function uses of its surroundings: names, and syntax that means nothing
// elsewhere.

/** One use of a name of the surroundings. */
export interface Use {
  readonly node: acorn.Identifier
  readonly access: Access
  readonly parent: Node | undefined
  readonly around: Node | undefined
  /** It is the first token of a statement in a list: before `(`, a semicolon may be needed. */
  readonly isAtStatement: boolean
  /** It is part of a computed key of the class. */
  readonly isEarly: boolean
  /** `parent` is a property of it that is assigned or deleted. */
  isTarget: boolean
}

/** A node that is not a name and has to be replaced. */
interface Replaceable {
  readonly node: Node
  readonly isAtStatement: boolean
}

/** Collects the uses in one function. */
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

  /** Static fields of a class travel as values, and static blocks have run already. */
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

/** The known facts about the place of a function. */
interface SitePlace {
  /** Undefined if only the text is known. */
  readonly kind: FunctionSite['kind'] | undefined
  readonly isStrict: boolean
  /** Whether a name without a binding is certainly not a variable of the surroundings. */
  readonly isScriptKnown: boolean
  readonly binding: (name: string) => Binding | undefined
  readonly signs: (name: string) => Pick<FreeName, 'innerWitnesses' | 'isApart'>
  /** Whether nothing changes the members of a variable, as far as its script shows. */
  readonly isUnchanged?: (name: string) => boolean
  readonly runtimeKind: (name: string) => RuntimeName['kind'] | undefined
  readonly isDeclaration: boolean
  /** `this` is undefined around it. */
  readonly hasNoThis: boolean
  /** Names may be properties of an object: it is inside a `with`. */
  readonly isInWith: boolean
  readonly lines: LineIndex
  /** Where the text begins in `lines`. */
  readonly start: number
}

/**
 * The site of a function with this text. Undefined if the text is not that of a function.
 * `isNamed`: computed names of members are captured values.
 */
export function siteOf(
  text: string,
  place: SitePlace,
  isNamed: boolean = false,
): FunctionSite | undefined {
  const analysis = analyse(text, place, isNamed)
  if (analysis === undefined) return undefined
  let named: FunctionSite | undefined
  const { parsed, freeNames, obstacles, parts, hasShadows } = analysis
  const code = codeOf(parts)
  const known = new Map<string, FunctionCode>([['', code]])
  return {
    kind: place.kind ?? kindOf(parsed),
    obstacles,
    freeNames,
    code,
    codeWith: (cells, live = new Map()) => {
      const added = freeNames.map(({ name }) => name).filter((name) => cells.has(name))
      const key = [added.join(), ...[...live].flat()].join(';')
      const made = known.get(key) ?? codeWithCells([text, place, isNamed], cells, live) ?? code
      known.set(key, made)
      return made
    },
    classSite: isClassNode(parsed.root) ? classSiteOf(parsed.root, parsed.source) : undefined,
    withNamedMembers: () => (named ??= siteOf(text, place, true)),
    hasShadows,
    line: parts.line,
    column: parts.column,
  }
}

/** Parses the text again: trees are too large to be kept. */
function codeWithCells(
  given: Parameters<typeof analyse>,
  cells: ReadonlySet<string>,
  live: ReadonlyMap<string, string>,
): FunctionCode | undefined {
  const parts = analyse(...given)?.parts
  const isCell = (free: FreeName): boolean => cells.has(free.name) || parts?.isCell(free) === true
  return parts && codeOf({ ...parts, isCell, live })
}

interface Analysis extends Pick<FunctionSite, 'freeNames' | 'obstacles' | 'hasShadows'> {
  readonly parsed: ParsedText
  readonly parts: CodeParts
}

function analyse(text: string, place: SitePlace, isNamed: boolean): Analysis | undefined {
  const { isStrict, lines } = place
  const parsed = parseFunctionText(text, isStrict, isMethodKind(place.kind))
  if (parsed === undefined) return undefined
  const memberEdits = isNamed ? nameMembers(parsed) : []
  const found = attempt(() => usesOf(parsed, place))
  if (found === undefined) return undefined
  const { uses, lostName } = found
  const placeOf = (position: number): TextPlace =>
    lines.placeOf(place.start + position - parsed.offset)
  const isGlobal = (name: string): boolean =>
    place.binding(name) === undefined && place.isScriptKnown
  const depths = readDepthsOf(parsed, isStrict, isGlobal)
  const freeNames = [...uses.byName].map(([name, all]) =>
    freeNameOf(all, place, { placeOf, depth: depths.byName.get(name) }),
  )
  const runtimeKinds = new Map<string, RuntimeName['kind']>()
  for (const { name } of freeNames) {
    const kind = place.runtimeKind(name)
    if (kind !== undefined) runtimeKinds.set(name, kind)
  }
  const parts: CodeParts = {
    parsed,
    uses,
    freeNames,
    runtimeKinds,
    isCell: ({ binding, isAssigned }) =>
      binding === undefined ? isAssigned && !place.isScriptKnown : binding.isCell,
    isStrict,
    lostName,
    exposesItself: depths.exposesItself,
    memberEdits,
    ...lines.placeOf(place.start),
  }
  const { hasShadows } = depths
  return { parsed, freeNames, obstacles: obstaclesOf(parts, place, placeOf), parts, hasShadows }
}

/** Replaces computed names of members with names of captured values. */
function nameMembers({ root, source }: ParsedText): readonly Edit[] {
  if (!isClassNode(root)) return []
  return computedMembersOf(root, source).map(({ member: { name }, node }) => {
    const { start, end } = node.key
    node.key = { type: 'Identifier', name, start, end }
    return { start, end, text: inPlaceOf(source.slice(start, end), name) }
  })
}

function isMethodKind(kind: FunctionSite['kind'] | undefined): boolean | undefined {
  return kind === undefined ? undefined : ['method', 'getter', 'setter'].includes(kind)
}

function kindOf({ root, method }: ParsedText): FunctionSite['kind'] {
  if (method !== undefined) return method.kind
  if (isClassNode(root)) return 'class'
  return root.type === 'ArrowFunctionExpression' ? 'arrow' : 'function'
}

/**
 * The uses in a function. If its name is a variable around it that is assigned somewhere, the
 * function must use that variable, and so has to lose its own name.
 */
function usesOf(
  parsed: ParsedText,
  { isStrict, isScriptKnown, isDeclaration, binding }: SitePlace,
): { readonly uses: SiteUses; readonly lostName: CodeParts['lostName'] } {
  const { root } = parsed
  const id = root.type === 'FunctionExpression' ? root.id : undefined
  if (root.type !== 'FunctionExpression' || !id || (isScriptKnown && !isDeclaration)) {
    return { uses: new SiteUses(parsed, isStrict), lostName: undefined }
  }
  root.id = null
  const nameless = new SiteUses(parsed, isStrict)
  const own = nameless.byName.get(id.name)
  const isChanged = isScriptKnown
    ? binding(id.name)?.isConstant === false
    : own?.some(({ access }) => access !== 'read')
  if (own !== undefined && isChanged === true) return { uses: nameless, lostName: id }
  root.id = id
  return { uses: new SiteUses(parsed, isStrict), lostName: undefined }
}

type PlaceOf = (position: number) => TextPlace

function freeNameOf(
  uses: readonly Use[],
  { binding, signs }: SitePlace,
  about: { readonly placeOf: PlaceOf; readonly depth: NameDepth | undefined },
): FreeName {
  const [first] = uses
  // A part of an object has the type of the whole.
  const others = uses.filter((use) => !isTypeof(use))
  const members = others.map(memberOf)
  const isMembers = members.length > 0 && members.every((member) => member !== undefined)
  const name = first?.node.name ?? ''
  return {
    name,
    binding: binding(name),
    ...signs(name),
    isAssigned: uses.some(({ access }) => access !== 'read'),
    isOnlyTypeof: others.length === 0,
    members: isMembers ? [...new Set(members)] : undefined,
    calledMembers: [...new Set(uses.flatMap((use) => calledMemberOf(use) ?? []))],
    depth: about.depth?.depth ?? 0,
    moduleDepth: about.depth?.moduleDepth ?? 0,
    rootDepth: about.depth?.rootDepth ?? 0,
    isSliced: about.depth?.isSliced ?? false,
    place: about.placeOf(first?.node.start ?? 0),
  }
}

function isTypeof({ parent }: Use): boolean {
  return parent?.type === 'UnaryExpression' && parent.operator === 'typeof'
}

/** The property that is read, if that is the only use. */
function memberOf({ node, parent, access, isTarget }: Use): string | undefined {
  const isMember = parent?.type === 'MemberExpression' && parent.object === node
  if (!isMember || access !== 'read' || isTarget) return undefined
  return staticName(parent.property, parent.computed)
}

/** The property that is called as a method. */
function calledMemberOf({ node, parent, around }: Use): string | undefined {
  if (parent?.type !== 'MemberExpression' || parent.object !== node) return undefined
  const isCalled =
    (around?.type === 'CallExpression' && around.callee === parent) ||
    (around?.type === 'TaggedTemplateExpression' && around.tag === parent)
  return isCalled ? staticName(parent.property, parent.computed) : undefined
}

function obstaclesOf(
  { parsed: { root }, uses, freeNames }: CodeParts,
  { hasNoThis, isInWith, isScriptKnown, isUnchanged }: SitePlace,
  placeOf: PlaceOf,
): FunctionSite['obstacles'] {
  const found = [...uses.obstacles]
  if (!hasNoThis) {
    for (const { node } of uses.outerThis) {
      if (!uses.unusedThis.has(node)) found.push({ kind: 'this', position: node.start })
    }
  }
  if (isInWith && freeNames.length > 0) found.push({ kind: 'eval', position: root.start })
  const isConstant = (name: string): boolean => {
    const free = freeNames.find((each) => each.name === name)
    if (free?.binding !== undefined) return free.binding.isConstant
    return free !== undefined && !(free.isAssigned && !isScriptKnown)
  }
  for (const { type, key } of isClassNode(root) ? computedMembers(root) : []) {
    const isSame = isPure(key, isConstant, type === 'PropertyDefinition' ? isUnchanged : undefined)
    if (!isSame) found.push({ kind: 'class definition', position: key.start })
  }
  return found
    .toSorted((a, b) => a.position - b.position)
    .map(({ kind, position }) => ({ kind, ...placeOf(position) }))
}

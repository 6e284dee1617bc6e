// From the text of one function to what it means: its free names, what keeps it where it is, its
// code.

import { classSiteOf, computedKeys, computedMembersOf, isPure } from './class-text.js'
import { inPlaceOf, type Edit } from './edit.js'
import { codeOf, type CodeParts } from './function-code.js'
import type {
  Binding,
  FreeName,
  FunctionCode,
  FunctionSite,
  RuntimeName,
  TextPlace,
} from './function-site.js'
import type { LineIndex } from './line-index.js'
import { attempt, parseFunctionText, type ParsedText } from './parse.js'
import { readDepthsOf, type NameDepth } from './read-depth.js'
import { SiteUses, type Use } from './site-uses.js'
import { isClassNode, staticName } from './syntax.js'

/** What is known of the place of a function. */
export interface SitePlace {
  /** Undefined if only the text is known. */
  readonly kind: FunctionSite['kind'] | undefined
  readonly isStrict: boolean
  /** Whether a name that has no binding is certainly not a variable of the surroundings. */
  readonly isScriptKnown: boolean
  readonly binding: (name: string) => Binding | undefined
  readonly runtimeKind: (name: string) => RuntimeName['kind'] | undefined
  readonly isDeclaration: boolean
  /** `this` is undefined around it. */
  readonly hasNoThis: boolean
  /** Names may be properties of an object: it stands inside of `with`. */
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
  const { parsed, freeNames, obstacles, parts } = analysis
  const code = codeOf(parts)
  const known = new Map<string, FunctionCode>([['', code]])
  return {
    kind: place.kind ?? kindOf(parsed),
    obstacles,
    freeNames,
    code,
    codeWith: (cells) => {
      const added = freeNames.map(({ name }) => name).filter((name) => cells.has(name))
      const key = added.join()
      const made =
        known.get(key) ?? codeWithCells(text, place, { isNamed, cells: new Set(added) }) ?? code
      known.set(key, made)
      return made
    },
    classSite: isClassNode(parsed.root) ? classSiteOf(parsed.root, parsed.source) : undefined,
    withNamedMembers: () => (named ??= siteOf(text, place, true)),
    line: parts.line,
    column: parts.column,
  }
}

/** Parses the text again: trees are too large to be kept. */
function codeWithCells(
  text: string,
  place: SitePlace,
  { isNamed, cells }: { readonly isNamed: boolean; readonly cells: ReadonlySet<string> },
): FunctionCode | undefined {
  const parts = analyse(text, place, isNamed)?.parts
  if (parts === undefined) return undefined
  return codeOf({ ...parts, isCell: (free) => cells.has(free.name) || parts.isCell(free) })
}

interface Analysis {
  readonly parsed: ParsedText
  readonly freeNames: readonly FreeName[]
  readonly obstacles: FunctionSite['obstacles']
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
    freeNameOf(all, place.binding(name), { placeOf, depth: depths.byName.get(name) }),
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
  return { parsed, freeNames, obstacles: obstaclesOf(parts, place, placeOf), parts }
}

/** Puts names of captured values in the place of computed names of members. */
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
 * The uses in a function. Where its name is a variable around it that is assigned somewhere, the
 * function must use that variable, and so has to lose its name.
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
  binding: Binding | undefined,
  about: { readonly placeOf: PlaceOf; readonly depth: NameDepth | undefined },
): FreeName {
  const [first] = uses
  const members = uses.map(memberOf)
  const isMembers = members.every((member) => member !== undefined)
  return {
    name: first?.node.name ?? '',
    binding,
    isAssigned: uses.some(({ access }) => access !== 'read'),
    isOnlyTypeof: uses.every(
      ({ parent }) => parent?.type === 'UnaryExpression' && parent.operator === 'typeof',
    ),
    members: isMembers ? [...new Set(members)] : undefined,
    calledMembers: [...new Set(uses.flatMap((use) => calledMemberOf(use) ?? []))],
    depth: about.depth?.depth ?? 0,
    moduleDepth: about.depth?.moduleDepth ?? 0,
    rootDepth: about.depth?.rootDepth ?? 0,
    place: about.placeOf(first?.node.start ?? 0),
  }
}

/** The property that is read, if that is all. */
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
  { hasNoThis, isInWith, isScriptKnown }: SitePlace,
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
  for (const key of isClassNode(root) ? computedKeys(root) : []) {
    if (!isPure(key, isConstant)) found.push({ kind: 'class definition', position: key.start })
  }
  return found
    .toSorted((a, b) => a.position - b.position)
    .map(({ kind, position }) => ({ kind, ...placeOf(position) }))
}

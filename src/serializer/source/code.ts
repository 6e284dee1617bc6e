// A class without its surroundings: its static parts travel as values, and its parent is passed in.

import type * as acorn from 'acorn'
import {
  type ClassNode,
  isClassNode,
  type Node,
  type ParsedText,
  type RootNode,
  staticName,
} from './parse.js'
import type { SiteUses, Use } from './site.js'
import type {
  ClassSite,
  CodeName,
  ComputedMember,
  FreeName,
  FunctionCode,
  RuntimeName,
} from './sites.js'

// Changes to a text at the positions of nodes.

/** Replaces the text between two offsets; equal offsets insert. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * The part of a text between two offsets, with edits; those at the same place in their order. A
 * space separates words that would join otherwise: `extends(0, f)(A)` becomes `extends Parent`.
 */
function applyEdits(
  source: string,
  [from, to]: readonly [from: number, to: number],
  edits: readonly Edit[],
): string {
  const sorted = edits
    .map((edit, index) => ({ edit, index }))
    .toSorted((a, b) => a.edit.start - b.edit.start || a.index - b.index)
  const parts: string[] = []
  const add = (text: string): void => {
    if (text === '') return
    if (WORD_START.test(text) && WORD_END.test(parts.at(-1)?.at(-1) ?? '')) parts.push(' ')
    parts.push(text)
  }
  let position = from
  for (const { edit } of sorted) {
    add(source.slice(position, edit.start))
    add(edit.text)
    position = edit.end
  }
  add(source.slice(position, to))
  return parts.join('')
}

const WORD_START = /^[\p{ID_Start}\w$\\]/u
const WORD_END = /[\w$]/

/** Spaces in the place of a text, with its line ends. */
function blank(text: string): string {
  return text.replaceAll(/[^\n\r\u2028\u2029]/g, ' ')
}

/**
 * A text in the place of another: padded to the same length, unless it is longer itself, with its
 * line ends.
 */
export function inPlaceOf(original: string, text: string): string {
  const rest = blank(original)
  const columns = /^ */.exec(rest)?.[0].length ?? 0
  return text + rest.slice(Math.min(text.length, columns))
}

// Names for the values that a text receives.

/** A name that does not occur in a text, nor an escaped form of it. */
function unusedName(wish: string, source: string): string {
  const plain = source.includes('\\u') ? source.replaceAll(ESCAPE, unescaped) : source
  let name = wish
  for (let count = 1; plain.includes(name); count += 1) name = `${wish}${count}`
  return name
}

const ESCAPE = /\\u(?:\{([\da-f]{1,6})\}|([\da-f]{4}))/gi

function unescaped(escape: string, ...digits: readonly unknown[]): string {
  const code = Number.parseInt(String(digits[0] ?? digits[1]), 16)
  return code > 0x10_ff_ff ? escape : String.fromCodePoint(code)
}

/** The facts about a class that its text states. */
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

/** A member whose name is computed, and its position. */
interface NamedMember {
  readonly member: ComputedMember
  readonly node: acorn.MethodDefinition
}

/** Methods and accessors with computed names, except literals and well-known symbols. */
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

/** `static` and the text between it and the member itself. */
const STATIC = /^static(?:\s|\/\*[^]*?\*\/|\/\/[^\n\r\u2028\u2029]*)*/

function isPlainName(key: Node): boolean {
  if (key.type === 'Literal') return true
  if (key.type !== 'MemberExpression' || key.computed) return false
  return key.object.type === 'Identifier' && key.object.name === 'Symbol'
}

/** Whether the class says `extends null`. */
function extendsNull({ superClass }: ClassNode): boolean {
  return superClass?.type === 'Literal' && superClass.value === null
}

/** Removes static fields and blocks from the text. A semicolon separates the text around them. */
function staticEdits(node: ClassNode, source: string): readonly Edit[] {
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

/** Gives the class its parent under another name. */
function parentEdit(superClass: acorn.Expression, name: string, source: string): Edit {
  const { start, end } = superClass
  return { start, end, text: inPlaceOf(source.slice(start, end), name) }
}

/** Lets the class hand out its private static fields when it is defined. */
function adoptEdit(node: ClassNode, fields: readonly string[], adopt: string): Edit {
  const calls = fields.map(
    (field) => `${adopt}({name:"${field}",get:()=>this.${field},set:(v)=>{this.${field}=v}})`,
  )
  const end = node.body.end - 1
  return { start: end, end, text: `;static{${calls.join(';')}}` }
}

/** Removes the name of a function that is known by a variable around it. */
function namelessEdit(id: acorn.Identifier, source: string): Edit {
  return { start: id.start, end: id.end, text: blank(source.slice(id.start, id.end)) }
}

/** Members with computed names that stay in the text; methods get their present names later. */
export function computedMembers(
  node: ClassNode,
): readonly (acorn.MethodDefinition | acorn.PropertyDefinition)[] {
  return node.body.body.flatMap((member) => {
    if (member.type === 'StaticBlock' || !member.computed) return []
    return member.type === 'PropertyDefinition' && member.static ? [] : [member]
  })
}

/**
 * Whether an expression has the same value each time, without effects, if its variables are
 * constant. `isUnchanged`: whether that holds for the members of a variable, too.
 */
export function isPure(
  node: Node,
  isConstant: (name: string) => boolean,
  isUnchanged: (name: string) => boolean = () => true,
): boolean {
  const isPureToo = (part: Node): boolean => isPure(part, isConstant, isUnchanged)
  switch (node.type) {
    case 'Literal':
      return true
    case 'Identifier':
      return isConstant(node.name)
    case 'TemplateLiteral':
      return node.expressions.every(isPureToo)
    case 'MemberExpression':
      if (node.object.type === 'Identifier' && !isUnchanged(node.object.name)) return false
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

/** `Symbol.for`, which returns the same symbol each time. */
function isSymbolFor(callee: Node): boolean {
  if (callee.type !== 'MemberExpression' || callee.object.type !== 'Identifier') return false
  return callee.object.name === 'Symbol' && staticName(callee.property, callee.computed) === 'for'
}

// How the use of a captured variable is rewritten if the variable is a cell, has another name, or
// cannot be assigned: each syntactic position needs a form of its own.

/** The replacement for a use; nothing if it can stay as it is. */
function editsOf(use: Use, code: CodeName, isStrict: boolean): readonly Edit[] {
  const { name, free } = code
  const isFixedWrite = use.access !== 'read' && !code.isCell && free.binding !== undefined
  if (isFixedWrite) {
    const isSilent = !isStrict && free.binding.kind === 'function'
    return [replace(use, atStart(use, constantTarget(name, isSilent)))]
  }
  if (code.isCell) return cellEdits(use, `${name}.v`)
  const { liveExport } = code
  if (liveExport !== undefined) return cellEdits(use, `${name}[${JSON.stringify(liveExport)}]`)
  return name === free.name ? [] : [replace(use, name)]
}

/** `target`: what to read or assign instead. */
function cellEdits(use: Use, target: string): readonly Edit[] {
  const { parent, node } = use
  if (parent?.type === 'UnaryExpression' && parent.operator === 'delete') {
    return [{ start: parent.start, end: parent.end, text: 'false' }]
  }
  const isCalled =
    (parent?.type === 'CallExpression' && parent.callee === node) ||
    (parent?.type === 'TaggedTemplateExpression' && parent.tag === node)
  // `name.v()` would have the cell as its `this`.
  if (isCalled) return [replace(use, atStart(use, `(0, ${target})`))]
  return [replace(use, target), ...nameKeepingEdits(use)]
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

/** A line that begins with `(` would call the expression of the line before. */
function atStart({ isAtStatement }: Use, text: string): string {
  return isAtStatement ? `;${text}` : text
}

/** Reads like the variable, and throws the error of a constant on assignment. */
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
  // `(x) = () => {}` does not name the function.
  const isDirect = parent.left === node && parent.start === node.start
  const isNaming =
    parent.type === 'AssignmentPattern' || ['=', '||=', '&&=', '??='].includes(parent.operator)
  return isDirect && isNaming ? parent.right : undefined
}

function isAnonymous(node: Node): boolean {
  if (node.type === 'ArrowFunctionExpression') return true
  return (node.type === 'FunctionExpression' || node.type === 'ClassExpression') && !node.id
}

// Writes the text of a function so that it can be evaluated elsewhere: everything that it uses of
// its surroundings gets a name under which it is passed in.

/** The parts from which code is made. */
export interface CodeParts {
  readonly parsed: ParsedText
  readonly uses: SiteUses
  readonly freeNames: readonly FreeName[]
  /** Names that stand for something of the loader: `require`. */
  readonly runtimeKinds: ReadonlyMap<string, RuntimeName['kind']>
  readonly isCell: (free: FreeName) => boolean
  /** Names of imports that are read from their module each time, with the names of the exports. */
  readonly live?: ReadonlyMap<string, string>
  readonly isStrict: boolean
  /** The name of the function, if it has to be removed. */
  readonly lostName: Parameters<typeof namelessEdit>[0] | undefined
  readonly exposesItself: boolean
  /** Passes computed names of class members in as captured values. */
  readonly memberEdits: readonly Edit[]
  /** Where the text begins in its script. */
  readonly line: number
  readonly column: number
}

/** Makes the code of a function. */
export function codeOf(parts: CodeParts): FunctionCode {
  const { parsed, uses, isStrict, exposesItself, line, column } = parts
  const { root, source, offset, method } = parsed
  const names = codeNamesOf(parts)
  const runtime: RuntimeName[] = []
  const edits = [...nameEdits(parts, names), ...runtimeEdits(parts, runtime), ...thisEdits(uses)]
  const classNames = addClassEdits(root, source, edits)
  edits.push(...parts.memberEdits)
  if (parts.lostName !== undefined) edits.push(namelessEdit(parts.lostName, source))
  if (method !== undefined) {
    const { text: head, end } = method
    edits.push({ start: offset, end, text: inPlaceOf(source.slice(offset, end), head) })
  }
  const text = applyEdits(source, [offset, root.end], edits)
  return {
    form: method?.kind ?? 'value',
    expression: method === undefined ? text : `${BEFORE_METHOD}${text} })`,
    isStrict,
    names,
    runtime,
    ...classNames,
    exposesItself,
    line,
    column: method === undefined ? column : column - BEFORE_METHOD.length,
  }
}

const BEFORE_METHOD = '({ '

function codeNamesOf(parts: CodeParts): readonly CodeName[] {
  const { freeNames, runtimeKinds, uses, parsed, isCell, live } = parts
  return freeNames
    .filter(({ name }) => !runtimeKinds.has(name))
    .map((free) => ({
      // Strict code cannot have a parameter of that name.
      name: free.name === 'arguments' ? unusedName('arguments_', parsed.source) : free.name,
      free,
      isCell: isCell(free),
      isEarly: uses.byName.get(free.name)?.some(({ isEarly }) => isEarly) === true,
      liveExport: live?.get(free.name),
    }))
}

function nameEdits({ uses, isStrict }: CodeParts, names: readonly CodeName[]): readonly Edit[] {
  return names.flatMap((code) =>
    (uses.byName.get(code.free.name) ?? []).flatMap((use) => editsOf(use, code, isStrict)),
  )
}

/** Replaces `import(…)` and `import.meta` with names of the same length. */
function runtimeEdits(parts: CodeParts, runtime: RuntimeName[]): readonly Edit[] {
  const { uses, parsed, freeNames, runtimeKinds } = parts
  const edits: Edit[] = []
  for (const { name } of freeNames) {
    const kind = runtimeKinds.get(name)
    if (kind !== undefined) runtime.push({ name, kind })
  }
  if (uses.imports.length > 0) {
    const name = unusedName('Import', parsed.source)
    runtime.push({ name, kind: 'import' })
    for (const { start } of uses.imports)
      edits.push({ start, end: start + 'import'.length, text: name })
  }
  if (uses.metas.length > 0) {
    const name = unusedName('import_meta', parsed.source)
    runtime.push({ name, kind: 'meta' })
    for (const { start, end } of uses.metas) edits.push({ start, end, text: name })
  }
  return edits
}

/**
 * At the top of a module `this` is undefined; elsewhere it is an obstacle, unless its value is
 * unused.
 */
function thisEdits({ outerThis, unusedThis }: SiteUses): readonly Edit[] {
  return outerThis.map(({ node, isAtStatement }) => {
    const inner = unusedThis.has(node) ? 'void 0' : '(void 0)'
    return { start: node.start, end: node.end, text: isAtStatement ? `;${inner}` : inner }
  })
}

function addClassEdits(
  root: RootNode,
  source: string,
  edits: Edit[],
): Pick<FunctionCode, 'parentName' | 'adoptName'> {
  if (!isClassNode(root)) return { parentName: undefined, adoptName: undefined }
  edits.push(...staticEdits(root, source))
  const { superClass } = root
  const hasParent = superClass && !extendsNull(root)
  const parentName = hasParent ? unusedName('Parent', source) : undefined
  if (hasParent && parentName !== undefined) edits.push(parentEdit(superClass, parentName, source))
  const { staticPrivates } = classSiteOf(root, source)
  const adoptName = staticPrivates.length > 0 ? unusedName('adopt', source) : undefined
  if (adoptName !== undefined) edits.push(adoptEdit(root, staticPrivates, adoptName))
  return { parentName, adoptName }
}

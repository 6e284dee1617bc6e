// The only place that calls the parser: scripts as V8 has compiled them, and texts of single
// functions.

import { createRequire } from 'node:module'
import type * as acorn from 'acorn'
import type { Options, Program } from 'acorn'
import { isClassNode, isFunction, type FunctionNode, type Node, type RootNode } from './syntax.js'

let loaded: typeof acorn | undefined

/** The parser; most processes never need it. */
export function parser(): typeof acorn {
  loaded ??= createRequire(import.meta.url)('acorn') as typeof acorn
  return loaded
}

/**
 * A script as a tree: a module, or else the body of a function, as a CommonJS file is one.
 * Undefined if it cannot be parsed.
 */
export function parseScript(source: string, isModule: boolean): Program | undefined {
  const options: Options = {
    ecmaVersion: 'latest',
    sourceType: isModule ? 'module' : 'commonjs',
    allowHashBang: true,
  }
  return attempt(() => parser().parse(source, options))
}

/** A function or class whose text was parsed alone. */
export interface ParsedText {
  readonly root: RootNode
  /** What the positions of nodes refer to: the text, with something before it. */
  readonly source: string
  /** Where the text begins in that. */
  readonly offset: number
  /** Where it is a method: what it is. */
  readonly method: MethodHead | undefined
}

/** What comes before the parameters of a method. Positions as those of nodes. */
export interface MethodHead {
  readonly kind: 'method' | 'getter' | 'setter'
  /** The same with the name `m`: `async *m`. */
  readonly text: string
  /** Where the parameters begin. */
  readonly end: number
}

/**
 * The text that V8 gives for a function or class. Undefined if it is none, or means something
 * else in strict (or sloppy) code.
 */
export function parseFunctionText(
  text: string,
  isStrict: boolean,
  isMethod?: boolean,
): ParsedText | undefined {
  const plain = isMethod === true ? undefined : parsePlain(text, isStrict)
  if (plain !== undefined || isMethod === false) return plain
  return parseMember(text, '({', '})', isStrict) ?? parseMember(text, '(class{', '})', isStrict)
}

function parsePlain(text: string, isStrict: boolean): ParsedText | undefined {
  const root = attempt(() => parser().parseExpressionAt(text, 0, textOptions(isStrict)))
  if (root === undefined) return parseAwaitingClass(text)
  const isRoot = isFunction(root) || isClassNode(root)
  if (!isRoot || root.start !== 0 || root.end !== text.length) return undefined
  return { root, source: text, offset: 0, method: undefined }
}

/** What a class extends, and the names of its members, can have `await` and `yield`. */
function parseAwaitingClass(text: string): ParsedText | undefined {
  if (!text.startsWith('class')) return undefined
  const before = 'async function* f() {('
  const source = `${before}${text}\n)}`
  const around = attempt(() => parser().parse(source, textOptions(true)))?.body[0]
  if (around?.type !== 'FunctionDeclaration') return undefined
  const [statement] = around.body.body
  if (statement?.type !== 'ExpressionStatement') return undefined
  const { expression: root } = statement
  const offset = before.length
  if (!isClassNode(root) || root.end !== offset + text.length) return undefined
  return { root, source, offset, method: undefined }
}

function parseMember(
  text: string,
  before: string,
  after: string,
  isStrict: boolean,
): ParsedText | undefined {
  const source = `${before}${text}\n${after}`
  const tree = attempt(() => parser().parse(source, textOptions(isStrict)))
  const [statement] = tree?.body ?? []
  if (statement?.type !== 'ExpressionStatement') return undefined
  const { expression } = statement
  const offset = before.length
  const member = onlyMember(expression)
  if (member?.start !== offset || member.end !== offset + text.length) return undefined
  const { value } = member
  if (value?.type !== 'FunctionExpression') return undefined
  return { root: value, source, offset, method: headOf(member, value) }
}

function headOf({ kind }: Member, { start: end, async, generator }: FunctionNode): MethodHead {
  if (kind === 'get') return { kind: 'getter', text: 'get m', end }
  if (kind === 'set') return { kind: 'setter', text: 'set m', end }
  return { kind: 'method', text: `${async ? 'async ' : ''}${generator ? '*' : ''}m`, end }
}

function onlyMember(node: Node): Member | undefined {
  if (node.type === 'ObjectExpression') {
    const [property, ...others] = node.properties
    const isMethod = property?.type === 'Property' && (property.method || property.kind !== 'init')
    return isMethod && others.length === 0 ? property : undefined
  }
  if (node.type !== 'ClassExpression') return undefined
  const [member, ...others] = node.body.body
  const isMethod = member?.type === 'MethodDefinition' && !member.static
  return isMethod && others.length === 0 ? member : undefined
}

interface Member {
  readonly start: number
  readonly end: number
  readonly value: Node | null | undefined
  readonly kind: string
}

/** What is allowed around the text is not known: all of it is. */
function textOptions(isStrict: boolean): Options {
  return {
    ecmaVersion: 'latest',
    sourceType: 'commonjs',
    strict: isStrict,
    allowImportExportEverywhere: true,
    allowSuperOutsideMethod: true,
    checkPrivateFields: false,
  }
}

/** Undefined for text that cannot be parsed, or is nested too deep to be parsed or walked. */
export function attempt<T>(make: () => T): T | undefined {
  try {
    return make()
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof RangeError) return undefined
    throw error
  }
}

// One walk over a whole script, and the facts kept from it: where its functions are, which
// variables they could use, what it exports. The tree is dropped: for a large bundle it takes
// hundreds of megabytes.

import type * as acorn from 'acorn'
import type { VariableChanges } from './changes.js'
import type { ExportedNames } from './exported-names.js'
import { type ModuleExports, moduleExportsOf } from './initializer.js'
import {
  attempt,
  type FunctionNode,
  isFunction,
  type Node,
  parseScript,
  saysStrict,
  statementsOf,
} from './parse.js'
import { Scope } from './scope.js'
import type { TextPlace } from './sites.js'
import { prune, type RootFacts, VariableFacts, WRAPPER_NAMES } from './variables.js'

// From offsets in a text to lines and columns as V8 counts them, and back.

const LINE_END = /\r\n?|[\n\u2028\u2029]/g

/** The lines of one text. */
export class LineIndex {
  readonly #starts: readonly number[]

  constructor(text: string) {
    const starts = [0]
    for (const { index, 0: end } of text.matchAll(LINE_END)) starts.push(index + end.length)
    this.#starts = starts
  }

  /** The line of an offset, from 0. */
  lineOf(offset: number): number {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return low
  }

  /** The column of an offset, from 0. */
  columnOf(offset: number): number {
    return offset - (this.#starts[this.lineOf(offset)] ?? 0)
  }

  /** Both of an offset. */
  placeOf(offset: number): TextPlace {
    return { line: this.lineOf(offset), column: this.columnOf(offset) }
  }

  /** The offset of a line and column, both from 0. */
  offsetOf(line: number, column: number): number {
    return (this.#starts[line] ?? 0) + column
  }
}

/** The facts kept about a script. */
export interface ScriptFacts {
  /** By the position that V8 gives for the function. */
  readonly roots: ReadonlyMap<number, RootFacts>
  /** The scope with what the script declares at its top. */
  readonly top: Scope
  readonly exports: ModuleExports
  /** The exports of a file that is not an ES module: exported name to local name. */
  readonly exported: Pick<ExportedNames, 'byName' | 'stars'>
}

/**
 * Undefined if the script cannot be parsed, or is nested too deeply to be walked. `changes`
 * collects how the script changes its variables.
 */
export function scriptFactsOf(
  source: string,
  isModule: boolean,
  changes?: VariableChanges,
): ScriptFacts | undefined {
  const program = parseScript(source, isModule)
  return program && attempt(() => factsOf(program, source, isModule, changes))
}

function factsOf(
  program: acorn.Program,
  source: string,
  isModule: boolean,
  changes: VariableChanges | undefined,
): ScriptFacts {
  const only = isModule ? undefined : onlyFunctionOf(program)
  const wrapper = only ?? (isModule ? undefined : calledFunctionOf(program))
  const isWrapper = wrapper !== undefined && (wrapper !== only || isModuleWrapper(wrapper))
  const tops = isWrapper ? topsOf(wrapper) : new Set<Node>()
  const kind = isModule ? 'module' : 'script'
  const scope = new Scope(kind, undefined, isModule || saysStrict(program.body))
  scope.isTop = only === undefined
  if (kind === 'script' && scope.isTop) {
    for (const name of WRAPPER_NAMES) scope.declare(name, 'wrapper', 0).mayBeUndefined = false
  }
  const facts = new VariableFacts(scope, source, tops, changes)
  facts.run(program)
  const pruned = new Set<Scope>()
  for (const root of facts.roots.values()) prune(root.scope, pruned)
  const { roots, top } = facts
  const exports = moduleExportsOf(program, scope)
  return { roots, top, exports, exported: facts.exported }
}

/**
 * The function of a script that consists of nothing else: from `new Function`, or as loaders write
 * it.
 */
function onlyFunctionOf(program: acorn.Program): FunctionNode | undefined {
  const statements = program.body.filter(
    (each) => each.type !== 'ExpressionStatement' || each.directive === undefined,
  )
  const [only, ...others] = statements
  if (only?.type !== 'ExpressionStatement' || others.length > 0) return undefined
  return isFunction(only.expression) ? only.expression : undefined
}

/**
 * The function in which compilers and bundlers wrap a whole file: `(() => { … })()`. Other code
 * cannot call it, so that the variables of the file exist once. Undefined if the script declares
 * others beside it.
 */
function calledFunctionOf(program: acorn.Program): FunctionNode | undefined {
  if (program.body.some(({ type }) => type !== 'ExpressionStatement')) return undefined
  const [called, ...others] = program.body.flatMap((each) => {
    if (each.type !== 'ExpressionStatement' || each.expression.type !== 'CallExpression') return []
    const { callee, arguments: given } = each.expression
    if (!isFunction(callee) || callee.generator || callee.params.length + given.length > 0)
      return []
    return 'id' in callee && callee.id ? [] : [callee]
  })
  return others.length === 0 ? called : undefined
}

/** Whether a function is a module wrapped by a loader: it is called once, by its loader. */
function isModuleWrapper(node: FunctionNode): boolean {
  const names = new Set(node.params.map((each) => (each.type === 'Identifier' ? each.name : '')))
  if (WRAPPER_NAMES.every((name) => names.has(name))) return true
  return [...names].some((name) => name.startsWith('__vite_ssr_'))
}

/** The function, its body, and the block that is its whole body. */
function topsOf(node: FunctionNode): ReadonlySet<Node> {
  const statements = statementsOf(node).filter(
    (each) => each.type !== 'ExpressionStatement' || each.directive === undefined,
  )
  const [only] = statements
  const isBlock = statements.length === 1 && only?.type === 'BlockStatement'
  return new Set(isBlock ? [node, node.body, only] : [node, node.body])
}

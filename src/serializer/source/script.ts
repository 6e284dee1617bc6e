// One walk over a whole script, and what is kept of it: where its functions are, which variables
// they could use, what it exports. The tree is dropped: for a large bundle it is hundreds of
// megabytes.

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

/** What is kept of a script. */
export interface ScriptFacts {
  /** By the place that V8 gives for the function. */
  readonly roots: ReadonlyMap<number, RootFacts>
  /** The scope with what the script declares at its top. */
  readonly top: Scope
  readonly exports: ModuleExports
  /** What a file exports that is no ES module: exported name to local name. */
  readonly exported: Pick<ExportedNames, 'byName' | 'stars'>
}

/**
 * Undefined if the script cannot be parsed, or is nested too deep to be walked. `changes`: learns
 * what it does to its variables.
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

/** The function of a script that is nothing else: of `new Function`, or as loaders write it. */
function onlyFunctionOf(program: acorn.Program): FunctionNode | undefined {
  const statements = program.body.filter(
    (each) => each.type !== 'ExpressionStatement' || each.directive === undefined,
  )
  const [only, ...others] = statements
  if (only?.type !== 'ExpressionStatement' || others.length > 0) return undefined
  return isFunction(only.expression) ? only.expression : undefined
}

/**
 * What compilers and bundlers put a whole file into: `(() => { … })()`. Nobody else can call it, so
 * that the file has its variables once. Undefined if it declares others beside it.
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

/** Whether a function is what a loader makes of a module: it is called once, with its loader. */
function isModuleWrapper(node: FunctionNode): boolean {
  const names = new Set(node.params.map((each) => (each.type === 'Identifier' ? each.name : '')))
  if (WRAPPER_NAMES.every((name) => names.has(name))) return true
  return [...names].some((name) => name.startsWith('__vite_ssr_'))
}

/** The function, its body, and the block that is all of it. */
function topsOf(node: FunctionNode): ReadonlySet<Node> {
  const statements = statementsOf(node).filter(
    (each) => each.type !== 'ExpressionStatement' || each.directive === undefined,
  )
  const [only] = statements
  const isBlock = statements.length === 1 && only?.type === 'BlockStatement'
  return new Set(isBlock ? [node, node.body, only] : [node, node.body])
}

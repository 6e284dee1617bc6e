// Facts about the functions and variables of a program, from its text. Text in, facts out: nothing
// here handles values or asks V8.

import { VariableChanges } from './changes.js'
import { type ExportTarget, isRequire } from './initializer.js'
import { parseFunctionText } from './parse.js'
import { COVERAGE } from './remaking.js'
import { type Initializer, isNeverAssigned, type Scope, type Variable } from './scope.js'
import { LineIndex, type ScriptFacts, scriptFactsOf } from './script.js'
import { siteOf } from './site.js'
import type { Binding, Changes, FunctionSite, MemberSite, RuntimeName } from './sites.js'
import { bindingOf, type RootFacts } from './variables.js'
import { evaluationOf, innerWitnesses, isOfCall } from './witnesses.js'

// How a script changes the values of the variables at its top. Few callers need this, so that a
// separate walk finds it on request.

/** By the name of the variable; those without changes are left out. */
function changesIn(
  source: string,
  isModule: boolean,
  lines: LineIndex,
): ReadonlyMap<string, Changes> {
  const { top } = scriptFactsOf(source, isModule, new VariableChanges()) ?? {}
  const found = new Map<string, Changes>()
  for (const [name, variable] of top?.variables ?? []) {
    const changes = changesOf(variable, lines)
    if (changes !== undefined) found.set(name, changes)
  }
  return found
}

function changesOf(variable: Variable, lines: LineIndex): Changes | undefined {
  const { changedAt, givenTo = [], parameters, scope, members } = variable
  const { changedLevel: level, lastChangedAt: lastAt, isChangedLate: areLate } = variable
  const ownChanges = { level, lastAt, areLate }
  const isFunction = parameters !== undefined && scope.isTop && !variable.isAssigned
  const isOpen = changedAt !== undefined || givenTo.length > 0
  if (!isOpen && !isFunction && members === undefined) return undefined
  return {
    own: changedAt === undefined ? undefined : { ...lines.placeOf(changedAt), ...ownChanges },
    givenTo: givenTo.map(({ at, ...call }) => ({ ...call, ...lines.placeOf(at) })),
    members: new Map([...(members ?? [])].map(([name, each]) => [name, changesOf(each, lines)])),
    parameters: isFunction
      ? parameters.map((each) =>
          each.map((held) => ({
            distance: held.distance,
            changes: changesOf(held.variable, lines),
          })),
        )
      : undefined,
  }
}

/** A script that was read as a whole. */
export interface ScriptAnalysis {
  /**
   * The function at V8's offset with this text, or undefined if there is none: then the script is
   * another one. The same object at each call.
   */
  siteAt(offset: number, text: string): FunctionSite | undefined
  /** The function expression whose name is at this offset, unless a comment stands before it. */
  namedFunction(nameAt: number): FunctionSite | undefined
  /** What the function at V8's offset with this text is to its class, if it is bound to that. */
  memberAt(offset: number, text: string): MemberSite | undefined
  /** The offset of a line and column, both from 0, as V8 counts lines. */
  offsetAt(line: number, column: number): number
  /** A variable declared at the top of the script. */
  binding(name: string): Binding | undefined
  /** The variables that the script imports, and those that hold modules as a whole. */
  imports(): readonly Binding[]
  /**
   * A function without parameters that creates the value of a constant at the top of the script;
   * undefined if that is not certain (remaking.ts). The same object at each call.
   */
  remakingSite(name: string): FunctionSite | undefined
  /** How the script changes the value of a variable at its top; undefined if it does not. */
  changesOf(name: string): Changes | undefined
  /** Further facts about the expression, if `remakingSite` finds one. */
  initializerOf(name: string): Omit<Initializer, 'end'> | undefined
  /**
   * The exports of a module, except `export *`. The local name `*default*` stands for the value of
   * `export default` without a name, which is not a variable. Empty for a CommonJS file.
   */
  exportsOf(): ReadonlyMap<string, ExportTarget>
  /**
   * The name of the variable behind an export of a CommonJS file, or of a module that a loader has
   * wrapped in a function; `b.c` for the export `c` of the module that `b` holds. Undefined if it
   * is not certain.
   */
  exportedBy(name: string): string | undefined
  /** The specifiers of `export * from '…'`, and of its compiled forms. */
  readonly starExports: readonly string[]
}

/**
 * Reads a module, or else a CommonJS file: the body of a function with the parameters `exports`,
 * `require`, `module`, `__filename` and `__dirname`. A script that consists of a single function
 * comes from `new Function` or a loader: for a loader, the variables at the top of the function
 * count as the script's. Undefined if the text cannot be parsed.
 */
export function analyzeScript(source: string, isModule: boolean): ScriptAnalysis | undefined {
  const facts = scriptFactsOf(source, isModule)
  return facts === undefined ? undefined : new Analysis(source, isModule, facts)
}

/**
 * Reads a function whose script is not available: free names have no binding, and those that the
 * function assigns are cells. `isStrict` says whether the function is strict; if that is not known,
 * it counts as strict wherever its text can be. Undefined if the text is not that of a function.
 */
export function analyzeText(text: string, isStrict?: boolean): FunctionSite | undefined {
  const isStrictText = isStrict ?? parseFunctionText(text, true) !== undefined
  return siteOf(text, {
    kind: undefined,
    isStrict: isStrictText,
    isScriptKnown: false,
    binding: () => undefined,
    signs: () => ({ innerWitnesses: [], isApart: false }),
    runtimeKind: () => undefined,
    isDeclaration: false,
    hasNoThis: false,
    isInWith: false,
    lines: new LineIndex(text),
    start: 0,
  })
}

class Analysis implements ScriptAnalysis {
  readonly #source: string
  readonly #isModule: boolean
  readonly #facts: ScriptFacts
  #changes: ReadonlyMap<string, Changes> | undefined
  #lines: LineIndex | undefined
  readonly #remaking = new Map<string, FunctionSite>()

  constructor(source: string, isModule: boolean, facts: ScriptFacts) {
    this.#source = source
    this.#isModule = isModule
    this.#facts = facts
  }

  get starExports(): readonly string[] {
    return [...this.#facts.exports.stars, ...this.#facts.exported.stars]
  }

  exportsOf(): ReadonlyMap<string, ExportTarget> {
    return this.#facts.exports.byName
  }

  exportedBy(name: string): string | undefined {
    const local = this.#facts.exported.byName.get(name)
    return local === '' ? undefined : local
  }

  offsetAt(line: number, column: number): number {
    return this.#lineIndex().offsetOf(line, column)
  }

  binding(name: string): Binding | undefined {
    const variable = this.#facts.top.find(name)
    return variable?.scope.isTop === true ? bindingOf(variable, this.#lineIndex()) : undefined
  }

  imports(): readonly Binding[] {
    const variables = [...(this.#facts.top.variables?.values() ?? [])]
    return variables
      .filter(({ kind, origin, wrappedSpecifier }) => {
        return kind === 'import' || origin?.path.length === 0 || wrappedSpecifier !== undefined
      })
      .map((variable) => bindingOf(variable, this.#lineIndex()))
  }

  remakingSite(name: string): FunctionSite | undefined {
    const known = this.#remaking.get(name)
    if (known !== undefined) return known
    const variable = this.#facts.top.find(name)
    if (variable?.initializer === undefined || !isNeverAssigned(variable)) return undefined
    const { start, end } = variable.initializer
    const { scope } = variable
    const site = this.#makeSite(
      {
        kind: 'arrow',
        isStrict: scope.isStrict,
        isDeclaration: false,
        hasNoThis: false,
        isOnceInCall: false,
        scope,
      },
      BEFORE_INITIALIZER + this.#source.slice(start, end) + AFTER_INITIALIZER,
      start - BEFORE_INITIALIZER.length,
    )
    if (site === undefined || site.obstacles.length > 0) return undefined
    const isSteady = site.freeNames.every(
      ({ name: free, binding }) => binding?.isConstant !== false || COVERAGE.test(free),
    )
    if (!isSteady) return undefined
    this.#remaking.set(name, site)
    return site
  }

  changesOf(name: string): Changes | undefined {
    this.#changes ??= changesIn(this.#source, this.#isModule, this.#lineIndex())
    return this.#changes.get(name)
  }

  initializerOf(name: string): Initializer | undefined {
    return this.#facts.top.find(name)?.initializer
  }

  siteAt(offset: number, text: string): FunctionSite | undefined {
    const root = this.#rootAt(offset, text)
    return root && (root.site ??= this.#makeSite(root, text, root.end - text.length))
  }

  memberAt(offset: number, text: string): MemberSite | undefined {
    const root = this.#rootAt(offset, text)
    return root?.member && { ...root.member, ...evaluationOf(root.scope) }
  }

  #rootAt(offset: number, text: string): RootFacts | undefined {
    const root = this.#facts.roots.get(offset)
    // The text of a static method begins after `static`.
    const isIt = root && this.#source.slice(root.end - text.length, root.end) === text
    return isIt === true ? root : undefined
  }

  namedFunction(nameAt: number): FunctionSite | undefined {
    const before = this.#source.slice(Math.max(nameAt - MAX_HEAD, 0), nameAt)
    const [head] = /\b(?:async\s+)?function\s*\*?\s*$/.exec(before) ?? []
    // Functions are listed by where their parameters begin.
    const offset = Math.min(...[...this.#facts.roots.keys()].filter((each) => each > nameAt))
    const root = this.#facts.roots.get(offset)
    if (head === undefined || root === undefined) return undefined
    return this.siteAt(offset, this.#source.slice(nameAt - head.length, root.end))
  }

  #makeSite(
    root: Omit<RootFacts, 'end' | 'member' | 'site'>,
    text: string,
    start: number,
  ): FunctionSite | undefined {
    const { kind, isStrict, isDeclaration, hasNoThis, scope, isOnceInCall } = root
    const lines = this.#lineIndex()
    return siteOf(text, {
      kind,
      isStrict,
      isScriptKnown: true,
      binding: (name) => {
        const variable = scope.find(name)
        return variable === undefined ? undefined : bindingOf(variable, lines)
      },
      signs: (name) => ({
        innerWitnesses: innerWitnesses(scope, name),
        isApart: isOnceInCall && isOfCall(scope, name),
      }),
      isUnchanged: (name) => this.#isUnchanged(scope.find(name)),
      runtimeKind: (name) => runtimeKindOf(scope.find(name)),
      isDeclaration,
      hasNoThis,
      isInWith: isInWith(scope),
      lines,
      start,
    })
  }

  #isUnchanged(variable: Variable | undefined): boolean {
    if (variable === undefined) return true
    const { own, givenTo = [] } = this.changesOf(variable.name) ?? {}
    return variable.scope.isTop && own === undefined && givenTo.length === 0
  }

  #lineIndex(): LineIndex {
    return (this.#lines ??= new LineIndex(this.#source))
  }
}

/** More than `async function *` and the spaces in it, as people write it. */
const MAX_HEAD = 200

const BEFORE_INITIALIZER = '()=>('
/** A comment may precede the end. */
const AFTER_INITIALIZER = '\n)'

/** The names under which loaders pass these to a module. */
const LOADER_NAMES: ReadonlyMap<string, RuntimeName['kind']> = new Map([
  ['__vite_ssr_dynamic_import__', 'import'],
  ['__vite_ssr_import_meta__', 'meta'],
])

function runtimeKindOf(variable: Variable | undefined): RuntimeName['kind'] | undefined {
  if (variable === undefined || !isNeverAssigned(variable)) return undefined
  if (isRequire(variable)) return 'require'
  const isGiven = variable.kind === 'parameter' && variable.scope.isTop
  return isGiven ? LOADER_NAMES.get(variable.name) : undefined
}

function isInWith(scope: Scope): boolean {
  for (let each: Scope | undefined = scope; each !== undefined; each = each.parent) {
    if (each.kind === 'with') return true
  }
  return false
}

// Writes the text of a function so that it can be evaluated elsewhere: everything that it uses of
// its surroundings gets a name under which it is given.

import {
  adoptEdit,
  classSiteOf,
  extendsNull,
  namelessEdit,
  parentEdit,
  staticEdits,
} from './class-text.js'
import { applyEdits, inPlaceOf, type Edit } from './edit.js'
import type { CodeName, FreeName, FunctionCode, RuntimeName } from './function-site.js'
import { editsOf } from './name-edits.js'
import type { ParsedText } from './parse.js'
import type { SiteUses } from './site-uses.js'
import { isClassNode, type RootNode } from './syntax.js'
import { unusedName } from './unused-name.js'

/** What code is made of. */
export interface CodeParts {
  readonly parsed: ParsedText
  readonly uses: SiteUses
  readonly freeNames: readonly FreeName[]
  /** Names that stand for something of the loader: `require`. */
  readonly runtimeKinds: ReadonlyMap<string, RuntimeName['kind']>
  readonly isCell: (free: FreeName) => boolean
  readonly isStrict: boolean
  /** The name of the function, if it must not be known by it. */
  readonly lostName: Parameters<typeof namelessEdit>[0] | undefined
  readonly exposesItself: boolean
  /** Gives members of a class their names by captured values. */
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
  const { freeNames, runtimeKinds, uses, parsed, isCell } = parts
  return freeNames
    .filter(({ name }) => !runtimeKinds.has(name))
    .map((free) => ({
      // Strict code cannot have a parameter of that name.
      name: free.name === 'arguments' ? unusedName('arguments_', parsed.source) : free.name,
      free,
      isCell: isCell(free),
      isEarly: uses.byName.get(free.name)?.some(({ isEarly }) => isEarly) === true,
    }))
}

function nameEdits({ uses, isStrict }: CodeParts, names: readonly CodeName[]): readonly Edit[] {
  return names.flatMap((code) =>
    (uses.byName.get(code.free.name) ?? []).flatMap((use) => editsOf(use, code, isStrict)),
  )
}

/** Replaces `import(…)` and `import.meta` by names that are as long as they are. */
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
 * At the top of a module `this` is undefined; elsewhere it is an obstacle, unless nobody looks at
 * it.
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

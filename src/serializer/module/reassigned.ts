// Whether a module of a package assigns an exported variable again. A worker must read such an
// export each time, as an import does: a counter, or what `init()` sets.

import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, resolve } from 'node:path'
import { analyzeScript, type ScriptAnalysis } from '../source/analysis.js'
import { isLocal } from './package.js'

/** Larger files are not read: parsing them would take longer than most tasks. */
const MAX_BYTES = 512 * 1024
/** How many files of re-exports are followed. */
const MAX_HOPS = 10

/** Looks at the files of packages. Parses only those whose text leaves it open. */
export class ReassignedExports {
  readonly #resolve: (specifier: string, path: string) => string | undefined
  readonly #parsed = new Map<string, ScriptAnalysis | undefined>()

  /** `resolve`: the path of the file that an import of a package in the file at `path` names. */
  constructor(resolve: (specifier: string, path: string) => string | undefined) {
    this.#resolve = resolve
  }

  /**
   * Whether the ES module in a file assigns the variable behind an export again. False if the file
   * is something else, or cannot be read. Never throws.
   */
  has(path: string, name: string): boolean {
    return this.#find(path, name, MAX_HOPS) === true
  }

  /** Undefined: the file does not export the name. */
  #find(path: string, name: string, hopsLeft: number): boolean | undefined {
    const text = hopsLeft > 0 ? textOf(path) : undefined
    if (text === undefined || !(STAR.test(text) || isExported(text, name))) return undefined
    if (!mayMatter(text, name)) return false
    const analysis = this.#parse(path, text)
    const target = analysis?.exportsOf().get(name)
    if (analysis === undefined) return undefined
    const follow = (from: string, exported: string): boolean | undefined => {
      const file = isLocal(from) ? resolve(dirname(path), from) : this.#resolve(from, path)
      return file === undefined ? undefined : this.#find(file, exported, hopsLeft - 1)
    }
    if (target === undefined) {
      // Files are often named for what they export.
      const isNamed = (from: string): number => (basename(from).split('.', 1)[0] === name ? 0 : 1)
      for (const from of analysis.starExports.toSorted((a, b) => isNamed(a) - isNamed(b))) {
        const found = name === 'default' ? undefined : follow(from, name)
        if (found !== undefined) return found
      }
      return undefined
    }
    if ('from' in target) return target.name !== '*' && follow(target.from, target.name) === true
    const binding = analysis.binding(target.local)
    if (binding?.kind !== 'import') return binding?.isCell === true
    const [imported] = binding.origin?.path ?? []
    return imported !== undefined && follow(binding.origin?.specifier ?? '', imported) === true
  }

  #parse(path: string, text: string): ScriptAnalysis | undefined {
    if (!this.#parsed.has(path)) this.#parsed.set(path, analyzeScript(text, true))
    return this.#parsed.get(path)
  }
}

function textOf(path: string): string | undefined {
  try {
    if (!/\.m?js$/.test(path) || statSync(path).size > MAX_BYTES) return undefined
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const STAR = /\bexport\s*\*/
const RE_EXPORT = /\bexport\s*(?:\*|\{[^}]*\})\s*(?:as\s+[\w$]+\s*)?from\b/

function isExported(text: string, name: string): boolean {
  return /\bexport\b/.test(text) && text.includes(name)
}

/** Whether it is worth parsing the text: it re-exports, or may assign the variable. */
function mayMatter(text: string, name: string): boolean {
  if (RE_EXPORT.test(text)) return true
  if (!/^[\w$]+$/.test(name)) return true
  const word = name.replaceAll('$', String.raw`\$`)
  const renamed = [...text.matchAll(new RegExp(String.raw`([\w$]+)\s+as\s+${word}(?![\w$])`, 'g'))]
  return [name, ...renamed.map(([, local = '']) => local)].some((local) => isAssigned(text, local))
}

/** Whether the text seems to import a variable, or to assign it after its declaration. */
function isAssigned(text: string, local: string): boolean {
  const word = local.replaceAll('$', String.raw`\$`)
  const isFixed = new RegExp(String.raw`\bconst\s+${word}(?![\w$])`)
  if (isFixed.test(text)) return false
  const before = String.raw`(?<![\w$.])`
  const operator = String.raw`(?:[-+*/%&|^?<>]*=(?![=>])|\+\+|--)`
  const assignment = String.raw`(?<!\b(?:let|var)\s+)${before}${word}\s*${operator}`
  const change = String.raw`(?:\+\+|--)\s*${word}(?![\w$])`
  const importing = String.raw`\bimport\b[^'"]*${before}${word}(?![\w$])[^'"]*\bfrom\b`
  const loop = String.raw`\bfor\s*(?:await\b\s*)?\(\s*${word}\s+(?:of|in)\b`
  const pattern = String.raw`[[{,:.]\s*${word}(?![\w$])[^;()]*[\]}]\s*=(?![=>])`
  return new RegExp([assignment, change, importing, loop, pattern].join('|')).test(text)
}

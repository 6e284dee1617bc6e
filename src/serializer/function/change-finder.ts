// Whether something in a program may have changed, in place, what a variable holds: in its own
// script, in functions of other modules that are given it, and in modules that import it.

import type { Inspector } from '../inspect/inspector.js'
import type { Binding, Changes, GivenTo, TextPlace } from '../source/function-site.js'
import type { Declaration, KnownScript, ScriptTable } from './script-table.js'

/** Where a value may be changed. */
export interface ChangePlace extends TextPlace {
  readonly url: string
}

/** Finds such places. */
export class ChangeFinder {
  readonly #scripts: ScriptTable
  readonly #inspector: Pick<Inspector, 'userScripts'>

  constructor(scripts: ScriptTable, inspector: Pick<Inspector, 'userScripts'>) {
    this.#scripts = scripts
    this.#inspector = inspector
  }

  /** The first that is found; undefined if there is none. */
  changeOf(declaration: Declaration): ChangePlace | undefined {
    const { binding, script } = declaration
    const own = script.analysis?.changesOf(binding.name)
    return this.#within(own, script.script.url, 0) ?? this.#elsewhere(declaration)
  }

  /** `distance`: what is asked for is so many levels down in what these changes are about. */
  #within(
    changes: Changes | undefined,
    url: string,
    distance: number,
    seen: Set<Changes> = new Set(),
  ): ChangePlace | undefined {
    if (changes === undefined || seen.has(changes)) return undefined
    seen.add(changes)
    const { own, givenTo } = changes
    if (own !== undefined && own.level >= distance)
      return { url, line: own.line, column: own.column }
    for (const call of givenTo) {
      const found = this.#byCall(call, url, distance, seen)
      if (found !== undefined) return found
    }
    return undefined
  }

  #byCall(
    { origin, index, distance, line, column, isSuspect }: GivenTo,
    url: string,
    outer: number,
    seen: Set<Changes>,
  ): ChangePlace | undefined {
    const fn = this.#scripts.functionOf(origin, url)
    const parameters = fn?.script.analysis?.changesOf(fn.binding.name)?.parameters
    if (fn === undefined || parameters === undefined)
      return isSuspect ? { url, line, column } : undefined
    for (const each of parameters[Math.min(index, parameters.length - 1)] ?? []) {
      const inner = outer + distance + each.distance
      const found = this.#within(each.changes, fn.script.script.url, inner, seen)
      if (found !== undefined) return found
    }
    return undefined
  }

  #elsewhere(declaration: Declaration): ChangePlace | undefined {
    const { binding } = declaration
    const { script } = declaration.script
    const file = /([^/\\]+?)(?:\.\w+)?$/.exec(script.url)?.[1] ?? script.url
    const name = binding.name.replace(/^exports\./, '')
    for (const { id, url, source } of this.#inspector.userScripts()) {
      if (url === script.url || !(source.includes(name) || source.includes(file))) continue
      const importer = this.#scripts.get(id)
      for (const imported of importer?.analysis?.imports() ?? []) {
        const change = importer && this.#byImport(declaration, name, imported, importer)
        if (change !== undefined) return change
      }
    }
    return undefined
  }

  /** `name`: of the export, in case that all of the module is imported. */
  #byImport(
    { binding }: Declaration,
    name: string,
    imported: Binding,
    importer: KnownScript,
  ): ChangePlace | undefined {
    const { origin } = imported
    const { url } = importer.script
    const isWhole = origin === undefined || origin.path.length === 0
    const found = isWhole
      ? this.#scripts.memberOf(imported, importer, name)
      : this.#scripts.declarationOf(origin, url)
    if (found?.binding !== binding) return undefined
    const changes = importer.analysis?.changesOf(imported.name)
    if (!isWhole) return this.#within(changes, url, 0)
    return this.#within(changes, url, 1) ?? this.#within(changes?.members.get(name), url, 0)
  }
}

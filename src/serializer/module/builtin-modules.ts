// The modules that are part of Node, by identity: `fs` met inside another value is `node:fs`.

import { isBuiltin } from 'node:module'

/** An index of the modules of Node that are loaded; others cannot be met. */
export class BuiltinModules {
  readonly #ids = new Map<unknown, string>()
  #loadedCount = 0

  /** `node:fs` for what `require('fs')` gives; undefined for anything else. */
  idOf(value: object): string | undefined {
    const known = this.#ids.get(value)
    if (known !== undefined) return known
    const loaded = (process as { readonly moduleLoadList?: readonly string[] }).moduleLoadList ?? []
    if (loaded.length === this.#loadedCount) return undefined
    this.#loadedCount = loaded.length
    for (const entry of loaded) this.#add(entry.replace(/^NativeModule (node:)?/, ''))
    return this.#ids.get(value)
  }

  #add(name: string): void {
    const id = `node:${name}`
    if (!isBuiltin(id)) return
    const module: unknown = process.getBuiltinModule(id)
    // Some have several names, for example `path` and `path/posix`: the first will do.
    if (module !== undefined && !this.#ids.has(module)) this.#ids.set(module, id)
  }
}

// Stand-ins for `import()`, `require` and `import.meta` in code that came from another process.
// They work as in the file that the code comes from, if it exists here; packages that are not found
// there are resolved from the working directory.

import { existsSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { fileUrlOf, isLocal, ownEntryOf, ownPathOf, packageNameOf, pathOf } from './package.js'
import type { ModulePlace } from './place.js'
import { targetIn } from './search.js'
import type { PlaceTable } from './loader.js'
import type { RuntimeFunction, RuntimeRole } from './policy.js'

type Form = RuntimeRole['kind']

/** How vite writes the path of a file outside its root folder. */
const VITE_PREFIX = /^\/@fs(?=\/)/

/** Makes the functions; the same one for the same URL. */
export class RuntimeFunctions {
  readonly #places: PlaceTable
  readonly #workerName: () => string
  readonly #imports = new Map<string, RuntimeFunction>()
  readonly #requires = new Map<string, RuntimeFunction>()
  readonly #metas = new Map<string, object>()
  /** The places where packages were found. */
  readonly #found = new Map<string, ModulePlace>()
  readonly #roles = new WeakMap<RuntimeFunction, RuntimeRole>()

  constructor(places: PlaceTable, workerName: () => string) {
    this.#places = places
    this.#workerName = workerName
  }

  /** The role that the function was made for. */
  roleOf(fn: unknown): RuntimeRole | undefined {
    return this.#roles.get(fn as RuntimeFunction)
  }

  /** See `ModuleLoader`. */
  importOf(url: string): RuntimeFunction {
    return remember(this.#imports, url, () => {
      const load = async (specifier: unknown, options?: unknown): Promise<object> => {
        // Unlike `String`, this refuses symbols.
        const text = pathFromVite(`${specifier as string}`, [url, this.#cwdUrl()])
        const own = ownUrlOf(text)
        if (own !== undefined) return this.#places.cwd().import(own)
        return this.#placeFor(text, url, 'import').import(text, options)
      }
      this.#roles.set(load, { kind: 'import', url })
      return load
    })
  }

  /** See `ModuleLoader`. */
  requireOf(url: string): RuntimeFunction {
    return remember(this.#requires, url, () => {
      const place = this.#places.at(url) ?? this.#places.cwd()
      const path = place === this.#places.cwd() ? undefined : pathOf(url)
      const native = path === undefined ? place.require : createRequire(path)
      const load = (specifier: string): unknown => {
        const own = ownUrlOf(specifier)
        if (own !== undefined) return this.#places.cwd().importNow(own)
        const isHere = typeof specifier !== 'string' || isBuiltin(specifier)
        if (isHere) return native(specifier)
        const found = this.#placeFor(specifier, url, 'require')
        return (found === place ? native : found.require)(specifier) as unknown
      }
      const resolve = (specifier: string, options?: NodeJS.RequireResolveOptions): string => {
        const own = ownUrlOf(specifier)
        if (own !== undefined) return pathOf(own) ?? own
        if (typeof specifier !== 'string' || options !== undefined) {
          return native.resolve(specifier, options)
        }
        return this.#placeFor(specifier, url, 'require').require.resolve(specifier)
      }
      const paths = (request: string): string[] | null => native.resolve.paths(request)
      const { cache, main } = native
      const extensions: unknown = Reflect.get(native, 'extensions')
      Object.assign(resolve, { paths })
      Object.assign(load, { resolve, main, extensions, cache })
      this.#roles.set(load, { kind: 'require', url })
      return load
    })
  }

  /** See `ModuleLoader`. */
  metaOf(url: string): object {
    return remember(this.#metas, url, () => {
      const path = pathOf(url)
      const resolve = (specifier: unknown): string => {
        const text = String(specifier)
        const own = ownUrlOf(text)
        if (own !== undefined) return own
        return isLocal(text)
          ? new URL(text, fileUrlOf(url) ?? `${pathToFileURL(this.#places.cwd().folder).href}/`)
              .href
          : this.#placeFor(text, url, 'import').resolve(text)
      }
      const where = path === undefined ? {} : { dirname: dirname(path), filename: path }
      const meta = { ...where, resolve, url: fileUrlOf(url) ?? url }
      return Object.assign(Object.create(null) as object, meta)
    })
  }

  #cwdUrl(): string {
    return pathToFileURL(join(this.#places.cwd().folder, '[cwd]')).href
  }

  /** The first place that has it. Throws an error that names the module and the worker. */
  #placeFor(specifier: string, url: string, form: Form): ModulePlace {
    const key = `${form} ${specifier}\0${url}`
    const known = this.#found.get(key)
    if (known !== undefined) return known
    const reasons: unknown[] = []
    for (const place of this.#placesFor(specifier, url)) {
      try {
        targetIn(place, specifier, form)
        // There are few packages; other specifiers may be generated at random.
        if (packageNameOf(specifier) !== undefined) this.#found.set(key, place)
        return place
      } catch (error) {
        reasons.push(error)
      }
    }
    throw this.#notFound(specifier, url, form, reasons)
  }

  /** A file only says where the code comes from; code without a file uses the working directory. */
  #placesFor(specifier: string, url: string): readonly ModulePlace[] {
    if (!isLocal(specifier) && !specifier.startsWith('#')) return this.#places.around(url)
    const place = pathOf(url) === undefined ? this.#places.cwd() : this.#places.at(url)
    return place === undefined ? [] : [place]
  }

  /** With the code of Node's own error: programs check it. */
  #notFound(specifier: string, url: string, form: Form, reasons: readonly unknown[]): Error {
    const from = url === '' ? '' : ` for ${url}`
    const worker = `worker ${this.#workerName()}`
    const missing = reasons.length === 0 ? ': the folder of that file is not on its machine' : ''
    const cause = reasons.find((reason) => !isMissing(reason)) ?? reasons[0]
    const text = `Cannot find module '${specifier}'${from} on ${worker}${missing}`
    const own = (cause as { readonly code?: unknown } | undefined)?.code
    const code = own ?? (form === 'import' ? 'ERR_MODULE_NOT_FOUND' : 'MODULE_NOT_FOUND')
    return Object.assign(new Error(text, { cause }), { code })
  }
}

function isMissing(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | undefined)?.code
  return code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND'
}

/**
 * Vite writes the path of a file relative to its own root, which is a folder above the importing
 * file, or with a prefix if the file is outside.
 */
function pathFromVite(specifier: string, urls: readonly string[]): string {
  const path = specifier.replace(VITE_PREFIX, '')
  if (!path.startsWith('/') || existsSync(path)) return path
  for (const url of urls) {
    let folder = pathOf(url)
    while (folder !== undefined && dirname(folder) !== folder) {
      folder = dirname(folder)
      if (existsSync(join(folder, path))) return join(folder, path)
    }
  }
  return path
}

/** The URL of this package's own file for a specifier or path of it. */
function ownUrlOf(specifier: unknown): string | undefined {
  const entry = typeof specifier === 'string' ? ownEntryOf(specifier) : undefined
  const path = entry === undefined ? undefined : ownPathOf(entry)
  return path === undefined ? undefined : pathToFileURL(path).href
}

function remember<T>(table: Map<string, T>, key: string, make: () => T): T {
  const known = table.get(key)
  if (known !== undefined) return known
  const made = make()
  table.set(key, made)
  return made
}

// The exports of the CommonJS modules that are loaded here, by identity: from a function or an
// object to the file and key under which another process finds it.

import { createRequire } from 'node:module'
import { types } from 'node:util'
import type { ExportedValues } from './hidden.js'

/** A value among the exports of a file. */
interface LoadedExport {
  /** The path of the file. */
  readonly filename: string
  /** Empty for the exports as a whole. */
  readonly path: readonly string[]
}

interface LoadedModule {
  readonly exports: unknown
  readonly loaded: boolean
}

type LoadedModules = Readonly<Record<string, LoadedModule | undefined>>

/** An index of `require.cache`, built on first use and extended as the cache grows. */
export class LoadedExports {
  readonly #cache: LoadedModules
  readonly #accepts: (filename: string) => boolean
  readonly #found = new WeakMap<object, LoadedExport[]>()
  readonly #indexed = new Set<string>()
  #count = 0

  /** Only files that `accepts` allows are examined; its answers must not change. */
  constructor(accepts: (filename: string) => boolean) {
    this.#cache = createRequire(import.meta.url).cache
    this.#accepts = accepts
  }

  /**
   * Where the value is exported now. Searches the file at `filename` first, then those that
   * `isBetter` prefers, then all others.
   */
  find(
    value: object,
    filename: string | undefined,
    isBetter: (filename: string) => boolean,
  ): LoadedExport | undefined {
    const inFile = filename === undefined ? undefined : this.inFile(value, filename)
    if (inFile !== undefined) return inFile
    if (filename !== undefined || looksLikeExports(value)) this.#refresh()
    const all = this.#found.get(value)?.filter((found) => this.#holds(found, value)) ?? []
    return all.find((found) => isBetter(found.filename)) ?? all[0]
  }

  /** Whether the file was loaded by `require`, or imported as a CommonJS module. */
  has(filename: string): boolean {
    const entry = this.#cache[filename]
    return entry !== undefined && !types.isModuleNamespaceObject(entry.exports)
  }

  /** What the file exports; undefined unless it was loaded and may be examined. */
  exportsOf(filename: string): ExportedValues | undefined {
    const whole: unknown = this.#cache[filename]?.exports
    if (!isOpen(whole) || !this.#accepts(filename)) return undefined
    const keys = Object.getOwnPropertyNames(whole)
    return { whole, parts: keys.map((key) => [key, exportOf(whole, key)] as const) }
  }

  /** Where the file exports the value, if it was loaded. */
  inFile(value: object, filename: string): LoadedExport | undefined {
    if (!this.#accepts(filename)) return undefined
    const whole: unknown = this.#cache[filename]?.exports
    if (whole === value) return { filename, path: [] }
    const key = isOpen(whole) ? keyOf(whole, value) : undefined
    return key === undefined ? undefined : { filename, path: [key] }
  }

  /** The exports may have changed since they were indexed. */
  #holds({ filename, path }: LoadedExport, value: object): boolean {
    const whole: unknown = this.#cache[filename]?.exports
    const [key] = path
    if (key === undefined) return whole === value
    return isOpen(whole) && exportOf(whole, key) === value
  }

  #refresh(): void {
    const filenames = Object.keys(this.#cache)
    if (filenames.length === this.#count) return
    let pending = 0
    for (const filename of filenames) {
      if (this.#indexed.has(filename)) continue
      const entry = this.#cache[filename]
      if (entry === undefined) continue
      if (entry.loaded) this.#indexed.add(filename)
      else pending++
      if (entry.loaded && this.#accepts(filename)) this.#index(filename, entry.exports)
    }
    this.#count = filenames.length - pending
  }

  #index(filename: string, whole: unknown): void {
    // For plain JSON a copy is as good, and it includes changes made to it.
    if (!isOpen(whole) || filename.endsWith('.json')) return
    this.#add(whole, { filename, path: [] })
    for (const key of Object.getOwnPropertyNames(whole)) {
      const value = exportOf(whole, key)
      if (typeof value === 'function' || (isOpen(value) && looksLikeExports(value))) {
        this.#add(value, { filename, path: [key] })
      }
    }
  }

  #add(value: object, found: LoadedExport): void {
    const known = this.#found.get(value)
    if (known === undefined) this.#found.set(value, [found])
    else known.push(found)
  }
}

/** The own key that has the value; preferably the one equal to the function's name. */
function keyOf(whole: object, value: object): string | undefined {
  const name = typeof value === 'function' ? ownName(value) : undefined
  const holds = (key: string): boolean => exportOf(whole, key) === value
  if (name !== undefined && holds(name)) return name
  return Object.getOwnPropertyNames(whole).find(holds)
}

/** The export of a file under a name. Getters are called only if a compiler made them. */
function exportOf(whole: object, key: string): unknown {
  const property = Object.getOwnPropertyDescriptor(whole, key)
  if (property === undefined || 'value' in property) return property?.value as unknown
  const isCompiled = Object.getOwnPropertyDescriptor(whole, '__esModule')?.value === true
  if (!isCompiled) return undefined
  try {
    return (whole as Readonly<Record<string, unknown>>)[key]
  } catch {
    return undefined
  }
}

function ownName(fn: object): string | undefined {
  const name: unknown = Object.getOwnPropertyDescriptor(fn, 'name')?.value
  return typeof name === 'string' ? name : undefined
}

/** An object whose properties can be read without running user code. */
export function isOpen(value: unknown): value is object {
  if ((typeof value !== 'object' || value === null) && typeof value !== 'function') return false
  return !types.isProxy(value) && !types.isModuleNamespaceObject(value)
}

/**
 * Whether an object is worth indexing: a plain one with functions or getters in it. Others can be
 * copied, and a copy includes changes made to it.
 */
function looksLikeExports(value: object): boolean {
  if (typeof value === 'function') return true
  if (!isOpen(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return false
  return Object.values(Object.getOwnPropertyDescriptors(value)).some(
    (property) => property.get !== undefined || typeof property.value === 'function',
  )
}

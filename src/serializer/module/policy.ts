// Which modules travel by reference, because they exist where they arrive, and which by value:
// packages and Node by reference, the user's own files by value, unless the user registered
// otherwise.

import { realpathSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, resolve } from 'node:path'
import { ConfigError } from '../../base/errors.js'
import {
  isLocal,
  type NearestPackage,
  nearestPackage,
  ownFileOf,
  packageFileOf,
  pathFrom,
  pathOf,
} from './package.js'

/** How a module travels. */
type Mode = 'value' | 'reference'

/** Such a path does not have the name of the package. */
const STORED = /[\\/]node_modules[\\/]\.store[\\/][^\\/]+[\\/]package[\\/]/

/** The registrations for the whole process: there is one instance. */
export class ModulePolicy {
  /** By package or by its subpath, `lodash` or `@scope/lib/part`. */
  readonly #names = new Map<string, Mode>()
  /** By path. */
  readonly #paths = new Map<string, Mode>()
  /** Names of packages outside of `node_modules`, by folder. */
  readonly #nearest = new Map<string, NearestPackage | undefined>()
  #version = 0

  /** Grows with every registration: earlier decisions may be different now. */
  get version(): number {
    return this.#version
  }

  /**
   * From now on the package (or its subpath) travels by value, with everything that is used of it,
   * and need not be installed on workers. The longest matching registration decides. Throws
   * `ConfigError` if `specifier` is not a specifier.
   */
  registerByValue(specifier: string): void {
    this.#register('registerByValue', specifier, 'value')
  }

  /**
   * From now on the module is imported on the worker. Besides packages, the user's own files can be
   * named: by URL, path, or a path from the working directory that begins with a dot; a folder
   * stands for its files. Throws `ConfigError` if `specifier` is not a specifier.
   */
  registerByReference(specifier: string): void {
    this.#register('registerByReference', specifier, 'reference')
  }

  /** The registration for a specifier of a package or for an alias. */
  modeOfSpecifier(specifier: string): Mode | undefined {
    return longestMatch(this.#names, specifier, '/')
  }

  /** How functions of the file travel. */
  modeOfPath(path: string): Mode {
    const byPath = longestMatch(this.#paths, resolve(path), /[\\/]/)
    if (byPath !== undefined) return byPath
    const inPackage = packageFileOf(path) ?? this.#storedFileOf(path)
    if (inPackage !== undefined) {
      return this.#modeInPackage(inPackage.packageName, inPackage.file) ?? 'reference'
    }
    const inWorkspace = this.#names.size === 0 ? undefined : this.workspaceFileOf(path)
    if (inWorkspace === undefined) return 'value'
    return this.#modeInPackage(inWorkspace.packageName, inWorkspace.file) ?? 'value'
  }

  /**
   * Whether functions of the file must be imported: it belongs to a package, or was registered by
   * reference. Takes a `file:` URL or a path.
   */
  isPackageFile(location: string): boolean {
    const path = pathOf(location)
    return path !== undefined && this.modeOfPath(path) === 'reference'
  }

  /** Whether the file belongs to this package, which every worker has. */
  isOwnFile(location: string): boolean {
    return ownFileOf(location) !== undefined
  }

  /** The user's own package that a file belongs to: one outside `node_modules`. */
  workspaceFileOf(path: string): { packageName: string; file: string } | undefined {
    const nearest = this.#nearestPackage(dirname(path))
    const file = nearest === undefined ? undefined : pathFrom(nearest.folder, path)
    if (nearest === undefined || file === undefined) return undefined
    return { packageName: nearest.name, file }
  }

  /** The file of a package that yarn has installed in the manner of pnpm. */
  #storedFileOf(path: string): { packageName: string; file: string } | undefined {
    return STORED.test(path) ? this.workspaceFileOf(path) : undefined
  }

  #register(caller: string, specifier: unknown, mode: Mode): void {
    const wanted = `${caller}: specifier must be the name of a package or the location of a file`
    if (typeof specifier !== 'string' || specifier.trim() === '') {
      const got = typeof specifier === 'string' ? JSON.stringify(specifier) : typeof specifier
      throw new ConfigError(`${wanted}, got ${got}`)
    }
    if (isBuiltin(specifier)) {
      if (mode === 'reference') return
      throw new ConfigError(`${caller}: specifier ${specifier} is part of Node on every worker`)
    }
    const key = specifier.replace(/(?<=[^\\/])[\\/]+$/, '')
    if (isLocal(key)) {
      const path = pathOf(key) ?? (key.startsWith('file:') ? undefined : resolve(key))
      if (path === undefined) throw new ConfigError(`${wanted}, got ${JSON.stringify(key)}`)
      this.#paths.set(realPath(path), mode)
    } else {
      this.#names.set(key, mode)
    }
    this.#version++
  }

  /** A file matches a subpath with or without its extension. */
  #modeInPackage(packageName: string, file: string): Mode | undefined {
    const specifier = `${packageName}/${file}`
    const bare = specifier.replace(/\.[^./]+$/, '')
    return this.#names.get(bare) ?? longestMatch(this.#names, specifier, '/')
  }

  #nearestPackage(folder: string): NearestPackage | undefined {
    const known = this.#nearest.get(folder)
    if (known !== undefined || this.#nearest.has(folder)) return known
    const found = nearestPackage(folder)
    this.#nearest.set(folder, found)
    return found
  }
}

/** Node names files by their real paths. */
export function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

/** The value of the longest key that equals the text or is a prefix of it before a separator. */
function longestMatch(
  table: ReadonlyMap<string, Mode>,
  text: string,
  separator: RegExp | string,
): Mode | undefined {
  let best: Mode | undefined
  let length = -1
  for (const [key, mode] of table) {
    if (key.length <= length || !text.startsWith(key)) continue
    const next = text.charAt(key.length)
    if (next === '' || next.search(separator) === 0) {
      best = mode
      length = key.length
    }
  }
  return best
}

// Values that travel by reference: those that can be imported where they arrive. Types only.

/** A module, by the means of finding it. */
export type ModuleReference =
  /** Part of Node: `node:fs`. */
  | { readonly kind: 'builtin'; readonly id: string }
  /** As the user's file names it. `parent` is the URL of that file. */
  | { readonly kind: 'specifier'; readonly specifier: string; readonly parent: string }
  /** A file inside a package: `file` is its path from the folder that has `package.json`. */
  | {
      readonly kind: 'packageFile'
      readonly packageName: string
      readonly file: string
      readonly parent: string
    }
  /** A file of this package, by its path from the folder of the compiled files. */
  | { readonly kind: 'own'; readonly file: string }

/** A value, by the module that has it and the path from there. */
export interface ExportReference {
  readonly module: ModuleReference
  /** Whether `path` begins at the namespace or at the result of `require`. */
  readonly form: 'import' | 'require'
  /** `[]` is the namespace or the exports as a whole. */
  readonly path: readonly string[]
}

/** Loads the targets of references; the worker's half. All methods are synchronous. */
export interface ModuleLoader {
  /**
   * The value. Throws a `DeserializeError` that names the module and this worker, or
   * `PendingImport` if a module can only be loaded asynchronously.
   */
  load(reference: ExportReference): unknown
  /**
   * The function behind `import(…)` in code from the file at `url`. The same function for the same
   * URL.
   */
  importOf(url: string): RuntimeFunction
  /** The `require` of the CommonJS file at `url`. The same function for the same URL. */
  requireOf(url: string): RuntimeFunction
  /** The `import.meta` of the file at `url`: url, dirname, filename, resolve. */
  metaOf(url: string): object
  /**
   * The reference of what `load` has loaded: the namespace of a module, its exports, or a function
   * that it exports.
   */
  referenceOf(object: object): ExportReference | undefined
  /** How many modules `load` has loaded: what `referenceOf` returns may be different then. */
  readonly loadedCount: number
  /** The role of a function, if `importOf` or `requireOf` made it. */
  roleOf(fn: unknown): RuntimeRole | undefined
}

/** A function that takes the place of `import` or `require`. */
export type RuntimeFunction = (specifier: string, options?: unknown) => unknown

/** The keyword and the file that a function stands for. */
export interface RuntimeRole {
  readonly kind: 'import' | 'require'
  readonly url: string
}

/** Thrown if a value cannot be read until a module has been imported. */
export class PendingImport extends Error {
  /** Fulfilled when reading can be tried again; never rejected. */
  readonly done: Promise<void>

  constructor(specifier: string, done: Promise<void>) {
    super(`${specifier} can only be imported asynchronously`)
    this.done = done
  }
}

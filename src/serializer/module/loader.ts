// The worker's half of references: loads the modules they name, synchronously wherever Node can, so
// that a value can be read in one go. The module instance is the same as with `import()`.

import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DeserializeError } from '../../base/errors.js'
import { textOf } from '../refusal.js'
import { hiddenPath, hiddenValue } from './hidden.js'
import { ownNamespace, ownPathOf, pathOf } from './package.js'
import { valueIn } from './native.js'
import { ModulePlace, needsTime, quietly } from './place.js'
import {
  type ExportReference,
  type ModuleLoader,
  type ModuleReference,
  PendingImport,
  type RuntimeFunction,
  type RuntimeRole,
} from './policy.js'
import { RuntimeFunctions } from './runtime.js'
import { type FoundModule, ModuleSearch } from './search.js'

// The places of this process from which modules are resolved: that of the user's file, if its
// folder exists on this machine, and then the working directory.

/** Where to look for modules; one place for each folder. */
export class PlaceTable {
  readonly #cwd: () => string
  readonly #places = new Map<string, ModulePlace>()

  constructor(cwd: () => string) {
    this.#cwd = cwd
  }

  /** The working directory. */
  cwd(): ModulePlace {
    return this.#in(this.#cwd())
  }

  /**
   * The place of a file, given by URL or path; undefined if it is not a file or its folder is not
   * on this machine.
   */
  at(location: string): ModulePlace | undefined {
    const path = pathOf(location)
    if (path === undefined) return undefined
    const folder = dirname(path)
    return this.#places.get(folder) ?? (isFolder(folder) ? this.#in(folder) : undefined)
  }

  /** The place of a file, then the working directory: at least one, without repetition. */
  around(location: string): readonly ModulePlace[] {
    const place = this.at(location)
    const cwd = this.cwd()
    return place === undefined || place === cwd ? [cwd] : [place, cwd]
  }

  #in(folder: string): ModulePlace {
    const known = this.#places.get(folder)
    if (known !== undefined) return known
    const place = new ModulePlace(folder)
    this.#places.set(folder, place)
    return place
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Facts about the process that a loader works for. */
interface ModuleLoaderOptions {
  /** For messages. */
  readonly workerName: () => string
  /** Where to look for modules that are not where the user's file has them. */
  readonly cwd: () => string
}

/** A loader for this process. It remembers loaded modules, but not failures. */
export function createModuleLoader(options: ModuleLoaderOptions): ModuleLoader {
  return new Loader(options)
}

type FileReference = Exclude<ModuleReference, { kind: 'builtin' }>

class Loader implements ModuleLoader {
  readonly #options: ModuleLoaderOptions
  readonly #places: PlaceTable
  readonly #search: ModuleSearch
  readonly #functions: RuntimeFunctions
  /** Namespaces and exports, by the key of the request. */
  readonly #roots = new Map<string, unknown>()
  loadedCount = 0
  /** Imports in progress. */
  readonly #pending = new Map<string, Promise<void>>()
  /** What has been loaded, with the functions that it exports. */
  readonly #references = new WeakMap<object, ExportReference>()
  /** Roots that are not among these yet. */
  readonly #unread: (Omit<ExportReference, 'path'> & { readonly root: unknown })[] = []
  /** Failed imports, until their error has been thrown once. */
  readonly #failed = new Map<string, DeserializeError>()

  constructor(options: ModuleLoaderOptions) {
    this.#options = options
    this.#places = new PlaceTable(options.cwd)
    this.#search = new ModuleSearch(this.#places, options.workerName)
    this.#functions = new RuntimeFunctions(this.#places, options.workerName)
  }

  load({ module, form, path }: ExportReference): unknown {
    if (module.kind === 'builtin') return this.#loadBuiltin(module.id, form, path)
    const key = keyOf(module, form)
    let root = this.#roots.get(key)
    if (root === undefined && !this.#roots.has(key)) root = this.#loadRoot(key, module, form)
    const hidden = hiddenPath(path)
    if (hidden === undefined) return this.#follow(root, path, form, nameOf(module))
    const exported = this.#follow(root, hidden.exported, form, nameOf(module))
    const value = hiddenValue(exported, hidden)
    if (typeof value !== 'function') throw this.#missing(nameOf(module), path)
    return value
  }

  importOf(url: string): RuntimeFunction {
    return this.#functions.importOf(url)
  }

  requireOf(url: string): RuntimeFunction {
    return this.#functions.requireOf(url)
  }

  metaOf(url: string): object {
    return this.#functions.metaOf(url)
  }

  referenceOf(object: object): ExportReference | undefined {
    for (const { root, ...from } of this.#unread.splice(0)) {
      if ((typeof root !== 'object' && typeof root !== 'function') || root === null) continue
      for (const key of Object.getOwnPropertyNames(root)) {
        const value = valueIn(root, key)
        const isNew = typeof value === 'function' && !this.#references.has(value)
        if (isNew) this.#references.set(value, { ...from, path: [key] })
      }
      this.#references.set(root, { ...from, path: [] })
    }
    return this.#references.get(object)
  }

  roleOf(fn: unknown): RuntimeRole | undefined {
    return this.#functions.roleOf(fn)
  }

  #loadBuiltin(id: string, form: ExportReference['form'], path: readonly string[]): unknown {
    const root: unknown = process.getBuiltinModule(id)
    if (root === undefined) {
      const worker = `Node ${process.version} of worker ${this.#options.workerName()}`
      throw new DeserializeError(`${worker} has no module ${id}`)
    }
    if (form === 'require') return this.#follow(root, path, form, id)
    if (path.length === 0) return this.#builtinNamespace(id, root)
    return this.#follow(root, path[0] === 'default' ? path.slice(1) : path, 'require', id)
  }

  #builtinNamespace(id: string, root: unknown): unknown {
    const key = `namespace ${id}`
    const known = this.#roots.get(key)
    if (known !== undefined) return known
    let namespace = root
    try {
      namespace = this.#places.cwd().importNow(id)
    } catch {
      // A Node without `require` for ES modules: the module itself has the same properties.
    }
    this.#roots.set(key, namespace)
    return namespace
  }

  #loadRoot(key: string, module: FileReference, form: ExportReference['form']): unknown {
    const failure = this.#failed.get(key)
    if (failure !== undefined) {
      this.#failed.delete(key)
      throw failure
    }
    const pending = this.#pending.get(key)
    if (pending !== undefined) throw new PendingImport(nameOf(module), pending)
    const own = module.kind === 'own' ? ownNamespace(module.file) : undefined
    if (own !== undefined) return own
    const found = this.#search.find(module, form)
    try {
      const loaded = this.#open(found, module.kind === 'own' ? 'import' : form)
      const root = this.#rootOf(module, loaded)
      this.#keep(root, module, form)
      return root
    } catch (error) {
      if (!needsTime(error) || form === 'require') throw this.#failure(module, error)
      throw new PendingImport(nameOf(module), this.#importLater(key, module, found))
    }
  }

  #open({ place, target }: FoundModule, form: ExportReference['form']): unknown {
    if (form === 'import') return place.importNow(target)
    return quietly(() => place.require(target) as unknown)
  }

  /** A file of this package may be in a bundle that was loaded for it. */
  #rootOf(module: FileReference, loaded: unknown): unknown {
    if (module.kind !== 'own' || ownPathOf(module.file) !== undefined) return loaded
    const own = ownNamespace(module.file)
    if (own === undefined) throw this.#search.ownMissing(module.file)
    return own
  }

  #importLater(key: string, module: FileReference, { place, target }: FoundModule): Promise<void> {
    const done = place
      .importUrl(target)
      .then((namespace) => this.#rootOf(module, namespace))
      .then(
        (root) => this.#keep(root, module, 'import'),
        (error: unknown) => void this.#failed.set(key, this.#failure(module, error)),
      )
      .finally(() => this.#pending.delete(key))
    this.#pending.set(key, done)
    return done
  }

  #keep(root: unknown, module: FileReference, form: ExportReference['form']): void {
    this.#roots.set(keyOf(module, form), root)
    if (module.kind === 'own') return
    this.#unread.push({ module, form, root })
    this.loadedCount += 1
  }

  #failure(module: FileReference, error: unknown): DeserializeError {
    const where = `worker ${this.#options.workerName()}`
    const why = textOf(error).replaceAll(/\s+/g, ' ')
    return new DeserializeError(`${nameOf(module)} failed to load on ${where}: ${why}`, {
      cause: error,
    })
  }

  /** The value at the end of the path. Throws `DeserializeError` if the path ends before. */
  #follow(
    root: unknown,
    path: readonly string[],
    form: ExportReference['form'],
    name: string,
  ): unknown {
    let value = root
    try {
      for (const [step, key] of path.entries()) {
        const owner = step === 0 && form === 'import' ? ownerOf(value, key) : value
        if (!has(owner, key)) throw this.#missing(name, path.slice(0, step + 1))
        value = (owner as Readonly<Record<string, unknown>>)[key]
      }
    } catch (error) {
      if (error instanceof DeserializeError) throw error
      // Not initialized yet, or a getter that throws.
      const where = `worker ${this.#options.workerName()}`
      const why = `${path.join('.')} of ${name} cannot be read on ${where}: ${textOf(error)}`
      throw new DeserializeError(why, { cause: error })
    }
    return value
  }

  #missing(name: string, path: readonly string[]): DeserializeError {
    const where = `worker ${this.#options.workerName()}`
    const why = `${name} has no export ${path.join('.')} on ${where}`
    return new DeserializeError(`${why}: install the client's version of it there`)
  }
}

/** Names that Node did not find in the text of a CommonJS module are in its default export. */
function ownerOf(namespace: unknown, key: string): unknown {
  if (has(namespace, key) || !has(namespace, 'default')) return namespace
  const whole: unknown = (namespace as { readonly default: unknown }).default
  return has(whole, key) ? whole : namespace
}

function has(owner: unknown, key: string): boolean {
  if (owner === undefined || owner === null) return false
  return key in (Object(owner) as object)
}

function keyOf(module: FileReference, form: ExportReference['form']): string {
  switch (module.kind) {
    case 'own':
      return `own ${module.file}`
    case 'packageFile':
      return `${form} file ${module.packageName}\0${module.file}\0${module.parent}`
    case 'specifier':
      return `${form} ${module.specifier}\0${module.parent}`
  }
}

/** For messages. */
function nameOf(module: FileReference): string {
  switch (module.kind) {
    case 'own':
      return `scaler-ts/${module.file}`
    case 'packageFile':
      return `package ${module.packageName} (${module.file})`
    case 'specifier':
      return `module ${module.specifier}`
  }
}

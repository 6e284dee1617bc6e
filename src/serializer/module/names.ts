// Finds the reference for a value, which a worker can resolve. Exports of Node, installed packages
// and this package are found by identity, so that a reference is never to the wrong value.

import { createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { types } from 'node:util'
import { Refusal } from '../refusal.js'
import type { ImportOrigin } from '../source/sites.js'
import { LoadedExports } from './exports.js'
import { type HiddenFunction, hiddenSteps, stepsIn } from './hidden.js'
import { type AnyFunction, type NativeNames, ownValue, valueIn } from './native.js'
import { fileReference, type ModuleName, OriginResolver } from './origin.js'
import {
  fileUrlOf,
  OWN_NAME,
  type OwnExport,
  ownExportTable,
  ownFileOf,
  packageFileOf,
  pathOf,
} from './package.js'
import { ModulePlace } from './place.js'
import type { ExportReference, ModuleLoader, ModulePolicy, RuntimeRole } from './policy.js'

// The refusal of a package's function that no other process could import.

/** For values of a package's own accessors, such as `error` of a zod result. */
const READ_FIRST =
  'read the property first, and pass or return its value instead of the whole object'

/** Packages whose functions record their calls. */
const MOCKS = /^(?:jest-mock|vitest|@vitest\/spy|tinyspy|sinon)$/

/**
 * Packages of helpers that compilers would otherwise write into the user's files: what these make
 * for a module, such as the getters of `export *`, is treated as if they had.
 */
const HELPERS = /^(?:tslib|vite|vite-node|@swc\/helpers)$/

function packageNameAt(fileUrl: string): string | undefined {
  const path = pathOf(fileUrl)
  return path === undefined ? undefined : packageFileOf(path)?.packageName
}

/** A function or class without a reference. `fileUrl` is where it is defined. */
export function refuseUnexported(fnName: string, fileUrl: string): Refusal {
  const packageName = packageNameAt(fileUrl)
  if (packageName !== undefined && MOCKS.test(packageName)) return refuseMock(packageName)
  const isOwn = ownFileOf(fileUrl) !== undefined
  const ownerName = isOwn ? OWN_NAME : packageName
  const owner = ownerName === undefined ? fileUrl : `package ${ownerName}`
  return new Refusal(
    `${fnName === '' ? 'a function without a name' : fnName} of ${owner}`,
    'there is no export by which another process could import it',
    wayOut(fnName, !isOwn && packageName !== undefined),
  )
}

function wayOut(fnName: string, isOfPackage: boolean): string {
  if (/^[gs]et /.test(fnName)) return READ_FIRST
  if (!isOfPackage) return 'create it inside the function or wrap it in a function of your own'
  return (
    'create it inside the function, in a constant at the top of a module, whose initializer ' +
    'uses nothing but packages and constants, or in a module that exports it, after ' +
    "registerByReference('./that-module.js')"
  )
}

function refuseMock(packageName: string): Refusal {
  return new Refusal(
    `a mock function of package ${packageName}`,
    'it records its calls in this process only',
    'pass a plain function, and check the result of the task',
  )
}

/** The exports of the ES module at a URL, by name; undefined if it is not an ES module. */
export type ExportsOf = (url: string) => ReadonlyMap<string, string> | undefined

/** The known facts about the place of a function. */
interface Surroundings extends Partial<HiddenFunction> {
  readonly isStatic?: boolean
  /** Undefined if the function is not in an ES module, or if V8 does not say. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined
}

type LoadedModules = Pick<ModuleLoader, 'roleOf' | 'referenceOf' | 'loadedCount'>

/** Answers the client's questions about modules. */
export class ModuleNames {
  readonly #policy: ModulePolicy
  readonly #origins: OriginResolver
  #known = new WeakMap<object, ExportReference>()
  readonly #natives: NativeNames
  /** The result of `goesByReference`. */
  readonly #files = new Map<string, boolean>()
  #loaded: LoadedExports
  readonly #namespaces = new Map<string, object>()
  /** The path of the main file by folder of the package; empty: it has none. */
  readonly #mains = new Map<string, string>()
  #ownExports: ReadonlyMap<unknown, OwnExport> | undefined
  readonly #loader: LoadedModules | undefined
  #version: number

  /** `loader`: that of this process. What it has loaded or made may be sent on. */
  constructor(policy: ModulePolicy, natives: NativeNames, loader?: LoadedModules) {
    this.#policy = policy
    this.#natives = natives
    this.#loader = loader
    this.#origins = new OriginResolver(policy)
    this.#loaded = this.#newIndex()
    this.#version = policy.version
  }

  /** Grows when references may be different: see `ModulePolicy`, and with each module loaded. */
  get version(): number {
    return this.#policy.version + (this.#loader?.loadedCount ?? 0)
  }

  /** Whether functions of the file at a URL or path are imported where they arrive, or refused. */
  goesByReference(location: string): boolean {
    this.#forgetIfChanged()
    const known = this.#files.get(location)
    if (known !== undefined) return known
    const goes = this.#policy.isOwnFile(location) || this.#policy.isPackageFile(location)
    this.#files.set(location, goes)
    return goes
  }

  /**
   * The refusal of such a function if `referenceOf` finds no reference; undefined if a helper of a
   * compiler made it, so that it travels by value.
   */
  refusalOf(fn: AnyFunction, location: string): Refusal | undefined {
    if (HELPERS.test(packageNameAt(location) ?? '')) return undefined
    const name = ownValue(fn, 'name')
    return refuseUnexported(typeof name === 'string' ? name : '', location)
  }

  /** The `import` or `require` that a function which came with code from elsewhere stands for. */
  roleOf(fn: AnyFunction): RuntimeRole | undefined {
    return this.#loader?.roleOf(fn)
  }

  /**
   * The reference of a module that was loaded because another process refers to it, where it may
   * have been registered, or of a function that it exports.
   */
  loadedReference(object: object): ExportReference | undefined {
    return this.#loader?.referenceOf(object)
  }

  /**
   * The reference of an export of this package, if its files are not loaded as separate modules.
   */
  ownReference(value: AnyFunction): ExportReference | undefined {
    this.#ownExports ??= ownExportTable()
    const found = this.#ownExports.get(value)
    if (found === undefined) return undefined
    return { module: { kind: 'own', file: found.file }, form: 'import', path: [found.name] }
  }

  /** See `OriginResolver`. */
  originReference(origin: ImportOrigin, parentUrl: string): ExportReference | undefined {
    return this.#origins.originReference(origin, parentUrl)
  }

  /** See `OriginResolver`. */
  isReassigned(origin: ImportOrigin, parentUrl: string): boolean {
    return this.#origins.isReassigned(origin, parentUrl)
  }

  /** See `OriginResolver`. */
  ownPath(name: ModuleName, parentUrl: string): string | undefined {
    return this.#origins.ownPath(name, parentUrl)
  }

  /** See `OriginResolver`. */
  isOfPackage(name: ModuleName, parentUrl: string): boolean {
    return this.#origins.isOfPackage(name, parentUrl)
  }

  /**
   * The reference of a function, class, module namespace or exports object; undefined if no other
   * process could import it. `fileUrl` is the URL or path of the script that defines a function.
   * `isStatic`: the function uses nothing but its module, so that each process has one instance of
   * it. `variables`: those of its module. Runs no getters and no user code. Never throws.
   */
  referenceOf(
    value: AnyFunction | object,
    fileUrl: string | undefined,
    exportsOf: ExportsOf,
    surroundings: Surroundings = {},
  ): ExportReference | undefined {
    this.#forgetIfChanged()
    const known = this.#known.get(value)
    if (known !== undefined) return known
    let found: ExportReference | undefined
    try {
      found = this.#find(value, fileUrl, exportsOf, surroundings)
    } catch {
      // A module that failed to load, or a path that does not lead to a module.
    }
    if (found !== undefined) this.#known.set(value, found)
    return found
  }

  #find(
    value: AnyFunction | object,
    fileUrl: string | undefined,
    exportsOf: ExportsOf,
    surroundings: Surroundings,
  ): ExportReference | undefined {
    if (types.isProxy(value)) return undefined
    if (types.isModuleNamespaceObject(value)) return this.#namespaceReference(value, fileUrl)
    const id = this.#natives.moduleIdOf(value)
    if (id !== undefined) return builtinReference(id, 'require')
    if (typeof value !== 'function') return this.#requireReference(value, undefined)
    const path = fileUrl === undefined ? undefined : pathOf(fileUrl)
    if (path === undefined || fileUrl === undefined) return undefined
    if (!this.goesByReference(path)) return undefined
    const url = fileUrlOf(fileUrl)
    const names = url === undefined || this.#loaded.has(path) ? undefined : exportsOf(url)
    const imported =
      url !== undefined && names !== undefined && names.size > 0
        ? this.#importReference(value as AnyFunction, url, names, surroundings)
        : undefined
    return (
      imported ??
      this.#requireReference(value, path) ??
      this.#hiddenReference(value as AnyFunction, path, surroundings)
    )
  }

  /** A function that exports of its file can see. */
  #hiddenReference(
    value: AnyFunction,
    path: string,
    { scopes = [], scriptId, variables }: Surroundings,
  ): ExportReference | undefined {
    const module = fileReference(path, this.#policy)
    if (module === undefined || scriptId === undefined) return undefined
    const required = this.#loaded.exportsOf(path)
    // Only of an ES module: another file, of a sandbox, would be loaded once more.
    const isModule = required === undefined && variables !== undefined
    const namespace = isModule ? this.#namespaceAt(fileUrlOf(path) ?? '') : undefined
    const names = namespace ? Object.getOwnPropertyNames(namespace) : []
    const parts = names.map((key) => [key, namespace && valueIn(namespace, key)] as const)
    const steps = hiddenSteps(required ?? { whole: undefined, parts }, value, { scopes, scriptId })
    return steps && { module, form: required ? 'require' : 'import', path: steps }
  }

  /**
   * Searches the exports that `require` has returned in this process. The main file of a package
   * comes before the one that defines the value: it may have to prepare that one.
   */
  #requireReference(value: object, path: string | undefined): ExportReference | undefined {
    const packageFolder = path === undefined ? undefined : packageFileOf(path)?.folder
    const isBetter = (other: string): boolean => packageFileOf(other)?.folder === packageFolder
    const main = packageFolder === undefined ? '' : this.#mainOf(packageFolder)
    const found = this.#loaded.inFile(value, main) ?? this.#loaded.find(value, path, isBetter)
    const module = found === undefined ? undefined : fileReference(found.filename, this.#policy)
    if (found === undefined || module === undefined) return undefined
    return { module, form: 'require', path: found.path }
  }

  #mainOf(packageFolder: string): string {
    let main = this.#mains.get(packageFolder)
    if (main !== undefined) return main
    try {
      main = createRequire(join(packageFolder, 'package.json')).resolve(packageFolder)
    } catch {
      // It has none, or none for `require`.
      main = ''
    }
    this.#mains.set(packageFolder, main)
    return main
  }

  /** Searches the exports of the ES module that defines the value. */
  #importReference(
    value: AnyFunction,
    url: string,
    names: ReadonlyMap<string, string>,
    { isStatic = false, variables }: Surroundings,
  ): ExportReference | undefined {
    const path = pathOf(url)
    const module = path === undefined ? undefined : fileReference(path, this.#policy)
    if (module === undefined) return undefined
    // Asked first: a sandbox has an instance of its own, which Node does not know.
    const name = variables && !isVariant(url) ? keyOf(variables, names, value) : undefined
    if (name !== undefined) return { module, form: 'import', path: [name] }
    const namespace = this.#namespaceAt(url)
    if (namespace === undefined) return undefined
    const key = keyIn(namespace, value)
    const inside = key === undefined && isStatic ? stepsIn(namespace, value) : undefined
    const steps = key === undefined ? inside : [key]
    return steps === undefined ? undefined : { module, form: 'import', path: steps }
  }

  /**
   * A namespace does not say which module it belongs to, but its functions, or the result of
   * `require`, may.
   */
  #namespaceReference(value: object, fileUrl = ''): ExportReference | undefined {
    const url = fileUrlOf(fileUrl)
    const own = url && this.goesByReference(url) ? this.#wholeReference(value, url) : undefined
    const known = own ?? this.loadedReference(value)
    if (known !== undefined) return known
    const whole = valueIn(value, 'default')
    if ((typeof whole !== 'object' || whole === null) && typeof whole !== 'function') {
      return undefined
    }
    const id = this.#natives.moduleIdOf(whole)
    if (id !== undefined && this.#namespaceAt(id) === value) return builtinReference(id, 'import')
    const found = this.#loaded.find(whole, undefined, () => false)
    const other = found?.path.length === 0 ? fileUrlOf(found.filename) : undefined
    return other === undefined ? undefined : this.#wholeReference(value, other)
  }

  /** The reference to the namespace of the module at the URL, if that is the value. */
  #wholeReference(value: object, url: string): ExportReference | undefined {
    const path = pathOf(url)
    const module = path === undefined ? undefined : fileReference(path, this.#policy)
    if (module === undefined || this.#namespaceAt(url) !== value) return undefined
    return { module, form: 'import', path: [] }
  }

  /**
   * The namespace of a loaded module. Two URLs of one file are two modules: loading it by a URL
   * other than its own would run it again.
   */
  #namespaceAt(url: string): object | undefined {
    const known = this.#namespaces.get(url)
    if (known !== undefined || isVariant(url)) return known
    try {
      const folder = isBuiltin(url) ? process.cwd() : dirname(pathOf(url) ?? '')
      const namespace = new ModulePlace(folder).importNow(url)
      this.#namespaces.set(url, namespace)
      return namespace
    } catch {
      return undefined
    }
  }

  #forgetIfChanged(): void {
    if (this.#version === this.#policy.version) return
    this.#version = this.#policy.version
    this.#known = new WeakMap()
    this.#files.clear()
    this.#loaded = this.#newIndex()
  }

  #newIndex(): LoadedExports {
    return new LoadedExports((filename) => this.#policy.isPackageFile(filename))
  }
}

function builtinReference(id: string, form: ExportReference['form']): ExportReference {
  return { module: { kind: 'builtin', id }, form, path: [] }
}

/** A file can be loaded several times, under several URLs. */
function isVariant(url: string): boolean {
  return /[?#]/.test(url)
}

/** The exported name of the variable that has the value. */
function keyOf(
  variables: Readonly<Record<string, unknown>>,
  names: ReadonlyMap<string, string>,
  value: AnyFunction,
): string | undefined {
  for (const [name, local] of names) {
    if (Object.hasOwn(variables, local) && valueIn(variables, local) === value) return name
  }
  return undefined
}

/** The exported name that has the value; preferably the one equal to the function's name. */
function keyIn(namespace: object, value: AnyFunction): string | undefined {
  const name: unknown = Object.getOwnPropertyDescriptor(value, 'name')?.value
  if (typeof name === 'string' && valueIn(namespace, name) === value) return name
  return Object.getOwnPropertyNames(namespace).find((key) => valueIn(namespace, key) === value)
}

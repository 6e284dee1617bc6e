// Finds the file that a reference names on this machine. A missing file is an error for the user,
// who can install it: the error names the package, the worker, and all places that were tried.

import { existsSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { DeserializeError } from '../../base/errors.js'
import { textOf } from '../refusal.js'
import {
  findPackageFolder,
  isLocal,
  nearestPackage,
  OWN_NAME,
  ownBundlePath,
  ownEntryOf,
  ownPathOf,
  packageNameOf,
  pathFrom,
  pathOf,
} from './package.js'
import type { ModulePlace } from './place.js'
import type { PlaceTable } from './loader.js'
import type { ExportReference, ModuleReference } from './policy.js'

/** The result of a search: a URL for `import`, an argument of `require` for `require`. */
export interface FoundModule {
  readonly place: ModulePlace
  readonly target: string
}

type Form = ExportReference['form']

/** Looks for modules from the places of this process. */
export class ModuleSearch {
  readonly #places: PlaceTable
  readonly #workerName: () => string

  constructor(places: PlaceTable, workerName: () => string) {
    this.#places = places
    this.#workerName = workerName
  }

  /** Throws `DeserializeError` if it does not exist. */
  find(module: Exclude<ModuleReference, { kind: 'builtin' }>, form: Form): FoundModule {
    switch (module.kind) {
      case 'own':
        return this.#findOwn(module.file)
      case 'packageFile':
        return this.#findInPackage(module, form)
      case 'specifier':
        return this.#findSpecifier(module.specifier, module.parent, form)
    }
  }

  /** The target of the specifier in the file at `parent`, or else in the working directory. */
  #findSpecifier(specifier: string, parent: string, form: Form): FoundModule {
    const entry = ownEntryOf(specifier)
    if (entry !== undefined) return this.#findOwn(entry)
    const reasons: unknown[] = []
    for (const place of this.#places.around(parent)) {
      try {
        return { place, target: targetIn(place, specifier, form) }
      } catch (error) {
        reasons.push(error)
      }
    }
    throw this.#notFound(specifier, parent, reasons)
  }

  #findOwn(file: string): FoundModule {
    const path = ownPathOf(file) ?? ownBundlePath()
    if (path !== undefined) return { place: this.#places.cwd(), target: pathToFileURL(path).href }
    throw this.ownMissing(file)
  }

  /** The error if this package has no such file. */
  ownMissing(file: string): DeserializeError {
    const where = `${OWN_NAME} of ${this.#worker()}`
    return new DeserializeError(`${where} has no file ${file}: is it the client's version?`)
  }

  #findInPackage(
    { packageName, file, parent }: Extract<ModuleReference, { kind: 'packageFile' }>,
    form: Form,
  ): FoundModule {
    const place = this.#places.cwd()
    const parentPath = pathOf(parent)
    // The parent may be in a folder of the package that only the client's version has.
    const starts = parentPath === undefined ? [] : [[packageName, dirname(parentPath)] as const]
    // A package may have a version of its own of another one.
    const nested = parentPath === undefined ? undefined : nestedName(parentPath, packageName)
    if (nested !== undefined) starts.push([nested, place.folder])
    let without: string | undefined
    for (const [name, start] of [...starts, [packageName, place.folder] as const]) {
      const folder = findPackageFolder(name, start)
      if (folder === undefined) continue
      const path = join(folder, file)
      if (pathFrom(folder, path) !== undefined && existsSync(path)) {
        return { place, target: form === 'import' ? pathToFileURL(path).href : path }
      }
      without ??= folder
    }
    if (without === undefined) throw this.#notFound(packageName, parent, [])
    const where = `package ${packageName} of ${this.#worker()} (${without})`
    throw new DeserializeError(`${where} has no file ${file}: install the client's version of it`)
  }

  #notFound(specifier: string, parent: string, reasons: readonly unknown[]): DeserializeError {
    const name = isLocal(specifier) ? undefined : packageNameOf(specifier)
    const what = name === undefined ? `module ${specifier}` : `package ${name}`
    const wayOut = name === undefined ? 'copy it there' : 'install it there'
    const inside = name === undefined || name === specifier ? '' : ` (for ${specifier})`
    return new DeserializeError(
      `${what}${inside} was not found by ${this.#worker()}, ${this.#tried(parent)}: ${wayOut}` +
        detailOf(reasons),
      { cause: reasons.at(0) },
    )
  }

  /** Where it was looked for, in words. */
  #tried(parent: string): string {
    const cwd = this.#places.cwd().folder
    const place = this.#places.at(parent)
    if (place?.folder === cwd) return `looking from ${cwd}`
    if (place !== undefined) return `looking from ${place.folder} and its directory ${cwd}`
    const missing = pathOf(parent)
    const why = missing === undefined ? '' : ` (${missing} is not on that machine)`
    return `looking from its directory ${cwd}${why}`
  }

  #worker(): string {
    return `worker ${this.#workerName()}`
  }
}

/** `nest/node_modules/lib`, for a file of a package that is inside of another one. */
function nestedName(path: string, packageName: string): string | undefined {
  const word = `${sep}node_modules${sep}`
  const first = path.indexOf(word)
  const last = path.lastIndexOf(word)
  if (first === last) return undefined
  return join(path.slice(first + word.length, last), 'node_modules', packageName)
}

/** Throws Node's own error if it does not exist. */
export function targetIn(place: ModulePlace, specifier: string, form: Form): string {
  if (isBuiltin(specifier)) return specifier
  if (form === 'require') {
    if (isSurelyMissing(specifier, place.folder)) throw missing(specifier, 'MODULE_NOT_FOUND')
    return place.require.resolve(requirable(specifier))
  }
  const url = place.locate(specifier)
  // Only the steps before the last were resolved: the last one may not exist.
  const path = pathOf(url)
  if (path === undefined || existsSync(path)) return url
  throw missing(path, 'ERR_MODULE_NOT_FOUND')
}

/**
 * `require` is not called for missing files: Node 20 would remember that they are missing after
 * they are installed.
 */
function isSurelyMissing(specifier: string, folder: string): boolean {
  const name = isLocal(specifier) ? undefined : packageNameOf(specifier)
  if (name === undefined || findPackageFolder(name, folder) !== undefined) return false
  if (process.env['NODE_PATH'] !== undefined || 'pnp' in process.versions) return false
  // A package may require itself by its name.
  return nearestPackage(folder)?.name !== name
}

function missing(what: string, code: string): Error {
  return Object.assign(new Error(`Cannot find module '${what}'`), { code })
}

/** `require` does not accept URLs. */
function requirable(specifier: string): string {
  return specifier.startsWith('file:') ? (pathOf(specifier) ?? specifier) : specifier
}

/** Node's message, if it says more than that the module is missing. */
function detailOf(reasons: readonly unknown[]): string {
  const said = reasons.find((reason) => {
    const code = (reason as { readonly code?: unknown } | undefined)?.code
    return code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND'
  })
  return said === undefined ? '' : ` (${textOf(said).replaceAll(/\s+/g, ' ')})`
}

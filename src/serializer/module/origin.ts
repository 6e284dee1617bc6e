// From an import in the user's text to a reference that a worker can resolve: to a part of Node, of
// this package, of an installed package, or to a file of the user's own. Loads nothing to find out.

import { createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ImportOrigin } from '../source/sites.js'
import {
  fileUrlOf,
  findPackageFolder,
  isLocal,
  ownEntryOf,
  ownFileOf,
  packageFileOf,
  packageNameOf,
  pathFrom,
  pathOf,
} from './package.js'
import type { ExportReference, ModulePolicy, ModuleReference } from './policy.js'
import { ModulePlace } from './place.js'

type Form = ImportOrigin['form']

/** Finds references for import bindings. */
export class OriginResolver {
  readonly #policy: ModulePolicy
  /** By form, specifier and parent. */
  readonly #known = new Map<string, ModuleReference | undefined>()
  #version = 0

  constructor(policy: ModulePolicy) {
    this.#policy = policy
  }

  /**
   * The reference for an import of the file at `parentUrl` (a URL or path; anything else stands for
   * the working directory); undefined if it travels by value. Never throws.
   */
  originReference(origin: ImportOrigin, parentUrl: string): ExportReference | undefined {
    const { specifier, form, path } = origin
    if (this.#version !== this.#policy.version) {
      this.#version = this.#policy.version
      this.#known.clear()
    }
    const key = `${form} ${specifier}\0${parentUrl}`
    let module = this.#known.get(key)
    if (module === undefined && !this.#known.has(key)) {
      module = this.#resolve(specifier, form, parentUrl)
      this.#known.set(key, module)
    }
    return module === undefined ? undefined : { module, form, path }
  }

  #resolve(specifier: string, form: Form, parentUrl: string): ModuleReference | undefined {
    if (isBuiltin(specifier)) return builtinReference(specifier)
    const ownEntry = ownEntryOf(specifier)
    if (ownEntry !== undefined) return { kind: 'own', file: ownEntry }
    const parent = pathOf(parentUrl) ?? join(process.cwd(), '[unknown]')
    try {
      if (isLocal(specifier)) return this.#fileReference(localPath(specifier, form, parent))
      return this.#bareReference(specifier, form, parent)
    } catch {
      return undefined
    }
  }

  /** A package, or a name that only the user's own tools or `package.json` can resolve. */
  #bareReference(specifier: string, form: Form, parent: string): ModuleReference | undefined {
    const mode = this.#policy.modeOfSpecifier(specifier)
    if (mode === 'value') return undefined
    const name = packageNameOf(specifier)
    const asNamed: ModuleReference = {
      kind: 'specifier',
      specifier,
      parent: fileUrlOf(parent) ?? '',
    }
    if (mode === 'reference') return asNamed
    if (name !== undefined && findPackageFolder(name, dirname(parent)) !== undefined) {
      return asNamed
    }
    const found = specifier.startsWith('#')
      ? resolveAlias(specifier, form, parent)
      : this.#resolveElsewhere(specifier, parent)
    if (found === undefined) return undefined
    if (found === '') return asNamed
    if (isBuiltin(found)) return builtinReference(found)
    const isInstalled = packageFileOf(found) !== undefined
    return name !== undefined && isInstalled ? asNamed : this.#fileReference(found)
  }

  /**
   * The path of a package that is not in a folder `node_modules` above; empty if the package exists
   * but the requested part was not found; undefined if Node cannot find it. Then it is an alias
   * that a bundler or `tsconfig.json` resolves, or the package of the parent itself.
   */
  #resolveElsewhere(specifier: string, parent: string): string | undefined {
    try {
      return createRequire(parent).resolve(specifier)
    } catch (error) {
      const { code } = error as { readonly code?: unknown }
      if (code !== 'ERR_PACKAGE_PATH_NOT_EXPORTED') return undefined
      const own = this.#policy.workspaceFileOf(parent)
      return own?.packageName === packageNameOf(specifier) ? undefined : ''
    }
  }

  #fileReference(path: string): ModuleReference | undefined {
    return fileReference(path, this.#policy)
  }
}

/**
 * The reference to a file that exists where it arrives: of this package, of another one, or of the
 * user's own if registered by reference; undefined if the file travels by value.
 */
export function fileReference(path: string, policy: ModulePolicy): ModuleReference | undefined {
  const own = ownFileOf(path)
  if (own !== undefined) return { kind: 'own', file: own }
  if (policy.modeOfPath(path) !== 'reference') return undefined
  const parent = fileUrlOf(path)
  if (parent === undefined) return undefined
  const inPackage = packageFileOf(path)
  if (inPackage !== undefined) {
    const { packageName, file } = inPackage
    return { kind: 'packageFile', packageName, file, parent }
  }
  const workspace = policy.workspaceFileOf(path)
  if (workspace !== undefined && findPackageFolder(workspace.packageName, dirname(path))) {
    return { kind: 'packageFile', ...workspace, parent }
  }
  // A worker looks for a file of the user's own in its working directory as well.
  const way = pathFrom(process.cwd(), path)
  if (way === undefined) return { kind: 'specifier', specifier: parent, parent }
  const cwd = fileUrlOf(join(process.cwd(), '[cwd]')) ?? ''
  return { kind: 'specifier', specifier: `./${way}`, parent: cwd }
}

function builtinReference(specifier: string): ModuleReference {
  return { kind: 'builtin', id: specifier.startsWith('node:') ? specifier : `node:${specifier}` }
}

function localPath(specifier: string, form: Form, parent: string): string {
  if (form === 'require') return createRequire(parent).resolve(specifier)
  return fileURLToPath(new URL(specifier, fileUrlOf(parent)))
}

/** The target of `#name` in `imports` of the nearest `package.json`: a path or part of Node. */
function resolveAlias(specifier: string, form: Form, parent: string): string | undefined {
  if (form === 'require') return createRequire(parent).resolve(specifier)
  const url = new ModulePlace(dirname(parent)).resolve(specifier)
  return url.startsWith('node:') ? url : pathOf(url)
}

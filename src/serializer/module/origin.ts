// From an import in the user's text to a reference that a worker can resolve: to a part of Node, of
// this package, of an installed package, or to a file of the user's own. Loads nothing to find out.

import { createRequire, isBuiltin } from 'node:module'
import { dirname, join, sep } from 'node:path'
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
import {
  type ExportReference,
  type ModulePolicy,
  type ModuleReference,
  realPath,
} from './policy.js'
import { ModulePlace } from './place.js'
import { ReassignedExports } from './reassigned.js'

/** A module as a file names it. */
export type ModuleName = Pick<ImportOrigin, 'specifier' | 'form'>

type Form = ModuleName['form']

/** Where an import leads. */
interface Target {
  /** Undefined if it travels by value. */
  readonly reference: ModuleReference | undefined
  /** Its file, if it travels by value and Node finds it. */
  readonly path: string | undefined
  /** By the name of an export; see `isReassigned`. */
  readonly reassigned: Map<string, boolean>
}

/** Finds references for import bindings. */
export class OriginResolver {
  readonly #policy: ModulePolicy
  /** By form, specifier and parent. */
  readonly #known = new Map<string, Target>()
  readonly #places = new Map<string, ModulePlace>()
  readonly #reassigned = new ReassignedExports((specifier, path) => {
    return this.#pathOf(specifier, 'import', path)
  })
  #version = 0

  constructor(policy: ModulePolicy) {
    this.#policy = policy
  }

  /**
   * The reference for an import of the file at `parentUrl` (a URL or path; anything else stands for
   * the working directory); undefined if it travels by value. Never throws.
   */
  originReference(origin: ImportOrigin, parentUrl: string): ExportReference | undefined {
    const { form, path } = origin
    const module = this.#target(origin, parentUrl).reference
    return module === undefined ? undefined : { module, form, path }
  }

  /** The path of the module, if it travels by value and Node finds it. Never throws. */
  ownPath(name: ModuleName, parentUrl: string): string | undefined {
    return this.#target(name, parentUrl).path
  }

  /**
   * Whether the module belongs to a package rather than to the user, although the package may have
   * been registered by value. Never throws.
   */
  isOfPackage(name: ModuleName, parentUrl: string): boolean {
    const { reference, path } = this.#target(name, parentUrl)
    return reference !== undefined || (path !== undefined && isInstalled(path))
  }

  /** Whether a module that travels by reference assigns the export again. Never throws. */
  isReassigned({ form, path, ...name }: ImportOrigin, parentUrl: string): boolean {
    const [exported] = path
    if (form !== 'import' || exported === undefined || path.length > 1) return false
    const { reference, reassigned } = this.#target({ form, ...name }, parentUrl)
    if (reference === undefined || reference.kind === 'builtin' || reference.kind === 'own')
      return false
    let isReassigned = reassigned.get(exported)
    if (isReassigned === undefined) {
      const file = this.#pathOf(name.specifier, form, parentPath(parentUrl))
      isReassigned = file !== undefined && this.#reassigned.has(file, exported)
      reassigned.set(exported, isReassigned)
    }
    return isReassigned
  }

  #target({ specifier, form }: ModuleName, parentUrl: string): Target {
    if (this.#version !== this.#policy.version) {
      this.#version = this.#policy.version
      this.#known.clear()
    }
    const key = `${form} ${specifier}\0${parentUrl}`
    let target = this.#known.get(key)
    if (target === undefined) {
      target = this.#resolve(specifier, form, parentUrl)
      this.#known.set(key, target)
    }
    return target
  }

  #resolve(specifier: string, form: Form, parentUrl: string): Target {
    if (isBuiltin(specifier)) return byReference(builtinReference(specifier))
    const ownEntry = ownEntryOf(specifier)
    if (ownEntry !== undefined) return byReference({ kind: 'own', file: ownEntry })
    const parent = parentPath(parentUrl)
    try {
      if (isLocal(specifier)) return this.#fileTarget(this.#localPath(specifier, form, parent))
      return this.#bareTarget(specifier, form, parent)
    } catch {
      return byValue(undefined)
    }
  }

  /** A package, or a name that only the user's own tools or `package.json` can resolve. */
  #bareTarget(specifier: string, form: Form, parent: string): Target {
    const mode = this.#policy.modeOfSpecifier(specifier)
    if (mode === 'value') return byValue(this.#pathOf(specifier, form, parent))
    const name = packageNameOf(specifier)
    const asNamed = byReference({ kind: 'specifier', specifier, parent: fileUrlOf(parent) ?? '' })
    if (mode === 'reference') return asNamed
    const folder = name === undefined ? undefined : findPackageFolder(name, dirname(parent))
    if (folder !== undefined) {
      const real = realPath(folder)
      if (isInstalled(real)) return asNamed
      // A link to a package of the user's own. With `--preserve-symlinks` Node does not follow it.
      const path = this.#pathOf(specifier, form, parent)
      const isNamed = this.#policy.modeOfPath(path ?? join(real, 'package.json')) === 'reference'
      return isNamed ? asNamed : byValue(path)
    }
    const found = specifier.startsWith('#')
      ? this.#resolved(specifier, form, parent)
      : this.#resolveElsewhere(specifier, parent)
    if (found === undefined) return byValue(this.#pathOf(specifier, form, parent))
    if (found === '') return asNamed
    if (isBuiltin(found)) return byReference(builtinReference(found))
    if (name !== undefined && packageFileOf(found) !== undefined) return asNamed
    const target = this.#fileTarget(found)
    if (target.reference !== undefined || specifier.startsWith('#')) return target
    // `import` may find another file than `require`.
    return byValue(this.#pathOf(specifier, form, parent) ?? found)
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

  #fileTarget(path: string): Target {
    const reference = fileReference(path, this.#policy)
    return reference === undefined ? byValue(path) : byReference(reference)
  }

  #localPath(specifier: string, form: Form, parent: string): string {
    if (form === 'require') return createRequire(parent).resolve(specifier)
    const path = fileURLToPath(new URL(specifier, fileUrlOf(parent)))
    // The path may lead through a link to a package of the user's own.
    const isLink = packageFileOf(path) !== undefined && realPath(path) !== path
    return isLink ? (this.#pathOf(specifier, form, parent) ?? path) : path
  }

  /** The path that Node finds, following links as it does; undefined if there is none. */
  #pathOf(specifier: string, form: Form, parent: string): string | undefined {
    try {
      const found = this.#resolved(specifier, form, parent)
      return found === undefined || isBuiltin(found) ? undefined : found
    } catch {
      return undefined
    }
  }

  /** A path or part of Node. Throws Node's own error. */
  #resolved(specifier: string, form: Form, parent: string): string | undefined {
    if (form === 'require') return createRequire(parent).resolve(specifier)
    const folder = dirname(parent)
    const place = this.#places.get(folder) ?? new ModulePlace(folder)
    this.#places.set(folder, place)
    const url = place.resolve(specifier)
    return url.startsWith('node:') ? url : pathOf(url)
  }
}

/** The path of a file that imports; a name in the working directory if it has none. */
function parentPath(url: string): string {
  return pathOf(url) ?? join(process.cwd(), '[unknown]')
}

function isInstalled(path: string): boolean {
  return path.includes(`${sep}node_modules${sep}`)
}

function byReference(reference: ModuleReference): Target {
  return { reference, path: undefined, reassigned: new Map() }
}

function byValue(path: string | undefined): Target {
  return { reference: undefined, path, reassigned: new Map() }
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

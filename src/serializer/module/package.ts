// This package as a module: every worker has it, at any location and in any version of Node, so
// that its parts are named by their place in its compiled files.

import { existsSync, readFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

// Paths of files and packages: V8 names ES modules by URL and CommonJS files by path; packages are
// recognised by the folder `node_modules` in the path. Only `findPackageFolder` and `findPackage`
// read the disk.

/** A file inside a package that is installed in a folder `node_modules`. */
interface PackageFile {
  /** The name of the folder: `lodash`, `@scope/lib`. */
  readonly packageName: string
  /** The path of the package's folder. */
  readonly folder: string
  /** The path from there, with `/`. */
  readonly file: string
}

/** The path of a file, given as a path or as a `file:` URL; undefined for anything else. */
export function pathOf(location: string): string | undefined {
  if (isAbsolute(location)) return location
  if (!location.startsWith('file:')) return undefined
  try {
    return fileURLToPath(location)
  } catch {
    return undefined
  }
}

/** The `file:` URL of a file, given as a URL or as a path; undefined for anything else. */
export function fileUrlOf(location: string): string | undefined {
  if (isAbsolute(location)) return pathToFileURL(location).href
  return location.startsWith('file:') && URL.canParse(location) ? location : undefined
}

/** Whether a specifier names a file by its location, not a package. */
export function isLocal(specifier: string): boolean {
  return /^(\.\.?(\/|$)|\/|file:)/.test(specifier) || isAbsolute(specifier)
}

/** `@scope/lib` of `@scope/lib/part`; undefined if it is not a valid package name. */
export function packageNameOf(specifier: string): string | undefined {
  return /^(?:@[^/\\@:%]+\/)?[^/\\@:%#.][^/\\:%]*(?=\/|$)/.exec(specifier)?.[0]
}

/** The path from the folder to the path, with `/`; undefined unless it is inside. */
export function pathFrom(folder: string, path: string): string | undefined {
  const way = relative(folder, path)
  if (way === '' || way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way)) return undefined
  return way.replaceAll(sep, '/')
}

/**
 * The package that a file belongs to, if it is in a folder `node_modules`. Folders whose names
 * begin with a dot are not packages: tools put files there that they built from the user's own.
 */
export function packageFileOf(path: string): PackageFile | undefined {
  const marker = `${sep}node_modules${sep}`
  const start = path.lastIndexOf(marker)
  if (start < 0) return undefined
  const inside = path.slice(start + marker.length).replaceAll(sep, '/')
  const packageName = packageNameOf(inside)
  if (packageName === undefined || packageName.length === inside.length) return undefined
  const folder = join(path.slice(0, start + marker.length), packageName)
  return { packageName, folder, file: inside.slice(packageName.length + 1) }
}

/** The folder of a package as seen from a folder: the nearest `node_modules` that has it. */
export function findPackageFolder(packageName: string, folder: string): string | undefined {
  for (let place = folder; ; place = dirname(place)) {
    const candidate = join(place, 'node_modules', packageName)
    if (!place.endsWith(`${sep}node_modules`) && existsSync(candidate)) return candidate
    if (dirname(place) === place) return undefined
  }
}

// The package that a file belongs to according to the `package.json` above it: for the user's own
// files, and for packages of a workspace, which are not in a folder `node_modules`.

/** A package by its name and place. */
export interface NearestPackage {
  readonly name: string
  readonly folder: string
}

/** The package that the folder is in. Reads the disk each time. */
export function nearestPackage(folder: string): NearestPackage | undefined {
  for (let place = folder; ; place = dirname(place)) {
    const name = nameIn(place)
    if (name !== undefined) return { name, folder: place }
    if (dirname(place) === place) return undefined
  }
}

/**
 * The name in the folder's `package.json`. Some have none: they only declare the module type of
 * `.js` files.
 */
function nameIn(folder: string): string | undefined {
  try {
    const text = readFileSync(join(folder, 'package.json'), 'utf8')
    const { name } = JSON.parse(text) as { readonly name?: unknown }
    return typeof name === 'string' && name !== '' ? name : undefined
  } catch {
    return undefined
  }
}

/** The name by which users import this package. */
export const OWN_NAME = 'scaler-ts'

/** The location of this file in the folder of the compiled files; different in a bundle. */
const PLACE = /[\\/]serializer[\\/]module[\\/]package\.[cm]?[jt]s$/

/** An entry point of an installed package: tools derive such paths from its name. */
const ENTRY_PATH = /[\\/]node_modules[\\/]scaler-ts[\\/]dist[\\/](index|protocol)\.c?js$/

/** Tests beside the source use this package like any other code. */
const TEST = /\.(test|kit)\.[cm]?[jt]s$/

/** The folder of the compiled files; undefined if they were bundled into another program. */
function ownFolder(): string | undefined {
  const path = pathOf(import.meta.url)
  if (path === undefined || !PLACE.test(path)) return undefined
  return dirname(dirname(dirname(path)))
}

/** The path from the folder of the compiled files; undefined for other files. */
export function ownFileOf(location: string): string | undefined {
  const folder = ownFolder()
  const path = pathOf(location)
  if (folder === undefined || path === undefined || TEST.test(path)) return undefined
  return pathFrom(folder, path)
}

/**
 * The file of `scaler-ts`, of a subpath of it, or of a path into its installation: entry points are
 * at the top of the folder.
 */
export function ownEntryOf(specifier: string): string | undefined {
  if (specifier === OWN_NAME) return 'index.js'
  const installed = ENTRY_PATH.exec(specifier)?.[1]
  if (installed !== undefined) return `${installed}.js`
  if (!specifier.startsWith(`${OWN_NAME}/`)) return undefined
  const file = `${specifier.slice(OWN_NAME.length + 1)}.js`
  return /^[\w-]+\.js$/.test(file) && ownPathOf(file) !== undefined ? file : undefined
}

/** The path of a file of this package that exists here. */
export function ownPathOf(file: string): string | undefined {
  const folder = ownFolder()
  if (folder === undefined) return undefined
  const path = join(folder, file)
  return pathFrom(folder, path) !== undefined && existsSync(path) ? path : undefined
}

/** The path to load so that `ownNamespace` can find a file that does not exist here. */
export function ownBundlePath(): string | undefined {
  return ownPathOf('serializer/module/package.js') === undefined ? ownPathOf('index.js') : undefined
}

/** Functions that return the namespaces of bundled files; empty if the files are not bundled. */
let bundled: Readonly<Record<string, () => object>> = {}

/** Called once by the bundle to declare its modules by file: scripts/bundle.mjs. */
export function setBundled(namespaces: typeof bundled): void {
  bundled = namespaces
}

/** The exports of a file of this package that is in the bundle. */
export function ownNamespace(file: string): object | undefined {
  return bundled[file]?.()
}

/** A value of this package by the file that exports it. */
export interface OwnExport {
  readonly file: string
  readonly name: string
}

/** All exports of these files, by identity. Not before all of them have been evaluated. */
export function ownExportTable(): ReadonlyMap<unknown, OwnExport> {
  const found = new Map<unknown, OwnExport>()
  for (const [file, namespace] of Object.entries(bundled)) {
    for (const [name, value] of Object.entries(namespace())) found.set(value, { file, name })
  }
  return found
}

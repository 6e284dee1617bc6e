// Where files are, in words: V8 names ES modules by URL and CommonJS files by path; packages are
// recognised by the folder `node_modules` in the path. Nothing here but `findPackageFolder` looks
// at the disk.

import { existsSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** A file inside a package that is installed in a folder `node_modules`. */
export interface PackageFile {
  /** As the folder is called: `lodash`, `@scope/lib`. */
  readonly packageName: string
  /** The path of the package's folder. */
  readonly folder: string
  /** From there, with `/`. */
  readonly file: string
}

/** The path of a file, given as such or as a `file:` URL; undefined for anything else. */
export function pathOf(location: string): string | undefined {
  if (isAbsolute(location)) return location
  if (!location.startsWith('file:')) return undefined
  try {
    return fileURLToPath(location)
  } catch {
    return undefined
  }
}

/** The `file:` URL of a file, given as such or as a path; undefined for anything else. */
export function fileUrlOf(location: string): string | undefined {
  if (isAbsolute(location)) return pathToFileURL(location).href
  return location.startsWith('file:') && URL.canParse(location) ? location : undefined
}

/** Whether a specifier names a file by its place and not a package. */
export function isLocal(specifier: string): boolean {
  return /^(\.\.?(\/|$)|\/|file:)/.test(specifier) || isAbsolute(specifier)
}

/** `@scope/lib` of `@scope/lib/part`; undefined where no package can be called so. */
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
 * begin with a dot are no packages: tools keep there what they made of the user's own files.
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

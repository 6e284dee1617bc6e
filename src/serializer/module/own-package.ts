// This package among the others: every worker has it, wherever it is installed there and in
// whatever version of Node, so that its parts are named by their place in its compiled files.

import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathFrom, pathOf } from './file-location.js'

/** The name by which users import this package. */
export const OWN_NAME = 'scaler-ts'

/** Where this file is in the folder of the compiled files; elsewhere once it was bundled. */
const PLACE = /[\\/]serializer[\\/]module[\\/]own-package\.[cm]?[jt]s$/

/** An entry point of an installed package: tools make such paths of its name. */
const ENTRY_PATH = /[\\/]node_modules[\\/]scaler-ts[\\/]dist[\\/](index|protocol)\.c?js$/

/** Tests beside the source use this package like anybody else. */
const TEST = /\.(test|kit)\.[cm]?[jt]s$/

/** The folder of the compiled files; undefined where they were bundled into another program. */
export function ownFolder(): string | undefined {
  const path = pathOf(import.meta.url)
  if (path === undefined || !PLACE.test(path)) return undefined
  return dirname(dirname(dirname(path)))
}

/** The path from the folder of the compiled files; undefined for files of anybody else. */
export function ownFileOf(location: string): string | undefined {
  const folder = ownFolder()
  const path = pathOf(location)
  if (folder === undefined || path === undefined || TEST.test(path)) return undefined
  return pathFrom(folder, path)
}

/**
 * The file behind `scaler-ts`, a subpath of it, or the path of an installation of it: entry points
 * are at the top of the folder.
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

/** The path of what has to be loaded for `ownNamespace` to know a file that does not exist here. */
export function ownBundlePath(): string | undefined {
  return ownPathOf('serializer/module/own-package.js') === undefined
    ? ownPathOf('index.js')
    : undefined
}

/** What makes the namespaces of files that are no files any more; empty where files are files. */
let bundled: Readonly<Record<string, () => object>> = {}

/** The bundle says once what is in it, by the places of the files: scripts/bundle.mjs. */
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

/** All that those export, by identity. Not before all of it is evaluated. */
export function ownExportTable(): ReadonlyMap<unknown, OwnExport> {
  const found = new Map<unknown, OwnExport>()
  for (const [file, namespace] of Object.entries(bundled)) {
    for (const [name, value] of Object.entries(namespace())) found.set(value, { file, name })
  }
  return found
}

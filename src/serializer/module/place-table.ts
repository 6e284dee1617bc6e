// The places of this process from which modules are looked for: that of the user's file, if its
// folder exists on this machine, and then the working directory.

import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { pathOf } from './file-location.js'
import { ModulePlace } from './module-place.js'

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

  /** That of a file, by URL or path; undefined if it names no file or its folder is not here. */
  at(location: string): ModulePlace | undefined {
    const path = pathOf(location)
    if (path === undefined) return undefined
    const folder = dirname(path)
    return this.#places.get(folder) ?? (isFolder(folder) ? this.#in(folder) : undefined)
  }

  /** That of a file and then the working directory: without repetition, at least one. */
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

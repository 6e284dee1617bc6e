// The package that a file belongs to by the `package.json` above it: that of the user's own files,
// and of packages of a workspace, which are in no folder `node_modules`.

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

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

/** The name in the folder's `package.json`. Some have none: they only say what `.js` means. */
function nameIn(folder: string): string | undefined {
  try {
    const text = readFileSync(join(folder, 'package.json'), 'utf8')
    const { name } = JSON.parse(text) as { readonly name?: unknown }
    return typeof name === 'string' && name !== '' ? name : undefined
  } catch {
    return undefined
  }
}

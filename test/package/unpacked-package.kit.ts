// The package as it is published, unpacked, without its dependencies.

import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './command.js'
import { pack } from './local-registry.kit.js'

/** Packs this package, and unpacks it into a new folder. Returns the tarball, which is beside it. */
export async function unpackInto(folder: string): Promise<string> {
  const parent = dirname(folder)
  await mkdir(folder, { recursive: true })
  const [packed] = await pack([ROOT], '--pack-destination', parent)
  const tarball = join(parent, packed?.filename ?? '')
  await promisify(execFile)('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'])
  return tarball
}

// The certificates of test/certificate.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TlsOptions } from '#src/transport/tls/options.js'

const FOLDER = fileURLToPath(new URL('../../../test/certificate/', import.meta.url))

/** The path of a PEM file. */
export function pemFile(name: string): string {
  return join(FOLDER, `${name}.pem`)
}

/** The certificate of this name, with what signs those of peers. */
export function certificate(
  name: string,
  ca = 'ca',
): TlsOptions & Record<'ca' | 'cert' | 'key', string> {
  return { ca: pemFile(ca), cert: pemFile(name), key: pemFile(`${name}-key`) }
}

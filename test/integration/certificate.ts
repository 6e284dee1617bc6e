// The certificates of test/certificate.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const FOLDER = fileURLToPath(new URL('../../../test/certificate/', import.meta.url))

/** The parts of `TlsOptions`. */
export type Certificate<Part> = Readonly<Record<'ca' | 'cert' | 'key', Part>>

/** The path of a PEM file. */
export function pemFile(name: string): string {
  return join(FOLDER, `${name}.pem`)
}

/** The files of the certificate of this name, and of what signs those of peers. */
export function certificate(name: string, ca = 'ca'): Certificate<string> {
  return { ca: pemFile(ca), cert: pemFile(name), key: pemFile(`${name}-key`) }
}

/** Their contents. */
export function contentsOf({ ca, cert, key }: Certificate<string>): Certificate<Buffer> {
  return { ca: readFileSync(ca), cert: readFileSync(cert), key: readFileSync(key) }
}

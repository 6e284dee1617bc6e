// The certificates for `tls://` addresses, as users give them: in code, on command lines, or in the
// environment (see runtime/child-environment.ts).

import { resolve } from 'node:path'
import { asBuffer } from '../../base/bytes.js'
import { ConfigError } from '../../base/errors.js'
import { checkNames, type OptionTable, show } from '../../base/option.js'

/**
 * Certificates and a key for `tls://` addresses. Each is the path of a PEM file, which is read
 * again when it has changed, or its content: a Buffer, or a text that begins with `-----BEGIN`.
 */
export interface TlsOptions {
  /**
   * The certificates of the authorities that sign those of peers. Whoever listens needs them.
   * Default for those who connect: what Node trusts.
   */
  readonly ca?: string | Uint8Array | undefined
  /** The certificate with which this process shows who it is, then those between it and `ca`. */
  readonly cert?: string | Uint8Array | undefined
  /** The private key of `cert`, not encrypted. */
  readonly key?: string | Uint8Array | undefined
}

/** The option of everything that takes an address. */
export interface TlsOption {
  /**
   * For `tls://` addresses; without effect on others. Default: the environment variables
   * `SCALER_TLS_CA`, `SCALER_TLS_CERT` and `SCALER_TLS_KEY`.
   */
  readonly tls?: TlsOptions | undefined
}

/** The same as a table. */
export const TLS_OPTION: OptionTable<TlsOption> = {
  tls: {
    type: { kind: 'object' },
    description: 'certificates for tls:// addresses',
    defaultText: 'SCALER_TLS_CA, SCALER_TLS_CERT, SCALER_TLS_KEY',
  },
}

/** The parts of the options. */
export const TLS_PARTS = ['ca', 'cert', 'key'] as const

/** One part. */
export type TlsPart = (typeof TLS_PARTS)[number]

/** All parts as texts: absolute paths, or the contents of PEM files. */
export type TlsTexts = { readonly [Part in TlsPart]?: string }

const VARIABLES: Readonly<Record<TlsPart, string>> = {
  ca: 'SCALER_TLS_CA',
  cert: 'SCALER_TLS_CERT',
  key: 'SCALER_TLS_KEY',
}

/** The most characters of a text that is passed on in the environment. */
const MAX_TEXT = 100_000

const PEM_BEGIN = '-----BEGIN'

/** Whether this is the content of a PEM file, not its path. */
export function isPem(text: string): boolean {
  return text.startsWith(PEM_BEGIN)
}

/** Where a part comes from, for errors: `option tls.ca`, `SCALER_TLS_CA`. */
export function partName(part: TlsPart, isOption: boolean): string {
  return isOption ? `option tls.${part}` : VARIABLES[part]
}

/** The option as texts; undefined: it is not given. Throws `ConfigError`; reads no files. */
export function tlsOption(given: TlsOptions | undefined): TlsTexts | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ConfigError(`option tls: expected an object, got ${show(given)}`)
  }
  checkNames('tls', VARIABLES, given)
  return texts((part) => textOf(part, given[part]))
}

function texts(read: (part: TlsPart) => string | undefined): TlsTexts {
  const entries = TLS_PARTS.map((part) => [part, read(part)] as const)
  return Object.fromEntries(entries.filter(([, text]) => text !== undefined))
}

function textOf(part: TlsPart, value: unknown): string | undefined {
  if (value === undefined) return undefined
  const name = partName(part, true)
  if (value instanceof Uint8Array) {
    const text = asBuffer(value).toString()
    const begin = text.indexOf(PEM_BEGIN)
    if (begin !== -1) return passable(name, text.slice(begin))
    throw new ConfigError(`${name}: expected PEM (${PEM_BEGIN} …), got other bytes`)
  }
  if (typeof value !== 'string' || value === '') {
    throw new ConfigError(`${name}: expected PEM, or the path of a file, got ${show(value)}`)
  }
  const text = value.trimStart()
  return isPem(text) ? passable(name, text) : resolve(value)
}

function passable(name: string, text: string): string {
  if (text.length <= MAX_TEXT) return text
  throw new ConfigError(`${name}: ${text.length} characters are too many; give the path of a file`)
}

/** What the environment says; undefined: nothing. */
export function tlsOfEnvironment(env: NodeJS.ProcessEnv = process.env): TlsTexts | undefined {
  const found = texts((part) => {
    const text = env[VARIABLES[part]]?.trim() ?? ''
    if (text === '') return undefined
    return isPem(text) ? text : resolve(text)
  })
  return Object.keys(found).length === 0 ? undefined : found
}

// The certificates of sockets, read and checked; files are read again when they have changed.

import { readFileSync, statSync } from 'node:fs'
import type { X509Certificate } from 'node:crypto'
import type { SecureContext } from 'node:tls'
import { ConfigError } from '../../base/errors.js'
import type { Logger } from '../../base/logger.js'
import { Recurrence } from '../../base/recurrence.js'
import { messageOf } from '../../base/text.js'
import { codeOf, isSecure, parseAddress } from '../address.js'
import {
  isPem,
  partName,
  TLS_PARTS,
  tlsOfEnvironment,
  type TlsOptions,
  tlsOption,
  type TlsPart,
  type TlsTexts,
} from './options.js'

/** What was read. */
export interface LoadedTls {
  /** For `tls.Server`. */
  readonly options: { readonly minVersion: 'TLSv1.2'; readonly secureOptions: number } & TlsTexts
  /** The same for connections. */
  readonly context: SecureContext
  /** The own certificate. */
  readonly own: X509Certificate | undefined
  /** Otherwise, only what Node trusts is trusted. */
  readonly hasCa: boolean
}

/** How often at most to check whether files have changed. */
const LOOK_INTERVAL_MS = 1_000
const TELL_INTERVAL_MS = 60_000

/** How often a certificate is reported, and from how long before its end, in milliseconds. */
const DAY_MS = 24 * 60 * 60 * 1000
const SOON_MS = 7 * DAY_MS

const UNSET =
  'set the option tls (commands: --tls-ca, --tls-cert and --tls-key), ' +
  'or SCALER_TLS_CA, SCALER_TLS_CERT and SCALER_TLS_KEY'

const DECRYPT = 'decrypt it with openssl pkey -in FILE -out FILE'

/** More are not kept: a program may make up new ones all the time. */
const MAX_KNOWN = 100
const MAX_PATH = 1_000

/** The certificates of all sockets to which the same option was given. */
export class TlsCredentials {
  /**
   * Sockets that are opened later must not fail because a file is just being replaced: they have
   * what earlier ones have.
   */
  static readonly #known = new Map<string, TlsCredentials>()
  readonly #texts: TlsTexts
  readonly #isOption: boolean
  readonly #troubles = new Recurrence(TELL_INTERVAL_MS)
  #expiries = new Recurrence(DAY_MS)
  #loaded: LoadedTls
  #version: string
  #lookedAt = performance.now()

  private constructor(texts: TlsTexts, isOption: boolean) {
    this.#texts = texts
    this.#isOption = isOption
    this.#version = this.#versionNow()
    this.#loaded = this.#load()
  }

  /**
   * Those of the option, or else of the environment. Throws `ConfigError`, which names the option
   * or variable, for what cannot be used.
   */
  static of(given: TlsOptions | undefined): TlsCredentials {
    const option = tlsOption(given)
    const texts = option ?? tlsOfEnvironment() ?? {}
    const isOption = option !== undefined
    const key = JSON.stringify([isOption, ...TLS_PARTS.map((part) => texts[part])])
    const known = TlsCredentials.#known
    const found = known.get(key) ?? new TlsCredentials(texts, isOption)
    if (known.size >= MAX_KNOWN) known.clear()
    known.set(key, found)
    return found
  }

  /** Throws `ConfigError` unless there is what is needed to listen at this address. */
  checkListening(address: string): void {
    const missing = TLS_PARTS.filter((part) => this.#texts[part] === undefined)
    if (missing.length === 0) return
    if (missing.length === TLS_PARTS.length) {
      throw new ConfigError(`cannot listen on ${address} without certificates: ${UNSET}`)
    }
    const names = missing.map((part) => partName(part, this.#isOption)).join(' and ')
    throw new ConfigError(`${names}: needed to listen on ${address}`)
  }

  /**
   * The latest. Files that cannot be used any more are reported, and the last ones stay valid. An
   * own certificate that is about to expire is reported once a day.
   */
  current(logger: Logger): LoadedTls {
    const now = performance.now()
    const latest = this.#latest(logger, now)
    const { own } = latest
    const leftMs = own === undefined ? Infinity : Date.parse(own.validTo) - Date.now()
    if (leftMs > SOON_MS || this.#expiries.note(now) === 0) return latest
    const file = isPem(this.#texts.cert ?? '') ? {} : { file: this.#texts.cert }
    const fields = { validTo: own?.validTo, ...file }
    if (leftMs > 0) logger.warn('the certificate expires soon', fields)
    else logger.error('the certificate has expired: no peer accepts it', fields)
    return latest
  }

  #latest(logger: Logger, now: number): LoadedTls {
    if (now - this.#lookedAt < LOOK_INTERVAL_MS) return this.#loaded
    this.#lookedAt = now
    const version = this.#versionNow()
    if (version === this.#version) return this.#loaded
    try {
      this.#loaded = this.#load()
      this.#version = version
      this.#expiries = new Recurrence(DAY_MS)
      logger.info('read the changed certificates')
    } catch (error) {
      const count = this.#troubles.note(now)
      const text = 'the changed certificates cannot be used; the last ones stay in use'
      if (count > 0) logger.warn(text, { reason: messageOf(error), count })
    }
    return this.#loaded
  }

  /** Changes when a file does. */
  #versionNow(): string {
    const files = Object.values(this.#texts).filter((text) => !isPem(text))
    return files.map(versionOf).join('\n')
  }

  #load(): LoadedTls {
    const crypto = process.getBuiltinModule('node:crypto')
    const { constants, createPrivateKey } = crypto
    const { createSecureContext } = process.getBuiltinModule('node:tls')
    const pem: TlsTexts = Object.fromEntries(
      TLS_PARTS.flatMap((part) => {
        const text = this.#texts[part]
        return text === undefined ? [] : [[part, this.#read(part, text)]]
      }),
    )
    const { ca, cert, key } = pem
    if (cert === undefined && key !== undefined) throw this.#alone('key', 'cert')
    if (cert !== undefined && key === undefined) throw this.#alone('cert', 'key')
    for (const each of ca === undefined ? [] : certificatesIn(ca)) {
      this.#parse('ca', 'a certificate', () => new crypto.X509Certificate(each))
    }
    let own: X509Certificate | undefined
    if (cert !== undefined && key !== undefined) {
      const parsed = this.#parse('cert', 'a certificate', () => new crypto.X509Certificate(cert))
      if (key.includes('ENCRYPTED')) throw this.#wrong('key', `is encrypted; ${DECRYPT}`)
      const secret = this.#parse('key', 'a private key', () => createPrivateKey(key))
      if (!parsed.checkPrivateKey(secret))
        throw this.#wrong('key', 'does not match the certificate')
      own = parsed
    }
    // No sessions are resumed: nobody is let in because of an earlier check, which may have failed.
    const secureOptions = constants.SSL_OP_NO_TICKET
    const options = { ...pem, minVersion: 'TLSv1.2', secureOptions } as const
    try {
      return { options, context: createSecureContext(options), own, hasCa: ca !== undefined }
    } catch (error) {
      throw this.#wrong('cert', `cannot be used: ${messageOf(error)}`, error)
    }
  }

  #read(part: TlsPart, text: string): string {
    if (isPem(text)) return text
    if (!isPath(text)) {
      const name = partName(part, this.#isOption)
      throw new ConfigError(`${name}: expected PEM, or the path of a file, got other text`)
    }
    try {
      return readFileSync(text, 'utf8')
    } catch (error) {
      const isMissing = codeOf(error) === 'ENOENT'
      const why = isMissing ? 'does not exist' : `cannot be read: ${messageOf(error)}`
      throw this.#wrong(part, why, error)
    }
  }

  #parse<Parsed>(part: TlsPart, what: string, parse: () => Parsed): Parsed {
    try {
      return parse()
    } catch (error) {
      throw this.#wrong(part, `is not ${what} in PEM format (${messageOf(error)})`, error)
    }
  }

  #alone(has: TlsPart, lacks: TlsPart): ConfigError {
    const [own, other] = [has, lacks].map((part) => partName(part, this.#isOption))
    return new ConfigError(`${own}: also needs ${other?.replace('option ', '')}`)
  }

  #wrong(part: TlsPart, why: string, cause?: unknown): ConfigError {
    const text = this.#texts[part] ?? ''
    const what = isPem(text) ? 'the text' : `the file ${JSON.stringify(text)}`
    const options = cause === undefined ? undefined : { cause }
    return new ConfigError(`${partName(part, this.#isOption)}: ${what} ${why}`, options)
  }
}

/** What is not one may be a secret, and is not repeated. */
function isPath(text: string): boolean {
  return text.length <= MAX_PATH && !text.includes('\n')
}

/** Node passes over certificates that it cannot read, except the first one. */
function certificatesIn(pem: string): readonly string[] {
  const found = pem.split(/(?=-----BEGIN (?:X509 )?CERTIFICATE-----)/).filter(isPem)
  return found.length > 0 ? found : [pem]
}

/** Reading tells why a file cannot be read. */
function versionOf(path: string): string {
  try {
    const { ino, size, mtimeMs } = statSync(path)
    return `${ino} ${size} ${mtimeMs}`
  } catch {
    return ''
  }
}

/** Throws `ConfigError` if the certificates for a `tls://` address cannot be used. */
export function checkCertificates(address: string, tls: TlsOptions | undefined): void {
  if (isSecure(parseAddress(address))) TlsCredentials.of(tls)
}

// Why there is no TLS connection, in words that operators understand.

import type { PeerCertificate } from 'node:tls'

/** The reason if the peer speaks something else. */
export const NOT_TLS = 'the peer does not speak TLS'

/** The reason for a peer without a certificate; both sides read it. */
export const ANONYMOUS: string =
  'no certificate was presented; whoever connects needs tls.cert and tls.key ' +
  '(--tls-cert, --tls-key)'

/** What OpenSSL finds wrong with a certificate, by Node's code. */
const CERTIFICATES: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet; check the clocks',
  CERT_REVOKED: 'is revoked',
  INVALID_PURPOSE: 'is not meant for this, or was not issued by a CA (see its key usages)',
  UNABLE_TO_GET_ISSUER_CERT: 'is not signed by our CA',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'is not signed by our CA',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'is not signed by our CA',
  CERT_SIGNATURE_FAILURE: 'is not signed by our CA',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is not signed by our CA, but by itself',
  NO_CA: 'is not signed by a CA that Node trusts, and tls.ca (--tls-ca, SCALER_TLS_CA) is not set',
  SELF_SIGNED_CERT_IN_CHAIN: 'is not signed by our CA, but by another one',
}

/** What the alerts and errors of OpenSSL mean. */
const PROTOCOL: readonly (readonly [sign: RegExp, reason: string])[] = [
  [/wrong version number|http request|packet length too long|unknown protocol/, NOT_TLS],
  [/unsupported protocol|protocol version/, 'no common version of TLS (1.2 or later)'],
  [/no shared cipher|alert handshake failure/, 'no common cipher, or a certificate is required'],
  [/alert unknown ca/, 'the peer does not know the CA of our certificate'],
  [/alert certificate expired/, 'the peer says that our certificate has expired'],
  [/certificate required|did not return a certificate/, 'the peer requires a certificate'],
  [/alert (bad|unsupported) certificate|alert certificate/, 'the peer refused our certificate'],
]

/** What of these means that no CA of ours has signed a certificate. */
const UNSIGNED = /^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_)/

/** Without a CA of ours, the reason is another one. */
export function withoutCa(error: Error & { code?: unknown }): void {
  if (UNSIGNED.test(String(error.code))) error.code = 'NO_CA'
}

/** A name from a certificate, which may say anything. */
function quoted(name: unknown): string {
  return JSON.stringify(String(name).slice(0, 64)).replaceAll(/\p{C}/gu, '?')
}

/** `the certificate of "left" has expired`, for Node's `code`. */
export function certificateTrouble(code: string, peer?: PeerCertificate): string {
  const name: unknown = peer?.subject?.CN
  const whose = name === undefined ? 'the peer' : quoted(name)
  return `the certificate of ${whose} ${CERTIFICATES[code] ?? `is refused (${code})`}`
}

/** `the certificate of the peer is not for a.example; it is for b.example`. */
export function nameTrouble(host: string, { subject, subjectaltname }: PeerCertificate): string {
  const names = subjectaltname
    ?.split(', ')
    .map((each) => each.replace(/^(DNS|IP Address):/, ''))
    .join(', ')
  const owner = names?.slice(0, 200) ?? quoted(subject?.CN ?? 'nobody')
  return `the certificate of the peer is not for ${host}; it is for ${owner}`
}

/** The reason for an error of TLS; undefined: it is one of the connection below. */
export function tlsTrouble(error: Error & { readonly code?: unknown }): string | undefined {
  const code = String(error.code)
  if (Object.hasOwn(CERTIFICATES, code)) return certificateTrouble(code)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return error.message
  // 800C…:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/…
  const text = /:SSL routines:[^:]*:([^:]+)/.exec(error.message)?.[1]
  if (text === undefined && !/^ERR_(SSL|TLS)_/.test(code)) return undefined
  const what = text ?? error.message
  return PROTOCOL.find(([sign]) => sign.test(what))?.[1] ?? `TLS failed: ${what}`
}

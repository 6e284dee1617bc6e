// Describes what is at an address instead of a scheduler, and what to check. How it is detected is
// up to the transport (transport/end.ts).

import { unreachable } from '../../base/assert.js'
import { ConfigError } from '../../base/errors.js'
import { NO_SCHEDULER_HERE } from '../../base/features.js'
import {
  type Address,
  formatAddress,
  isEverywhere,
  isLoopback,
  parseAddress,
  parseConnectAddress,
} from '../../transport/address.js'
import { type ConnectionEnd, type EndKind, isPublisher } from '../../transport/end.js'
import { NOT_TLS } from '../../transport/tls/trouble.js'

/** Why there is no scheduler: no connection, or a peer that is something else. */
export type NoScheduler = ConnectionEnd | { readonly kind: 'notScheduler'; readonly reason: string }

/** A finding in words, without a full stop. */
export interface FindingText {
  readonly what: string
  /** What to check, or ''. */
  readonly advice: string
}

/** By default, monitors connect two ports above the scheduler. */
const MONITOR_PORT_OFFSET = 2

const FINAL_KINDS: ReadonlySet<EndKind | 'notScheduler'> = new Set([
  'notZmtp',
  'wrongSocket',
  'incompatible',
  'untrusted',
  'notScheduler',
] as const)

/** Whether trying again is useless: another server uses the address, or does not accept us. */
export function isFinal({ kind }: NoScheduler): boolean {
  return FINAL_KINDS.has(kind)
}

/**
 * The scheduler that publishes at this address: as the publisher there says, or else two ports
 * below. Undefined if this is something else.
 */
export function publishingScheduler(finding: NoScheduler, address: Address): Address | undefined {
  if (finding.kind !== 'wrongSocket' || !isPublisher(finding.peerType)) return undefined
  const { peerScheduler } = finding
  if (peerScheduler === '') return schedulerBeside(address)
  try {
    return parseConnectAddress(asSeenFrom(address, peerScheduler))
  } catch (error) {
    // Any program may be there, and say anything.
    if (error instanceof ConfigError) return undefined
    throw error
  }
}

/** The likely address of the scheduler that publishes for monitors at this address. */
export function schedulerBeside(address: Address): Address | undefined {
  if (address.kind === 'ipc') {
    const path = address.path.replace(/\.monitor$/, '')
    return path === address.path ? undefined : { ...address, path }
  }
  const port = address.port - MONITOR_PORT_OFFSET
  return port < 1 ? undefined : { ...address, port }
}

/** The default address for the monitors of a scheduler. */
export function monitorBeside(address: Address): Address | undefined {
  if (address.kind === 'ipc') return { ...address, path: `${address.path}.monitor` }
  const port = address.port + MONITOR_PORT_OFFSET
  return port > 65_535 ? undefined : { ...address, port }
}

/**
 * An address on which a server listens, as it says, for somebody who reached its other address as
 * `known`: wildcard and loopback hosts are replaced. Throws `ConfigError` for anything else.
 */
export function asSeenFrom(known: Address, bound: string): string {
  const address = parseAddress(bound)
  if (address.kind === 'ipc' || known.kind === 'ipc') return bound
  const isOurs = isLoopback(address.host) && isLoopback(known.host)
  const isSpecific = !isEverywhere(address.host) && !isLoopback(address.host)
  return isSpecific || isOurs ? bound : formatAddress({ ...address, host: known.host })
}

/** An address for messages: `127.0.0.1 port 2345`. */
export function placeOf(address: Address): string {
  return address.kind === 'ipc' ? address.path : `${address.host} port ${address.port}`
}

/** What was found at `address` within this time, as text. */
export function describe(finding: NoScheduler, address: Address, withinMs: number): FindingText {
  const place = placeOf(address)
  const { reason } = finding
  switch (finding.kind) {
    case 'unresolved':
      return { what: reason, advice: 'check its spelling, or use an IP address' }
    case 'refused': {
      const question = address.kind === 'tcp' ? ', and is this the right port?' : '?'
      const what = `connection refused: nothing is listening at ${place}`
      return { what, advice: `is the scheduler running${question}` }
    }
    case 'unreachable':
      if (address.kind === 'tcp') return { what: `host unreachable: ${reason}`, advice: '' }
      return { what: reason, advice: 'is the scheduler running on this machine?' }
    case 'silent':
      return describeSilence(finding, place, withinMs)
    case 'closed': {
      const what = `${place} closed the connection during the handshake`
      return { what, advice: 'is it a scheduler?' }
    }
    case 'lost':
      return { what: `${place} closed the connection (${reason || 'no reason given'})`, advice: '' }
    case 'notZmtp': {
      const what = `the server does not speak ZeroMQ: it sent ${finding.excerpt}`
      if (!finding.excerpt.endsWith('(TLS)')) return { what, advice: 'is this the right port?' }
      return { what, advice: `is its address ${formatAddress(address).replace('tcp:', 'tls:')}?` }
    }
    case 'untrusted': {
      const plain = formatAddress(address).replace('tls:', 'tcp:')
      const advice = reason === NOT_TLS ? `is its address ${plain}?` : ''
      return { what: `no TLS connection to ${place}: ${reason}`, advice }
    }
    case 'wrongSocket':
      return describeSocket(finding, address)
    case 'incompatible':
    case 'broken':
    case 'crowded':
      return { what: `the ZeroMQ handshake failed: ${reason}`, advice: '' }
    case 'notScheduler': {
      if (reason === NO_SCHEDULER_HERE) return { what: reason, advice: '' }
      const what = `the peer does not speak the scheduler protocol: ${reason}`
      return { what, advice: 'is it another program, or a Scaler version other than 1.9.9?' }
    }
    default:
      return unreachable(finding)
  }
}

function describeSilence({ stage }: ConnectionEnd, place: string, withinMs: number): FindingText {
  const time =
    withinMs < 1_000 ? `${Math.round(withinMs)} ms` : `${Math.round(withinMs / 100) / 10} s`
  if (stage === 'connecting') {
    const advice = 'is the host up, and does its firewall let this port through?'
    return { what: `no answer from ${place} within ${time}`, advice }
  }
  const lack = {
    connected: 'accepts connections, but has sent nothing',
    greeted: 'speaks ZeroMQ, but has not finished the handshake',
    ready: 'speaks ZeroMQ, but has not answered as a scheduler',
  }[stage]
  const advice = 'is it a scheduler, and is it running (not stopped, not overloaded)?'
  return { what: `${place} ${lack} within ${time}`, advice }
}

function describeSocket(finding: ConnectionEnd, address: Address): FindingText {
  const { peerType, peerScheduler } = finding
  if (!isPublisher(peerType)) {
    const type = /^[\w-]{1,32}$/.test(peerType) ? peerType : JSON.stringify(peerType.slice(0, 32))
    const what = `a ZeroMQ ${type} socket answers; a scheduler has a ROUTER socket`
    return { what, advice: 'is this the right port?' }
  }
  const scheduler = publishingScheduler(finding, address)
  const certainty = peerScheduler === '' ? ', most likely' : ','
  const where = scheduler === undefined ? '' : `${certainty} ${formatAddress(scheduler)}`
  return {
    what: `a ZeroMQ ${peerType} socket answers: this is the address for monitors`,
    advice: `use the address of the scheduler${where}`,
  }
}

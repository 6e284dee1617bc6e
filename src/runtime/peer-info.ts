// What a process reports about itself to others: docs/protocol.md#peers.

import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Identity, identity } from '../base/ids.js'
import { type Address, codeOf, parseAddress } from '../transport/address.js'
import type { PeerInfo } from '../wire/message.js'
import { packageVersion } from './process-statistics.js'

// The addresses that clusters of this process serve: a client that connects to one of them runs in
// the same program.

/** A cluster of this process. */
export interface LocalCluster {
  /** The options whose time has passed, after which there are no workers any more; else ''. */
  readonly expired: string
}

const served = new Map<string, readonly LocalCluster[]>()

/**
 * Records that a cluster of this process serves an address, until the returned function is called.
 */
export function serveLocally(address: string, cluster: LocalCluster): () => void {
  const key = keyOf(address)
  served.set(key, [...(served.get(key) ?? []), cluster])
  return () => {
    const others = served.get(key)?.filter((other) => other !== cluster) ?? []
    if (others.length > 0) served.set(key, others)
    else served.delete(key)
  }
}

/** The cluster of this process that serves an address. Undefined for an invalid address. */
export function localCluster(address: string): LocalCluster | undefined {
  if (served.size === 0) return undefined
  try {
    return served.get(keyOf(address))?.at(-1)
  } catch {
    return undefined
  }
}

/** Names of this machine. */
const THIS_MACHINE = new Set(['localhost', '127.0.0.1', '::1'])

function keyOf(text: string): string {
  const address: Address = parseAddress(text)
  if (address.kind === 'ipc') return `ipc ${address.path}`
  return `tcp ${THIS_MACHINE.has(address.host) ? '' : address.host} ${address.port}`
}

/**
 * A new identity of this process: text in UTF-8, as one character for each byte. `role` is what it
 * is, or the name of a worker. docs/protocol.md#identities
 */
export function newIdentity(role: string): Identity {
  const text = `${process.pid}|${role}|${randomBytes(16).toString('hex')}`
  return identity(Buffer.from(text, 'utf8').toString('latin1'))
}

/** Created anew by Linux at each boot; the same in all containers. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id'

let machineIdOfProcess: string | undefined

/** What is reported about a process in addition to what it can find out on its own. */
interface OwnInfo {
  readonly name: string
  /** By this machine's clock, in milliseconds since 1970; 0 = no known limit. */
  readonly endsMS?: number
  readonly allocation?: string
}

/** This process, as described to its scheduler. */
export function peerInfo({ name, endsMS = 0, allocation = '' }: OwnInfo): PeerInfo {
  return {
    name,
    host: hostname(),
    machineId: machineId(),
    pid: process.pid,
    version: ownVersion(),
    startedMS: Math.round(Date.now() - process.uptime() * 1_000),
    endsMS,
    allocation,
    endsInMS: leftMs(endsMS),
  }
}

/** How much is left until `endsMS`, by this machine's clock: at least 1; 0 = no known limit. */
export function leftMs(endsMS: number): number {
  return endsMS === 0 ? 0 : Math.max(1, endsMS - Date.now())
}

/**
 * The same text in all processes on this running system: 16 hexadecimal digits. It changes at each
 * boot, except where the system has no boot id: there it is derived from the name of the machine.
 * '' while it cannot be read, for example without a free file descriptor.
 */
export function machineId(): string {
  if (machineIdOfProcess !== undefined) return machineIdOfProcess
  const id = systemId()
  if (id === undefined) return ''
  machineIdOfProcess = createHash('sha256').update(id).digest('hex').slice(0, 16)
  return machineIdOfProcess
}

function systemId(): string | undefined {
  try {
    return readFileSync(BOOT_ID, 'utf8').trim()
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? hostname() : undefined
  }
}

/** A failed read is not worth an error. */
function ownVersion(): string {
  try {
    return packageVersion()
  } catch {
    return ''
  }
}

// What a process tells others of itself: docs/protocol.md#peers.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Address, codeOf, parseAddress } from '../transport/address.js'
import type { PeerInfo } from '../wire/message.js'
import { packageVersion } from './process-statistics.js'

// The addresses that clusters of this process serve: whoever connects to one of them is in the same
// program.

const served = new Map<string, number>()

/** A cluster of this process serves an address, until the returned function is called. */
export function serveLocally(address: string): () => void {
  const key = keyOf(address)
  served.set(key, (served.get(key) ?? 0) + 1)
  return () => {
    const count = served.get(key) ?? 0
    if (count > 1) served.set(key, count - 1)
    else served.delete(key)
  }
}

/** Whether a cluster of this process serves an address. False for what is no address. */
export function isServedLocally(address: string): boolean {
  if (served.size === 0) return false
  try {
    return served.has(keyOf(address))
  } catch {
    return false
  }
}

/** This machine has several names. */
const THIS_MACHINE = new Set(['localhost', '127.0.0.1', '::1'])

function keyOf(text: string): string {
  const address: Address = parseAddress(text)
  if (address.kind === 'ipc') return `ipc ${address.path}`
  return `tcp ${THIS_MACHINE.has(address.host) ? '' : address.host} ${address.port}`
}

/** Made anew by Linux at each start, and seen by all its containers. */
const BOOT_ID = '/proc/sys/kernel/random/boot_id'

let machineIdOfProcess: string | undefined

/** What is told of a process beside what it knows by itself. */
interface OwnInfo {
  readonly name: string
  /** By this machine's clock, in milliseconds since 1970; 0 = no limit is known. */
  readonly endsMS?: number
  readonly allocation?: string
}

/** This process, for its scheduler. */
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
  }
}

/**
 * The same text in all processes on this running system: 16 hexadecimal digits. Another one after
 * the next start, except where the system has no id of its own: there it is made of the name of the
 * machine. '' while it cannot be read, for want of file descriptors for instance.
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

/** What cannot be read now is not worth a failure. */
function ownVersion(): string {
  try {
    return packageVersion()
  } catch {
    return ''
  }
}

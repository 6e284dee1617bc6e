// Finds a cluster by either of its addresses: that of its scheduler, or that for monitors.

import { silentLogger } from '../../base/logger.js'
import { type Address, formatAddress, parseConnectAddress } from '../../transport/address.js'
import { isPublisher } from '../../transport/end.js'
import { Client } from '../client.js'
import type { ClusterInfo } from '../monitor/cluster-info.js'
import type { MonitorSetup } from '../monitor/links.js'
import { lookAtCluster } from '../monitor/look.js'
import { noScheduler } from './attempt.js'
import { type NoScheduler, publishingScheduler } from './no-scheduler.js'
import { probeScheduler } from './probe.js'

/** Settings of a command's connection. */
const VISITOR = { heartbeatIntervalMs: 2_000, logger: silentLogger }

/** How long a scheduler may take to answer that is found by its publisher. */
const CONFIRM_LIMIT_MS = 1_000

/** The scheduler that publishes at this address. Undefined unless it answers. */
export async function schedulerBehind(
  finding: NoScheduler,
  address: Address,
): Promise<Address | undefined> {
  const scheduler = publishingScheduler(finding, address)
  if (scheduler === undefined) return undefined
  const answer = await probeScheduler(scheduler, { limitMs: CONFIRM_LIMIT_MS, heartbeats: 1 })
  return answer.kind === 'scheduler' ? scheduler : undefined
}

/** The address of the scheduler that publishes at this one; undefined: none does. */
export async function schedulerPublishingAt(given: string): Promise<string | undefined> {
  const address = parseConnectAddress(given)
  const finding = await probeScheduler(address, { limitMs: CONFIRM_LIMIT_MS, heartbeats: 1 })
  if (finding.kind === 'scheduler') return undefined
  const scheduler = await schedulerBehind(finding, address)
  return scheduler && formatAddress(scheduler)
}

/** How a cluster is found. */
export interface LocateOptions {
  readonly timeoutMs: number
  /** Where it publishes, if that cannot be found out. */
  readonly monitorAddress: string | undefined
}

/**
 * Finds a cluster. Rejects with `ConfigError` for invalid addresses, with `ConnectError` for
 * another server, and with `TimeoutError` if there is no answer.
 */
export async function locate(
  given: string,
  { timeoutMs, monitorAddress }: LocateOptions,
): Promise<MonitorSetup> {
  const address = parseConnectAddress(given)
  if (monitorAddress !== undefined) parseConnectAddress(monitorAddress)
  const finding = await probeScheduler(address, { limitMs: timeoutMs, heartbeats: 1 })
  if (finding.kind === 'wrongSocket' && isPublisher(finding.peerType)) {
    const scheduler = await schedulerBehind(finding, address)
    const found = scheduler && formatAddress(scheduler)
    return { ...VISITOR, address: found, monitorAddress: monitorAddress ?? given }
  }
  // It has had its time.
  if (finding.kind === 'silent') throw noScheduler({ finding, address: given, timeoutMs })
  if (finding.kind !== 'scheduler') {
    // Waits for it, and says what is wrong if it does not come.
    const client = await Client.visit(given, { timeoutMs })
    await client.close()
  }
  return { ...VISITOR, address: given, monitorAddress }
}

/** Prepares to look at a cluster again and again. Rejects, and the result does, like `locate`. */
export async function openLook(
  given: string,
  options: LocateOptions,
): Promise<(signal?: AbortSignal) => Promise<ClusterInfo>> {
  const setup = await locate(given, options)
  return (signal) => lookAtCluster(setup, { timeoutMs: options.timeoutMs, signal })
}

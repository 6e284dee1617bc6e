// The object storage servers of a scheduler, as this machine reaches them: for `scaler doctor`.

import { NO_SCHEDULER_HERE } from '../../base/features.js'
import { serverAddress } from '../../runtime/storage/link.js'
import { parseAddress } from '../../transport/address.js'
import { Client } from '../client.js'
import type { StorageServerInfo } from '../monitor/cluster-info.js'
import { describe } from './no-scheduler.js'
import { probeScheduler } from './probe.js'

/** Of more servers, only the first ones are tried. */
const MAX_SERVERS = 20

/** A server, and why this machine cannot use it. */
export interface FoundServer extends StorageServerInfo {
  /** Empty: it can, or it was not tried, because the scheduler cannot reach it either. */
  readonly trouble: string
}

/** Asks the scheduler for its servers, and tries each. Empty if it does not report any. */
export async function findServers(
  address: string,
  timeoutMs: number,
): Promise<readonly FoundServer[]> {
  const client = await Client.visit(address, { timeoutMs })
  try {
    const { storageServers = [] } = await client.info()
    const tried = storageServers.slice(0, MAX_SERVERS).map(async (server) => {
      const trouble = server.state === 'away' ? '' : await troubleOf(server, address, timeoutMs)
      return { ...server, trouble }
    })
    return await Promise.all(tried)
  } finally {
    await client.close()
  }
}

async function troubleOf(
  { address: name }: StorageServerInfo,
  scheduler: string,
  timeoutMs: number,
): Promise<string> {
  const address = parseAddress(serverAddress(name, scheduler))
  const answer = await probeScheduler(address, { limitMs: timeoutMs, heartbeats: 1 })
  if (answer.kind === 'scheduler') return 'this is a scheduler'
  const isServer = answer.kind === 'notScheduler' && answer.reason === NO_SCHEDULER_HERE
  return isServer ? '' : describe(answer, address, timeoutMs).what
}

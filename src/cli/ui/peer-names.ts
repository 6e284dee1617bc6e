// What clients and workers are called, also after they have left: tasks and failures that are still
// listed have only their identities.

import type { ClusterInfo } from '../../client/monitor/cluster-info.js'

/** What people call a peer. */
export interface PeerName {
  /** Empty if it has none. */
  readonly name: string
  /** Empty if it is not known. */
  readonly host: string
}

/** A peer and how often something happened to it. */
export interface NamedCount extends PeerName {
  readonly id: string
  readonly count: number
}

const UNNAMED: PeerName = { name: '', host: '' }
/** Of clients, and of workers. Those that are still connected are noted again. */
const MAX_KEPT = 20_000

/** The names by identity; at most 20,000 clients and as many workers. */
export class PeerNames {
  readonly #clients = new Map<string, PeerName>()
  readonly #workers = new Map<string, PeerName>()

  update({ clients, hosts, lost }: ClusterInfo): void {
    for (const client of clients) note(this.#clients, client.id, client)
    for (const { host, workers } of hosts) {
      for (const { id, name } of workers) note(this.#workers, id, { name, host })
    }
    for (const worker of lost?.workers ?? []) note(this.#workers, worker.id, worker)
  }

  client(id: string | undefined): PeerName {
    return this.#clients.get(id ?? '') ?? UNNAMED
  }

  worker(id: string | undefined): PeerName {
    return this.#workers.get(id ?? '') ?? UNNAMED
  }
}

function note(names: Map<string, PeerName>, id: string, { name, host }: PeerName): void {
  const known = names.get(id)
  if (known !== undefined && known.name === name && known.host === host) return
  names.set(id, { name, host })
  for (const oldest of names.keys()) {
    if (names.size <= MAX_KEPT) return
    names.delete(oldest)
  }
}

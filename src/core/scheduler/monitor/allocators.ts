// The allocators that start workers for this scheduler, as they announce themselves. It passes what
// one says on to all monitors, among them the other allocators. docs/protocol.md#allocators

import { FEATURE_ALLOCATORS, hasFeature } from '../../../base/features.js'
import type { Identity } from '../../../base/ids.js'
import type { AllocatorReport, AllocatorStatus } from '../../../wire/message.js'
import type { ClientEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'

/** Limits for the reports, of which ours send less. */
const MOST = { allocators: 100, name: 128, text: 1_000, offers: 64 } as const

/** All allocators, in the order in which they connected. */
export class Allocators {
  readonly #state: SchedulerState
  readonly #byClient = new Map<ClientEntry, AllocatorStatus>()

  constructor(state: SchedulerState) {
    this.#state = state
  }

  /** For monitors. */
  get all(): readonly AllocatorStatus[] {
    return [...this.#byClient.values()]
  }

  /** An allocator announces its state. */
  onReport(from: Identity, { allocator: status }: AllocatorReport): void {
    const { clients, turn } = this.#state
    const client = clients.get(from)
    const isNew = client !== undefined && !this.#byClient.has(client)
    const isFull = isNew && this.#byClient.size >= MOST.allocators
    if (client === undefined || isFull || !hasFeature(client.features, FEATURE_ALLOCATORS)) {
      const why = isFull ? 'there are too many' : 'it is not a client with the feature'
      turn.log('debug', `ignored an allocator: ${why}`, { client: from })
      return
    }
    const { name, provider, runtime, offers, why, problem } = status
    if (isNew) turn.log('info', 'an allocator has connected', { name, client: from })
    this.#byClient.set(client, {
      ...status,
      name: name.slice(0, MOST.name),
      provider: provider.slice(0, MOST.name),
      runtime: runtime.slice(0, MOST.name),
      offers: offers.slice(0, MOST.offers).map((offer) => {
        return { name: offer.name.slice(0, MOST.name), value: offer.value }
      }),
      why: why.slice(0, MOST.text),
      problem: problem.slice(0, MOST.text),
    })
  }

  /** Whether a client has started a worker, and may therefore drain it in protected mode, too. */
  owns(client: ClientEntry, worker: WorkerEntry | undefined): boolean {
    const status = this.#byClient.get(client)
    return status !== undefined && worker?.info?.allocation.startsWith(`${status.name}/`) === true
  }

  /** The allocator with this name; the first, if there are several. */
  named(name: string): ClientEntry | undefined {
    for (const [client, status] of this.#byClient) if (status.name === name) return client
    return undefined
  }

  /** A client has left, or lost its connection: it announces itself again when it returns. */
  leave(client: ClientEntry): void {
    const status = this.#byClient.get(client)
    if (!this.#byClient.delete(client) || status === undefined) return
    const { name } = status
    this.#state.turn.log('info', 'an allocator has left', { name, client: client.identity })
  }
}

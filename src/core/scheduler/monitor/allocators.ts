// The allocators that start workers for this scheduler, as they announce themselves. It passes what
// one says on to all monitors, among them the other allocators. docs/protocol.md#allocators

import { FEATURE_ALLOCATORS, hasFeature } from '../../../base/features.js'
import type { Identity } from '../../../base/ids.js'
import type { Alarm } from '../../../base/machine.js'
import type { AllocatorReport, AllocatorStatus, TaskCapability } from '../../../wire/message.js'
import type { ClientEntry, WorkerEntry } from '../entries.js'
import type { SchedulerState } from '../state.js'

/** Limits for reports. Ours send less. Each state contains the reports of all allocators. */
const MOST = { allocators: 100, name: 128, text: 1_000, offers: 64, allOfferNames: 2_000 } as const

/** While tasks wait, allocators get the state this often: their workers may start within that. */
const STATE_INTERVAL_MS = 200

/** More allocators get it less often, so that states never take much of the scheduler's time. */
const FULL_RATE = 4

/** With more workers, they get it every second, as all monitors do: it takes several messages. */
const MAX_WORKERS = 250

/** All allocators, in the order in which they connected. */
export class Allocators {
  readonly #state: SchedulerState
  readonly #byClient = new Map<ClientEntry, AllocatorStatus>()
  readonly #alarm: Alarm

  constructor(state: SchedulerState) {
    this.#state = state
    this.#alarm = state.turn.alarm(() => this.#hurry())
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
    if (isNew) this.#alarm.setBy(turn.now)
    this.#byClient.set(client, {
      ...status,
      name: name.slice(0, MOST.name),
      provider: provider.slice(0, MOST.name),
      runtime: runtime.slice(0, MOST.name),
      offers: clippedOffers(offers),
      why: why.slice(0, MOST.text),
      problem: problem.slice(0, MOST.text),
    })
  }

  /** Whether a client has started a worker, and may therefore drain it in protected mode, too. */
  owns(client: ClientEntry, worker: WorkerEntry | undefined): boolean {
    const status = this.#byClient.get(client)
    return status !== undefined && worker?.info?.allocation.startsWith(`${status.name}/`) === true
  }

  /** Tasks have begun to wait, and there is no worker. */
  onUnserved(): void {
    if (this.#byClient.size > 0) this.#alarm.setBy(this.#state.turn.now)
  }

  /** Called after each event. */
  update(): void {
    if (this.#byClient.size === 0 || this.#alarm.isSet || !this.#isUrgent) return
    const share = Math.ceil(this.#byClient.size / FULL_RATE)
    this.#alarm.set(this.#state.turn.now + STATE_INTERVAL_MS * share)
  }

  #hurry(): void {
    if (!this.#isUrgent) return
    this.#state.monitors.hurry((client) => this.#byClient.has(client))
  }

  get #isUrgent(): boolean {
    // In this order: to count what waits takes longer.
    return this.#state.workers.size <= MAX_WORKERS && this.#state.waitingCount > 0
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

/** The first ones: as many as the limits allow. */
function clippedOffers(offers: readonly TaskCapability[]): readonly TaskCapability[] {
  const clipped: TaskCapability[] = []
  let length = 0
  for (const { name, value } of offers.slice(0, MOST.offers)) {
    const offer = { name: name.slice(0, MOST.name), value }
    length += offer.name.length
    if (length > MOST.allOfferNames) break
    clipped.push(offer)
  }
  return clipped
}

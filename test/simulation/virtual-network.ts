// The network of a simulated world: the listeners, the connections, and the unreachable hosts.

import type { InstantMs } from '#src/base/machine.js'
import type { Random } from './random.js'
import type { VirtualClock } from './virtual-clock.js'
import { LinkEnd, VirtualLink, type LinkEndSetup } from './virtual-link.js'
import type { VirtualProcess } from './virtual-process.js'

/** A listener. */
export interface Listener {
  readonly process: VirtualProcess
  /** The parts of its end of a new connection. */
  accept(): LinkEndSetup
}

const CONNECT_TIMEOUT_MS = 10_000
const SYN_INTERVAL_MS = 1_000

/** All connections. */
export class VirtualNetwork {
  readonly #clock: VirtualClock
  readonly #random: Random
  #listener: Listener | undefined
  #links: { readonly host: string; readonly link: VirtualLink }[] = []
  readonly #blackHoles = new Map<string, InstantMs>()
  #count = 0

  constructor(clock: VirtualClock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** There is one address in this world. */
  listen(listener: Listener): void {
    this.#listener = listener
  }

  /** Nothing listens any more. */
  stopListening(listener: Listener): void {
    if (this.#listener === listener) this.#listener = undefined
  }

  /** The open connections of a host, in order of their creation. */
  linksOf(host: string): readonly VirtualLink[] {
    this.#links = this.#links.filter(({ link }) => link.isAlive)
    return this.#links.filter((entry) => entry.host === host).map(({ link }) => link)
  }

  /**
   * Tries to connect from a host. Calls `done` in the process of `setup` with the end of the new
   * connection, or with the error.
   */
  connect(host: string, setup: LinkEndSetup, done: (result: LinkEnd | string) => void): void {
    const { minDelayMs, maxDelayMs } = setup.settings
    const delayMs = this.#random.between(2 * minDelayMs, 2 * maxDelayMs)
    const answer = (result: LinkEnd | string): void => setup.process.deliver(() => done(result))
    const giveUpAt = this.#clock.now + CONNECT_TIMEOUT_MS
    const attempt = (): void => {
      if (!setup.process.isAlive) return
      if ((this.#blackHoles.get(host) ?? 0) > this.#clock.now) {
        // The system retries while the caller waits.
        if (this.#clock.now < giveUpAt) this.#clock.after(SYN_INTERVAL_MS, attempt)
        else answer('no connection within 10000 ms')
        return
      }
      const listener = this.#listener
      if (listener === undefined || !listener.process.isAlive) return answer('refused')
      this.#count += 1
      const dealer = new LinkEnd(this.#clock, setup)
      const router = new LinkEnd(this.#clock, listener.accept())
      const random = this.#random.fork(`link ${this.#count}`)
      const link = new VirtualLink(this.#clock, random, dealer, router)
      this.#links.push({ host, link })
      answer(dealer)
    }
    this.#clock.after(delayMs, attempt)
  }

  /** Until then nothing reaches a host, and nothing that it sends arrives, silently. */
  swallow(host: string, until: InstantMs): void {
    this.#blackHoles.set(host, until)
    for (const link of this.linksOf(host)) link.cut('void', 0)
    this.#clock.at(until, () => {
      for (const link of this.linksOf(host)) link.heal()
    })
  }

  /** All is well again. */
  heal(): void {
    this.#blackHoles.clear()
    for (const { link } of this.#links) link.heal()
  }
}

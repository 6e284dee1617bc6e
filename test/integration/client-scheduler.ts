// A scheduler for tests of the client: a ROUTER in front of the fake one that runs functions itself.

import type { Identity } from '#src/base/ids.js'
import { FakeScheduler, type FakeSchedulerOptions } from '#src/client/fake-scheduler.test.kit.js'
import { RouterSocket, type RouterHandler } from '#src/transport/router.js'
import { decode, encodeFrame } from '#src/wire/message.js'

/** Listens on a free port of 127.0.0.1 until it is stopped. */
export class RouterScheduler {
  readonly fake: FakeScheduler
  readonly #peers = new Set<Identity>()
  #router: RouterSocket | undefined
  #address = 'tcp://127.0.0.1:0'

  private constructor(options: FakeSchedulerOptions) {
    this.fake = new FakeScheduler((to, message) => {
      this.#router?.send(to, encodeFrame(message))
    }, options)
  }

  static async start(options: FakeSchedulerOptions = {}): Promise<RouterScheduler> {
    const scheduler = new RouterScheduler(options)
    await scheduler.listen()
    return scheduler
  }

  get address(): string {
    return this.#address
  }

  /** Clients that are connected. */
  get peerCount(): number {
    return this.#peers.size
  }

  /** Listens, again on the same port if it has had one. */
  async listen(): Promise<void> {
    this.#router = await RouterSocket.bind(this.#address, this.#handler())
    this.#address = this.#router.address
  }

  /** Breaks all connections; the clients may come back. */
  dropConnections(): void {
    for (const peer of this.#peers) this.#router?.disconnect(peer, 'dropped by the test')
  }

  async stop(): Promise<void> {
    await this.#router?.close()
    for (const peer of this.#peers) this.fake.onDisconnect(peer)
    this.#peers.clear()
  }

  #handler(): RouterHandler {
    return {
      onMessages: (from, messages) => {
        for (const frames of messages) {
          if (frames instanceof Uint8Array) this.fake.handle(from, decode(frames))
          else this.fake.faults.push('more than one frame')
        }
      },
      onConnect: (peer) => this.#peers.add(peer),
      onDisconnect: (peer) => {
        this.#peers.delete(peer)
        this.fake.onDisconnect(peer)
      },
      onDrain: () => {},
      onProgress: () => {},
    }
  }
}

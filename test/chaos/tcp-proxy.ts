// A TCP proxy that behaves like a network: delays, throttles, cuts at a given byte, forgets
// connections silently. It forwards bytes and never reads them.

import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { ProxyLink, type LinkFaults, type LinkSide } from './proxy-link.js'

export type { CutKind, Direction, LinkFaults } from './proxy-link.js'

/** Called for each new connection before it forwards anything: its faults may be set here. */
export type OnLink = (link: ProxyLink, index: number) => void

/** Listens on a free port of this machine, and forwards to another one. */
export class TcpProxy {
  readonly #server: Server
  readonly #host: string
  readonly #links = new Set<ProxyLink>()
  #targetPort: number
  #onLink: OnLink = () => {}
  #count = 0
  #idleDropMs = Infinity
  #isHole = false
  #isRefusing = false

  private constructor(server: Server, host: string, targetPort: number) {
    this.#server = server
    this.#host = host
    this.#targetPort = targetPort
    server.on('connection', (socket) => this.#onConnection(socket))
  }

  /** A proxy for `tcp://host:port`. */
  static async start(target: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(target)
    const server = createServer({ allowHalfOpen: true, noDelay: true })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, '127.0.0.1', resolve)
    })
    return new TcpProxy(server, hostname, Number(port))
  }

  /** Its own address. */
  get address(): string {
    return `tcp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** The open connections, oldest first. */
  get links(): readonly ProxyLink[] {
    return [...this.#links]
  }

  /** The number of connections so far. */
  get linkCount(): number {
    return this.#count
  }

  /** Calls `onLink` for each connection from now on. */
  onLink(onLink: OnLink): void {
    this.#onLink = onLink
  }

  /** Directs new connections to another port. */
  retarget(address: string): void {
    this.#targetPort = Number(new URL(address).port)
  }

  /** Sets faults of all open connections, in one direction or both. */
  disturb(faults: Partial<LinkFaults>, side?: LinkSide): void {
    for (const link of this.#links) link.disturb(faults, side)
  }

  /** From now on a connection that is idle for this long is forgotten silently. */
  dropIdle(afterMs: number): void {
    this.#idleDropMs = afterMs
    for (const link of this.#links) link.dropIdle(afterMs)
  }

  /** Nothing passes any more, silently; new connections are accepted and send nothing. */
  stop(): void {
    this.#isHole = true
    for (const link of this.#links) link.stop()
  }

  /** Serves new connections again; stopped ones stay stopped. */
  admit(): void {
    this.#isHole = false
  }

  /** New connections are reset immediately, or accepted again. */
  refuse(isRefusing: boolean): void {
    this.#isRefusing = isRefusing
  }

  /** Removes all faults; held bytes continue, unless their connection was forgotten. */
  heal(): void {
    this.#isHole = false
    this.#isRefusing = false
    this.#idleDropMs = Infinity
    for (const link of this.#links) link.heal()
  }

  /** Cuts all connections. */
  cut(how: 'reset' | 'end' = 'reset'): void {
    for (const link of this.#links) link.cut(how)
  }

  /** Cuts everything and stops listening. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.cut()
    await closed
  }

  #onConnection(near: Socket): void {
    if (this.#isRefusing) {
      near.on('error', () => {})
      near.resetAndDestroy()
      return
    }
    const target = { host: this.#host, port: this.#targetPort }
    const link = new ProxyLink(near, target, () => this.#links.delete(link))
    this.#links.add(link)
    link.dropIdle(this.#idleDropMs)
    this.#onLink(link, this.#count)
    this.#count += 1
    if (this.#isHole) link.stop()
    link.start()
  }
}

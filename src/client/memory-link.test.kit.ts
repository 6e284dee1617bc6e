// For tests of the client: a link to a fake scheduler without sockets, which breaks on request, and
// a client on top of it.

import assert from 'node:assert/strict'
import { joinBytes, NO_BYTES } from '../base/bytes.js'
import type { Identity } from '../base/ids.js'
import type { Clock } from '../runtime/driver.js'
import type { ConnectionEnd } from '../transport/end.js'
import type { OutgoingFrame } from '../transport/options.js'
import { decode, encode, type Message } from '../wire/message.js'
import { ClientConnection } from './connection.js'
import { checkClientOptions, type ClientOptions } from './options.js'
import type { ClientSocket, ClientSocketSetup } from './traffic.js'
import { FakeScheduler, type FakeSchedulerOptions } from './fake-scheduler.test.kit.js'
import { Submitter, SubmitterParts } from './submit/submitter.js'
import { changeTaskSettings, defaultTaskSettings, type TaskOptions } from './submit/task-options.js'

/** A clock that is moved by hand. */
export class ManualClock implements Clock {
  #now = 0
  #timers: { readonly at: number; readonly callback: () => void }[] = []

  now(): number {
    return this.#now
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  advance(durationMs: number): void {
    const end = this.#now + durationMs
    for (;;) {
      const [next] = this.#timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)
      if (next === undefined) break
      this.#timers = this.#timers.filter((other) => other !== next)
      this.#now = Math.max(this.#now, next.at)
      next.callback()
    }
    this.#now = end
  }
}

/** How a connection would end that has only begun. */
export const NO_END: ConnectionEnd = {
  kind: 'silent',
  stage: 'connecting',
  reason: '',
  peerType: '',
  peerScheduler: '',
  excerpt: '',
}

/** A link of one client to a scheduler, both in this process. */
export class MemoryLink implements ClientSocket {
  readonly scheduler: FakeScheduler
  isConnected = false
  isRef = true
  isClosed = false
  /** `send` reports that there is no room. */
  isFull = false
  readonly end: ConnectionEnd = NO_END
  readonly #setup: ClientSocketSetup
  #toClient: Buffer[] = []

  constructor(setup: ClientSocketSetup, options: FakeSchedulerOptions) {
    this.#setup = setup
    this.scheduler = new FakeScheduler((to, message) => this.#deliver(to, message), options)
  }

  send(frame: OutgoingFrame): boolean {
    if (!this.isConnected || this.isClosed) return false
    const bytes = frame instanceof Uint8Array ? frame : joinBytes(frame)
    const message = decode(Buffer.from(bytes))
    setImmediate(() => {
      if (this.isConnected) this.scheduler.handle(this.#setup.identity, message)
    })
    return !this.isFull
  }

  ref(): void {
    this.isRef = true
  }

  unref(): void {
    this.isRef = false
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      setImmediate(() => {
        this.isClosed = true
        this.isConnected = false
        resolve()
      })
    })
  }

  /** The handshake is done. */
  connect(): void {
    this.isConnected = true
    this.#setup.handler.onConnect()
  }

  /** The connection is lost, with all messages in transit. */
  lose(reason = 'connection reset'): void {
    this.isConnected = false
    this.#toClient = []
    this.scheduler.onDisconnect(this.#setup.identity)
    this.#setup.handler.onDisconnect(reason)
  }

  failToConnect(reason: string): void {
    this.#setup.handler.onConnectFailed({ ...NO_END, reason })
  }

  /** There is room again. */
  drain(): void {
    this.isFull = false
    this.#setup.handler.onDrain()
  }

  progress(): void {
    this.#setup.handler.onProgress?.()
  }

  /** Passes frames to the client as they are. */
  inject(...frames: Buffer[]): void {
    this.#setup.handler.onMessages(frames)
  }

  /** Like a socket: everything that the scheduler sends in one turn arrives together. */
  #deliver(to: Identity, message: Message): void {
    assert.equal(to, this.#setup.identity)
    if (!this.isConnected) return
    if (this.#toClient.push(Buffer.from(encode(message))) > 1) return
    setImmediate(() => {
      const frames = this.#toClient
      this.#toClient = []
      if (this.isConnected && frames.length > 0) this.#setup.handler.onMessages(frames)
    })
  }
}

/** A client and its parts, for a test. */
export interface TestClient {
  readonly connection: ClientConnection
  readonly submitter: Submitter
  readonly parts: SubmitterParts
  /** Another submitter of the same client, with these options, the later ones on top. */
  readonly with: (...options: readonly TaskOptions[]) => Submitter
  readonly link: MemoryLink
  readonly scheduler: FakeScheduler
}

/** The options of a test's client. */
export interface TestClientOptions extends FakeSchedulerOptions {
  readonly client?: ClientOptions
  readonly clock?: Clock
  /** As for a client inside tasks. */
  readonly worker?: Identity
  /** False: the test connects it. */
  readonly isConnected?: boolean
}

/** A client on a memory link, connected by default. */
export function testClient(options: TestClientOptions = {}): TestClient {
  let link: MemoryLink | undefined
  const { clientCodec: codec } = options
  const connection = new ClientConnection({
    address: 'tcp://127.0.0.1:1',
    settings: checkClientOptions(options.client ?? {}),
    ...(codec === undefined ? {} : { serializer: { codec, content: NO_BYTES, check: () => {} } }),
    openSocket: (setup) => (link = new MemoryLink(setup, options)),
    ...(options.worker === undefined ? {} : { worker: options.worker }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  })
  assert(link !== undefined)
  const made = link
  if (options.isConnected !== false) setImmediate(() => made.connect())
  const parts = new SubmitterParts(connection)
  const settings = defaultTaskSettings(connection.settings.profiling)
  return {
    connection,
    parts,
    submitter: new Submitter(parts, settings),
    with: (...options) =>
      new Submitter(
        parts,
        options.reduce((chosen, given) => changeTaskSettings(chosen, given), settings),
      ),
    link: made,
    scheduler: made.scheduler,
  }
}

/** Waits for a condition, looking again every turn of the event loop. Fails after twenty seconds. */
export async function until(condition: () => boolean, what = 'the condition'): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!condition()) {
    if (performance.now() > deadline) assert.fail(`${what} did not come true within 20 s`)
    await turn()
  }
}

/** One turn of the event loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

// Shared by the transport's tests: handlers that record their calls, peers that speak raw bytes,
// and conditions with a deadline.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Identity } from '#src/base/ids.js'
import { parseAddress } from '#src/transport/address.js'
import { DealerSocket, type DealerHandler } from '#src/transport/dealer.js'
import type { DealerOptions, IncomingMessage, RouterOptions } from '#src/transport/options.js'
import { RouterSocket, type RouterHandler } from '#src/transport/router.js'

/** A condition that is not met by then fails its test. */
const DEADLINE_MS = 20_000

/** The recorded events, in order, and a way to wait for more. */
export class EventLog<E> {
  readonly events: E[] = []
  readonly #waiting = new Set<() => void>()

  add(event: E): void {
    this.events.push(event)
    for (const check of this.#waiting) check()
  }

  /** The number of events for which `predicate` holds. */
  count(predicate: (event: E) => boolean): number {
    return this.events.filter(predicate).length
  }

  /** Resolves once `isDone` holds for all events so far. */
  until(what: string, isDone: (events: readonly E[]) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        if (!isDone(this.events)) return
        this.#waiting.delete(check)
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        this.#waiting.delete(check)
        const tail = JSON.stringify(this.events.slice(-20)).slice(0, 500)
        reject(new Error(`waited in vain until ${what}; the last events: ${tail}`))
      }, DEADLINE_MS)
      this.#waiting.add(check)
      check()
    })
  }
}

/** The events of a router or dealer; messages are shown as text, frames joined by `|`. */
export interface SocketEvent {
  readonly kind:
    | 'connect'
    | 'message'
    | 'disconnect'
    | 'drain'
    | 'progress'
    | 'refused'
    | 'failed'
    /** The end of one `onMessages`. */
    | 'batch'
  readonly peer?: string
  readonly text?: string
}

/** Messages as text: for long ones only the length. */
export function show(message: IncomingMessage): string {
  const frames: readonly Buffer[] = message instanceof Uint8Array ? [message] : message
  const shown = frames.map((frame) => (frame.length > 100 ? `${frame.length} bytes` : `${frame}`))
  return shown.join('|')
}

/** The texts of the messages, or of the events of another kind. */
export function textsOf(
  log: EventLog<SocketEvent>,
  kind: SocketEvent['kind'] = 'message',
): string[] {
  return log.events.filter((event) => event.kind === kind).map((event) => event.text ?? '')
}

export interface TestRouter {
  readonly router: RouterSocket
  readonly log: EventLog<SocketEvent>
}

/**
 * A router that records, echoes messages that begin with `echo`, and is closed with the test.
 * `work` runs for each message.
 */
export async function startRouter(
  t: TestContext,
  options: Partial<RouterOptions> = {},
  address = 'tcp://127.0.0.1:0',
  work: () => void = () => {},
): Promise<TestRouter> {
  const log = new EventLog<SocketEvent>()
  const handler: RouterHandler = {
    onMessages: (peer, messages) => {
      for (const message of messages) {
        work()
        log.add({ kind: 'message', peer, text: show(message) })
        if (show(message).startsWith('echo')) router.send(peer, message)
      }
      log.add({ kind: 'batch', peer })
    },
    onConnect: (peer) => log.add({ kind: 'connect', peer }),
    onDisconnect: (peer, text) => log.add({ kind: 'disconnect', peer, text }),
    onDrain: (peer) => log.add({ kind: 'drain', peer }),
    onProgress: (peer) => log.add({ kind: 'progress', peer }),
    onRefused: (_, text) => log.add({ kind: 'refused', text }),
  }
  const router = await RouterSocket.bind(address, handler, { lingerMs: 200, ...options })
  t.after(() => router.close())
  return { router, log }
}

export interface TestDealer {
  readonly dealer: DealerSocket
  readonly log: EventLog<SocketEvent>
}

/** A dealer that records, and is closed with the test. */
export function startDealer(
  t: TestContext,
  address: string,
  identity: string,
  options: Partial<DealerOptions> = {},
): TestDealer {
  const log = new EventLog<SocketEvent>()
  const handler: DealerHandler = {
    onMessages: (messages) => {
      for (const message of messages) log.add({ kind: 'message', text: show(message) })
      log.add({ kind: 'batch' })
    },
    onConnect: () => log.add({ kind: 'connect' }),
    onDisconnect: (text) => log.add({ kind: 'disconnect', text }),
    onDrain: () => log.add({ kind: 'drain' }),
    onConnectFailed: ({ reason: text }) => log.add({ kind: 'failed', text }),
    onProgress: () => log.add({ kind: 'progress' }),
  }
  const quick = { reconnectMinMs: 5, reconnectMaxMs: 50, lingerMs: 200 }
  const dealer = new DealerSocket(address, identity as Identity, handler, { ...quick, ...options })
  t.after(() => dealer.close())
  return { dealer, log }
}

/** Waits until there are `times` events of `kind`. */
export function told(
  log: EventLog<SocketEvent>,
  kind: SocketEvent['kind'],
  times = 1,
): Promise<void> {
  const enough = (events: readonly SocketEvent[]): boolean =>
    events.filter((event) => event.kind === kind).length >= times
  return log.until(`${kind} was told ${times} times`, enough)
}

/** A peer of raw bytes at the other end of a connection. */
export class RawPeer {
  readonly socket: Socket
  readonly log: EventLog<'data' | 'closed'> = new EventLog()
  #received: Buffer = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.log.add('data')
    })
    socket.on('error', () => {})
    socket.on('close', () => this.log.add('closed'))
  }

  /** All received bytes. */
  get received(): Buffer {
    return this.#received
  }

  /** Waits until `isDone` holds for the received bytes. */
  until(what: string, isDone: (received: Buffer) => boolean): Promise<void> {
    return this.log.until(what, () => isDone(this.#received))
  }

  /** Waits until the connection is closed. */
  closed(): Promise<void> {
    return this.log.until('the connection was closed', (events) => events.includes('closed'))
  }
}

/** Connects to an address as raw bytes; the connection is ended with the test. */
export function rawConnect(t: TestContext, address: string): RawPeer {
  const parsed = parseAddress(address)
  const socket = parsed.kind === 'ipc' ? connect(parsed.path) : connect(parsed.port, parsed.host)
  t.after(() => socket.destroy())
  return new RawPeer(socket)
}

/** Listens for raw bytes on a free port, or on `address`; all is closed with the test. */
export async function rawListen(
  t: TestContext,
  onPeer: (peer: RawPeer) => void,
  address = 'tcp://127.0.0.1:0',
): Promise<{ readonly address: string; readonly server: Server }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    onPeer(new RawPeer(socket))
  })
  const parsed = parseAddress(address)
  await new Promise<void>((resolve) => {
    if (parsed.kind === 'ipc') server.listen(parsed.path, resolve)
    else server.listen(parsed.port, parsed.host, resolve)
  })
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const port = parsed.kind === 'tcp' ? (server.address() as AddressInfo).port : 0
  return { address: parsed.kind === 'ipc' ? address : `tcp://127.0.0.1:${port}`, server }
}

/** The bytes of a greeting: version 3.1, or another minor. */
export function greeting(minor = 1): Buffer {
  const bytes = Buffer.alloc(64)
  bytes.set([0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, minor])
  bytes.write('NULL', 12)
  return bytes
}

/** The bytes of a READY command of fewer than 255 bytes. */
export function ready(type: string, identity = ''): Buffer {
  const property = (name: string, value: string): string =>
    `${String.fromCharCode(name.length)}${name}\0\0\0${String.fromCharCode(value.length)}${value}`
  const text = `\x05READY${property('Socket-Type', type)}${property('Identity', identity)}`
  assert(text.length < 256)
  return Buffer.from(`\x04${String.fromCharCode(text.length)}${text}`, 'latin1')
}

/** The bytes of a message of one frame of fewer than 256 bytes. */
export function short(text: string): Buffer {
  return Buffer.from(`\0${String.fromCharCode(text.length)}${text}`, 'latin1')
}

/** A directory that is removed with the test. */
export function tempDir(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'scaler-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

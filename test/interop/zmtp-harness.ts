// Pairs of one socket of ours and one of libzmq's, so that the same rows can run over each.

import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { identity, type Identity } from '#src/base/ids.js'
import { DealerSocket } from '#src/transport/dealer.js'
import type { ConnectionEnd } from '#src/transport/end.js'
import type { DealerOptions, IncomingMessage } from '#src/transport/options.js'
import { PubSocket } from '#src/transport/pub.js'
import { RouterSocket } from '#src/transport/router.js'
import { SubSocket } from '#src/transport/sub.js'
import { EventLog, tempDir } from '../integration/transport-harness.js'
import { Dealer, Publisher, Router, Subscriber, type Socket } from './libzmq.js'

/** The kind of connection. */
export type Carrier = 'tcp' | 'ipc'

export const CARRIERS: readonly Carrier[] = ['tcp', 'ipc']

/** One message: its frames. */
export type Frames = readonly Buffer[]

/** One end of a pair. */
export interface End {
  /** Resolves when another message may be sent. */
  send(frames: Frames): Promise<void>
  readonly received: EventLog<Frames>
}

/** Two ends that are connected. */
export interface Pair {
  readonly ours: End
  readonly theirs: End
}

export type Side = keyof Pair

/** An address on which a test may listen. */
export function freeAddress(t: TestContext, carrier: Carrier): string {
  return carrier === 'tcp' ? 'tcp://127.0.0.1:0' : `ipc://${join(tempDir(t), 's')}`
}

/** Binds a libzmq socket and returns its address. */
export async function bindTheirs(
  socket: Router | Publisher | Dealer,
  address: string,
): Promise<string> {
  await socket.bind(address.replace(/:0$/, ':*'))
  return socket.lastEndpoint ?? address
}

/** Closes a libzmq socket with the test, so that the process can end. */
export function closing<S extends Socket>(t: TestContext, socket: S): S {
  t.after(() => {
    if (socket.closed) return
    socket.linger = 0
    socket.close()
  })
  return socket
}

/** Collects messages of a libzmq socket, without its first `skipped` frames, until it is closed. */
export function collect(
  socket: AsyncIterable<Buffer[]>,
  skipped = 0,
  log: EventLog<Frames> = new EventLog(),
): EventLog<Frames> {
  const loop = async (): Promise<void> => {
    for await (const frames of socket) log.add(frames.slice(skipped))
  }
  loop().catch((error: unknown) => log.add([Buffer.from(String(error))]))
  return log
}

export function framesOf(message: IncomingMessage): Frames {
  return message instanceof Uint8Array ? [message] : message
}

/** A router of ours that records, and knows its latest peer. */
export class OurRouter implements End {
  readonly received: EventLog<Frames> = new EventLog()
  readonly peers: EventLog<Identity> = new EventLog()
  readonly reasons: EventLog<string> = new EventLog()
  readonly socket: RouterSocket

  private constructor(socket: RouterSocket) {
    this.socket = socket
  }

  static async bind(t: TestContext, address: string): Promise<OurRouter> {
    const handler = {
      onMessages: (_: Identity, messages: readonly IncomingMessage[]) => {
        for (const message of messages) router.received.add(framesOf(message))
      },
      onConnect: (peer: Identity) => router.peers.add(peer),
      onDisconnect: (_: Identity, reason: string) => router.reasons.add(reason),
      onDrain: () => {},
      onProgress: () => {},
    }
    const socket = await RouterSocket.bind(address, handler, { lingerMs: 200 })
    t.after(() => socket.close())
    const router = new OurRouter(socket)
    return router
  }

  async connected(times = 1): Promise<void> {
    await this.peers.until(`${times} peers have connected`, (peers) => peers.length >= times)
  }

  send(frames: Frames): Promise<void> {
    this.socket.sendMultipart(this.peers.events.at(-1) ?? identity(''), frames)
    return Promise.resolve()
  }
}

/** A dealer of ours that records. */
export class OurDealer implements End {
  readonly received: EventLog<Frames> = new EventLog()
  /** `connect`, or the reason of a disconnect or of a failed attempt. */
  readonly states: EventLog<string> = new EventLog()
  readonly socket: DealerSocket

  constructor(t: TestContext, address: string, own: string, more: Partial<DealerOptions> = {}) {
    const handler = {
      onMessages: (messages: readonly IncomingMessage[]) => {
        for (const message of messages) this.received.add(framesOf(message))
      },
      onConnect: () => this.states.add('connect'),
      onDisconnect: (reason: string) => this.states.add(`lost ${reason}`),
      onDrain: () => {},
      onConnectFailed: ({ reason }: ConnectionEnd) => this.states.add(`failed ${reason}`),
    }
    const options = { lingerMs: 200, reconnectMinMs: 5, reconnectMaxMs: 50, ...more }
    this.socket = new DealerSocket(address, identity(own), handler, options)
    t.after(() => this.socket.close())
  }

  async connected(times = 1): Promise<void> {
    const isEnough = (states: readonly string[]): boolean =>
      states.filter((state) => state === 'connect').length >= times
    await this.states.until(`it has connected ${times} times`, isEnough)
  }

  send(frames: Frames): Promise<void> {
    this.socket.sendMultipart(frames)
    return Promise.resolve()
  }
}

/** Our ROUTER, to which their DEALER connects. */
export async function ourRouterTheirDealer(t: TestContext, carrier: Carrier): Promise<Pair> {
  const ours = await OurRouter.bind(t, freeAddress(t, carrier))
  // Unlimited: a stall could be that of their package, which waits for room by an event.
  const dealer = closing(t, new Dealer({ routingId: 'their dealer', sendHighWaterMark: 0 }))
  dealer.connect(ours.socket.address)
  await ours.connected()
  return { ours, theirs: { send: (frames) => dealer.send([...frames]), received: collect(dealer) } }
}

/** Our DEALER, which connects to their ROUTER. */
export async function ourDealerTheirRouter(t: TestContext, carrier: Carrier): Promise<Pair> {
  // Unlimited, as in the engine: at its high water mark a ROUTER of libzmq drops messages.
  const router = closing(t, new Router({ sendHighWaterMark: 0 }))
  const address = await bindTheirs(router, freeAddress(t, carrier))
  const ours = new OurDealer(t, address, 'our dealer')
  const received = collect(router, 1)
  // Only now does their router know the identity.
  await ours.send([Buffer.from('hello')])
  await received.until('the first message came', (messages) => messages.length > 0)
  received.events.length = 0
  return { ours, theirs: { send: (frames) => router.send(['our dealer', ...frames]), received } }
}

/** Our PUB, to which their SUB connects with an empty prefix. Only ours can send. */
export async function ourPubTheirSub(t: TestContext, carrier: Carrier): Promise<Pair> {
  const counts = new EventLog<number>()
  const options = { highWaterMarkBytes: 2 ** 30, lingerMs: 200 }
  const pub = await PubSocket.bind(freeAddress(t, carrier), (count) => counts.add(count), options)
  t.after(() => pub.close())
  const sub = closing(t, new Subscriber())
  sub.subscribe('')
  sub.connect(pub.address)
  await counts.until('they have subscribed', (events) => events.length > 0)
  const send = (frames: Frames): Promise<void> => Promise.resolve(pub.publishMultipart(frames))
  return {
    ours: { send, received: new EventLog() },
    theirs: { send: refuse, received: collect(sub) },
  }
}

/** Our SUB, which connects to their PUB with an empty prefix. Only theirs can send. */
export async function ourSubTheirPub(t: TestContext, carrier: Carrier): Promise<Pair> {
  const pub = closing(t, new Publisher({ sendHighWaterMark: 0 }))
  const address = await bindTheirs(pub, freeAddress(t, carrier))
  const received = new EventLog<Frames>()
  const handler = {
    onMessages: (messages: readonly IncomingMessage[]) => {
      for (const message of messages) received.add(framesOf(message))
    },
    onConnect: () => {},
    onDisconnect: () => {},
    onConnectFailed: () => {},
  }
  const sub = new SubSocket(address, handler, { lingerMs: 200 })
  t.after(() => sub.close())
  sub.subscribe('')
  await untilSubscribed(pub, received)
  return {
    ours: { send: refuse, received },
    theirs: { send: (frames) => pub.send([...frames]), received: new EventLog() },
  }
}

/** Publishes until a message arrives: a libzmq publisher does not report its subscribers. */
export async function untilSubscribed(pub: Publisher, received: EventLog<Frames>): Promise<void> {
  received.events.length = 0
  const isSubscribed = (): boolean => received.events.length > 0
  while (!isSubscribed()) {
    await pub.send('are you there?')
    await new Promise(setImmediate)
  }
  await pub.send('the last of these')
  const isLast = (frames: Frames | undefined): boolean => `${frames?.[0]}` === 'the last of these'
  await received.until('the last of these came', (messages) => isLast(messages.at(-1)))
  received.events.length = 0
}

function refuse(): Promise<void> {
  return Promise.reject(new Error('this end does not send'))
}

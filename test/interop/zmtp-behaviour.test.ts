// Behaviour beyond a table of messages, against libzmq: identities, subscriptions, restarts of
// either side, heartbeats, and the other socket types that may talk to ours.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import type { TestContext } from 'node:test'
import { parseAddress } from '#src/transport/address.js'
import { PubSocket } from '#src/transport/pub.js'
import { SubSocket } from '#src/transport/sub.js'
import { EventLog, rawListen, show } from '../integration/transport-harness.js'
import {
  Dealer,
  libzmqTest,
  Publisher,
  Reply,
  Request,
  Router,
  Subscriber,
  XPublisher,
  XSubscriber,
  type Message,
} from './libzmq.js'
import {
  bindTheirs,
  CARRIERS,
  closing,
  collect,
  freeAddress,
  OurDealer,
  OurRouter,
  untilSubscribed,
  type Frames,
} from './zmtp-harness.js'

const text = (frames: Frames | undefined): string => (frames ?? []).map(String).join('|')

function came(log: EventLog<Frames>, count: number): Promise<void> {
  return log.until(`${count} messages came`, (messages) => messages.length >= count)
}

for (const carrier of CARRIERS) {
  const all = Array.from({ length: 255 }, (_, index) => String.fromCharCode(255 - index)).join('')
  for (const [name, own] of [
    ['of 1 byte', 'x'],
    ['of 255 bytes, all values but 0', all],
    ['of 255 equal bytes', 'ÿ'.repeat(255)],
  ] as const) {
    libzmqTest(`${carrier} | our DEALER, their ROUTER | an identity ${name}`, async (t) => {
      const router = closing(t, new Router())
      const address = await bindTheirs(router, freeAddress(t, carrier))
      const ours = new OurDealer(t, address, own)
      await ours.send([Buffer.from('hello')])
      const [id, hello] = (await router.receive()) as [Message, Message]
      assert.equal(id.toString('latin1'), own)
      assert.equal(hello.toString(), 'hello')
      await router.send([id, 'back'])
      await came(ours.received, 1)
      assert.equal(text(ours.received.events[0]), 'back')
    })
  }

  libzmqTest(
    `${carrier} | our DEALER, their ROUTER | an empty identity: it is given one`,
    async (t) => {
      const router = closing(t, new Router())
      const address = await bindTheirs(router, freeAddress(t, carrier))
      const ours = new OurDealer(t, address, '')
      await ours.send([Buffer.from('hello')])
      const [id] = (await router.receive()) as [Message, Message]
      assert.equal(id.length, 5)
      assert.equal(id[0], 0)
      await router.send([id, 'back'])
      await came(ours.received, 1)
    },
  )

  for (const [name, routingId] of [
    ['of 1 byte', 'y'],
    ['of 255 bytes', 'é'.repeat(127) + 'z'],
    ['with control characters', '1|\u0001\n\u007f|x'],
  ] as const) {
    libzmqTest(`${carrier} | our ROUTER, their DEALER | an identity ${name}`, async (t) => {
      const ours = await OurRouter.bind(t, freeAddress(t, carrier))
      const dealer = closing(t, new Dealer({ routingId }))
      dealer.connect(ours.socket.address)
      await ours.connected()
      assert.equal(ours.peers.events[0], Buffer.from(routingId).toString('latin1'))
      await ours.send([Buffer.from('by name')])
      assert.equal(String((await dealer.receive())[0]), 'by name')
    })
  }

  libzmqTest(
    `${carrier} | our ROUTER, their DEALER | an empty identity: it is given one`,
    async (t) => {
      const ours = await OurRouter.bind(t, freeAddress(t, carrier))
      const dealer = closing(t, new Dealer())
      dealer.connect(ours.socket.address)
      await ours.connected()
      assert.match(ours.peers.events[0] ?? '', /^\0[\0-\xff]{4}$/)
      await ours.send([Buffer.from('by a given name')])
      assert.equal(String((await dealer.receive())[0]), 'by a given name')
    },
  )

  libzmqTest(
    `${carrier} | our ROUTER, their DEALER | their DEALER connects again after our restart`,
    async (t) => {
      const first = await OurRouter.bind(t, freeAddress(t, carrier))
      const dealer = closing(t, new Dealer({ routingId: 'd', reconnectInterval: 10 }))
      const received = collect(dealer)
      const { address } = first.socket
      dealer.connect(address)
      await dealer.send('one')
      await came(first.received, 1)
      await first.socket.close()
      const second = await OurRouter.bind(t, address)
      await second.connected()
      await dealer.send('two')
      await came(second.received, 1)
      assert.equal(text(second.received.events[0]), 'two')
      await second.send([Buffer.from('three')])
      await came(received, 1)
    },
  )

  libzmqTest(
    `${carrier} | our DEALER, their ROUTER | our DEALER connects again after their restart`,
    async (t) => {
      const first = closing(t, new Router())
      const address = await bindTheirs(first, freeAddress(t, carrier))
      const ours = new OurDealer(t, address, 'd')
      await ours.send([Buffer.from('one')])
      assert.equal(text(await first.receive()), 'd|one')
      first.close()
      await ours.states.until('it was lost', (states) =>
        states.some((each) => each.startsWith('lost')),
      )
      await ours.send([Buffer.from('two')])
      const second = closing(t, new Router())
      await bindAgain(second, address)
      assert.equal(text(await second.receive()), 'd|two')
      await second.send(['d', 'three'])
      await came(ours.received, 1)
    },
  )

  libzmqTest(`${carrier} | our ROUTER | a peer that takes over an identity`, async (t) => {
    const ours = await OurRouter.bind(t, freeAddress(t, carrier))
    const options = { routingId: 'same', reconnectInterval: -1 }
    const old = closing(t, new Dealer(options))
    old.connect(ours.socket.address)
    await ours.connected()
    const young = closing(t, new Dealer(options))
    young.connect(ours.socket.address)
    await ours.connected(2)
    assert.deepEqual(ours.reasons.events, ['another connection has taken over the identity'])
    await ours.send([Buffer.from('for the young')])
    assert.equal(text(await young.receive()), 'for the young')
  })

  libzmqTest(`${carrier} | our ROUTER, their REQ | requests with their envelope`, async (t) => {
    const ours = await OurRouter.bind(t, freeAddress(t, carrier))
    const request = closing(t, new Request())
    request.connect(ours.socket.address)
    await request.send('question')
    await came(ours.received, 1)
    assert.deepEqual((ours.received.events[0] ?? []).map(String), ['', 'question'])
    await ours.send([Buffer.alloc(0), Buffer.from('answer')])
    assert.equal(text(await request.receive()), 'answer')
  })

  libzmqTest(`${carrier} | our ROUTER, their ROUTER | both ways`, async (t) => {
    const ours = await OurRouter.bind(t, freeAddress(t, carrier))
    const router = closing(t, new Router({ routingId: 'their router' }))
    router.connect(ours.socket.address)
    await ours.connected()
    assert.equal(ours.peers.events[0], 'their router')
    await ours.send([Buffer.from('hello')])
    const [id, hello] = (await router.receive()) as [Message, Message]
    assert.equal(hello.toString(), 'hello')
    await router.send([id, 'back'])
    await came(ours.received, 1)
  })

  libzmqTest(`${carrier} | our DEALER, their REP | requests with their envelope`, async (t) => {
    const reply = closing(t, new Reply())
    await reply.bind(freeAddress(t, carrier).replace(/:0$/, ':*'))
    const ours = new OurDealer(t, reply.lastEndpoint ?? '', 'd')
    await ours.send([Buffer.alloc(0), Buffer.from('question')])
    assert.equal(text(await reply.receive()), 'question')
    await reply.send('answer')
    await came(ours.received, 1)
    assert.deepEqual((ours.received.events[0] ?? []).map(String), ['', 'answer'])
  })

  libzmqTest(`${carrier} | our DEALER, their DEALER | both ways`, async (t) => {
    const dealer = closing(t, new Dealer())
    const address = await bindTheirs(dealer, freeAddress(t, carrier))
    const ours = new OurDealer(t, address, 'd')
    await ours.send([Buffer.from('hello')])
    assert.equal(text(await dealer.receive()), 'hello')
    await dealer.send('back')
    await came(ours.received, 1)
  })

  for (const make of [(): Subscriber => new Subscriber(), undefined] as const) {
    const type = make === undefined ? 'XSUB' : 'SUB'
    libzmqTest(
      `${carrier} | our PUB, their ${type} | prefixes, and taking them back`,
      async (t) => {
        const counts = new EventLog<number>()
        const pub = await PubSocket.bind(freeAddress(t, carrier), (count) => counts.add(count))
        t.after(() => pub.close())
        const sub = make === undefined ? xSubscriber(t) : subscriber(closing(t, make()))
        sub.socket.connect(pub.address)
        await sub.subscribe('a')
        await counts.until('one subscriber', (events) => events.at(-1) === 1)
        for (const each of ['ab', 'b', 'a']) pub.publish(Buffer.from(each))
        pub.publishMultipart([Buffer.from('a topic'), Buffer.from('body')])
        await came(sub.received, 3)
        assert.deepEqual(sub.received.events.map(text), ['ab', 'a', 'a topic|body'])
        await sub.unsubscribe('a')
        await counts.until('no subscriber', (events) => events.at(-1) === 0)
        pub.publish(Buffer.from('a'))
        await sub.subscribe('b')
        await counts.until('one subscriber', (events) => events.at(-1) === 1)
        pub.publish(Buffer.from('b'))
        await came(sub.received, 4)
        assert.equal(text(sub.received.events[3]), 'b')
      },
    )
  }

  libzmqTest(
    `${carrier} | our SUB, their PUB | prefixes, taking them back, and a restart`,
    async (t) => {
      const first = closing(t, new Publisher({ sendHighWaterMark: 0 }))
      const address = await bindTheirs(first, freeAddress(t, carrier))
      const { sub, received } = ourSub(t, address)
      sub.subscribe('are you')
      sub.subscribe('the last of these')
      await untilSubscribed(first, received)
      for (const each of ['x', 'are you', 'y', 'the last of these']) await first.send(each)
      await came(received, 2)
      assert.deepEqual(received.events.map(text), ['are you', 'the last of these'])
      first.close()
      const second = closing(t, new Publisher({ sendHighWaterMark: 0 }))
      await bindAgain(second, address)
      sub.subscribe('z')
      await untilSubscribed(second, received)
      sub.unsubscribe('z')
      for (const each of ['z', 'x', 'are you']) await second.send(each)
      await came(received, 1)
      assert.deepEqual(received.events.map(text), ['are you'])
    },
  )

  libzmqTest(
    `${carrier} | our SUB, their XPUB | subscriptions are seen, and their end`,
    async (t) => {
      const xpub = closing(t, new XPublisher())
      await xpub.bind(freeAddress(t, carrier).replace(/:0$/, ':*'))
      const { sub } = ourSub(t, xpub.lastEndpoint ?? '')
      sub.subscribe('topic')
      sub.subscribe('')
      assert.equal(text(await xpub.receive()), '\x01topic')
      assert.equal(text(await xpub.receive()), '\x01')
      sub.unsubscribe('topic')
      assert.equal(text(await xpub.receive()), '\x00topic')
    },
  )
}

libzmqTest(
  'tcp | our ROUTER, their DEALER with heartbeats | PINGs are answered, nobody is lost',
  async (t) => {
    const ours = await OurRouter.bind(t, 'tcp://127.0.0.1:0')
    const proxy = await startProxy(t, ours.socket.address)
    const options = { heartbeatInterval: 20, heartbeatTimeout: 5000, heartbeatTimeToLive: 5000 }
    const dealer = closing(t, new Dealer({ routingId: 'd', ...options }))
    dealer.connect(proxy.address)
    await ours.connected()
    await proxy.replies.until('our PONGs', (chunks) => chunks.join('').split('PONG').length > 10)
    await dealer.send('still here')
    await came(ours.received, 1)
    assert.equal(ours.peers.events.length, 1)
  },
)

libzmqTest(
  'tcp | our ROUTER, their DEALER with heartbeats | silence ends the connection',
  async (t) => {
    const ours = await OurRouter.bind(t, 'tcp://127.0.0.1:0')
    const proxy = await startProxy(t, ours.socket.address)
    const options = { heartbeatInterval: 20, heartbeatTimeout: 60_000, heartbeatTimeToLive: 200 }
    const dealer = closing(t, new Dealer({ routingId: 'd', ...options }))
    dealer.connect(proxy.address)
    await proxy.replies.until('our PONGs', (chunks) => chunks.join('').includes('PONG'))
    proxy.freeze()
    await ours.reasons.until('they were lost', (reasons) => reasons.length > 0)
    assert.match(ours.reasons.events[0] ?? '', /silent for its announced time to live of 200 ms/)
  },
)

libzmqTest(
  'tcp | our DEALER with heartbeats, their ROUTER | their PONGs keep it alive',
  async (t) => {
    const router = closing(t, new Router())
    const proxy = await startProxy(t, await bindTheirs(router, 'tcp://127.0.0.1:0'))
    const ours = new OurDealer(t, proxy.address, 'd', {
      pingIntervalMs: 20,
      pingTimeoutMs: 1000,
    })
    await proxy.replies.until('their PONGs', (chunks) => chunks.join('').split('PONG').length > 10)
    assert.deepEqual(ours.states.events, ['connect'])
    proxy.freeze()
    await ours.states.until('they were lost', (states) => states.length > 1)
    assert.equal(ours.states.events[1], 'lost the peer has not answered for 1000 ms')
  },
)

interface TheirSubscriber {
  readonly socket: Subscriber | XSubscriber
  readonly received: EventLog<Frames>
  subscribe(prefix: string): Promise<void>
  unsubscribe(prefix: string): Promise<void>
}

function subscriber(socket: Subscriber): TheirSubscriber {
  return {
    socket,
    received: collect(socket),
    subscribe: (prefix) => Promise.resolve(socket.subscribe(prefix)),
    unsubscribe: (prefix) => Promise.resolve(socket.unsubscribe(prefix)),
  }
}

function xSubscriber(t: TestContext): TheirSubscriber {
  const socket = closing(t, new XSubscriber())
  return {
    socket,
    received: collect(socket),
    subscribe: (prefix) => socket.send(`\x01${prefix}`),
    unsubscribe: (prefix) => socket.send(`\x00${prefix}`),
  }
}

function ourSub(
  t: TestContext,
  address: string,
): { readonly sub: SubSocket; readonly received: EventLog<Frames> } {
  const received = new EventLog<Frames>()
  const handler = {
    onMessages: (messages: readonly (Buffer | readonly Buffer[])[]) => {
      for (const message of messages) received.add([Buffer.from(show(message))])
    },
    onConnect: () => {},
    onDisconnect: () => {},
    onConnectFailed: () => {},
  }
  const options = { reconnectMinMs: 5, reconnectMaxMs: 50, lingerMs: 200 }
  const sub = new SubSocket(address, handler, options)
  t.after(() => sub.close())
  return { sub, received }
}

/** Binds the address of a closed libzmq socket; its thread may not have released it yet. */
async function bindAgain(socket: Router | Publisher, address: string): Promise<void> {
  const deadline = Date.now() + 10_000
  for (;;) {
    try {
      return await socket.bind(address)
    } catch (error) {
      if (Date.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

/** Passes bytes on until it is frozen, and shows those that come back. */
async function startProxy(
  t: TestContext,
  target: string,
): Promise<{
  readonly address: string
  readonly replies: EventLog<string>
  readonly freeze: () => void
}> {
  const parsed = parseAddress(target)
  assert(parsed.kind === 'tcp')
  const replies = new EventLog<string>()
  let isFrozen = false
  const { address } = await rawListen(t, ({ socket }) => {
    const upstream = connect(parsed.port, parsed.host)
    t.after(() => upstream.destroy())
    upstream.on('error', () => {})
    socket.on('data', (chunk) => isFrozen || upstream.write(chunk))
    upstream.on('data', (chunk) => {
      if (isFrozen) return
      replies.add(chunk.toString('latin1'))
      socket.write(chunk)
    })
    upstream.on('close', () => isFrozen || socket.destroy())
    socket.on('close', () => upstream.destroy())
  })
  const freeze = (): void => {
    isFrozen = true
  }
  return { address, replies, freeze }
}

// The scheduler's shell over real sockets: surviving, refusing, publishing, and cleaning up.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, taskId, type Identity } from '#src/base/ids.js'
import type { Logger } from '#src/base/logger.js'
import { Scheduler } from '#src/scheduler/scheduler.js'
import { DealerSocket } from '#src/transport/dealer.js'
import { SubSocket } from '#src/transport/sub.js'
import { decode, encode, type Message, PLAIN_TASK } from '#src/wire/message.js'
import { until } from './condition.js'

const IDLE = { cpu: 0, rss: 0 }
const heartbeat: Message = {
  kind: 'clientHeartbeat',
  resource: IDLE,
  latencyUS: 0,
  features: 0,
  runtime: '',
  worker: identity(''),
  wantsReport: false,
  wantsPeers: false,
  info: [],
}

/** A peer controlled by the test. */
class Peer {
  readonly received: Message[] = []
  readonly socket: DealerSocket

  constructor(address: string, name: Identity) {
    this.socket = new DealerSocket(address, name, {
      onMessages: (messages) => {
        for (const frame of messages) this.received.push(decode(frame as Buffer))
      },
      onConnect: () => {},
      onDisconnect: () => {},
      onConnectFailed: () => {},
      onDrain: () => {},
    })
  }

  async gets(kind: Message['kind'], count = 1): Promise<void> {
    const seen = (): number => this.received.filter((message) => message.kind === kind).length
    await until(`${count} ${kind}`, () => seen() >= count)
  }
}

/** Collects warnings. */
function collector(): { readonly logger: Logger; readonly lines: string[] } {
  const lines: string[] = []
  const add = (text: string): void => void lines.push(text)
  return { lines, logger: { debug: () => {}, info: () => {}, warn: add, error: add } }
}

test('a scheduler describes itself to a client on request', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const peer = new Peer(scheduler.address, identity('1|Client|a'))
  try {
    const before = Date.now()
    peer.socket.send(encode({ ...heartbeat, features: 1, wantsReport: true }))
    await peer.gets('clientHeartbeatEcho')
    const [echo] = peer.received
    assert(echo?.kind === 'clientHeartbeatEcho')
    const [report, ...others] = echo.reports
    assert(report !== undefined && others.length === 0)
    const { version, runtime, clockMS, monitorAddress, workers } = report
    assert.deepEqual(
      { runtime, monitorAddress, workers },
      {
        runtime: `node/${process.versions.node}`,
        monitorAddress: scheduler.monitorAddress,
        workers: 0,
      },
    )
    assert.match(version, /^\d+\.\d+\.\d+/)
    assert(clockMS >= before && clockMS <= Date.now())
    peer.socket.send(encode({ ...heartbeat, features: 1 }))
    await peer.gets('clientHeartbeatEcho', 2)
    assert.deepEqual((peer.received[1] as typeof echo).reports, [])
  } finally {
    await peer.socket.close()
  }
})

test('a scheduler drops unreadable messages, logs it, and continues', async () => {
  const { logger, lines } = collector()
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0', logger })
  const peer = new Peer(scheduler.address, identity('1|Client|a'))
  try {
    const good = encode(heartbeat)
    const bad: Uint8Array[] = [new Uint8Array(0), new Uint8Array(7), good.subarray(0, 16)]
    for (let length = 8; length < good.length; length += 8) bad.push(good.subarray(0, length))
    const unknownMember = Buffer.from(good)
    unknownMember.writeUInt16LE(999, 16)
    bad.push(unknownMember)
    for (const bytes of bad) peer.socket.send(Buffer.from(bytes))
    peer.socket.send(good)
    await peer.gets('clientHeartbeatEcho')
    assert.ok(lines.some((line) => line === 'dropped a malformed message'))
  } finally {
    await peer.socket.close()
  }
})

test('unreadable messages of many peers are one line', async () => {
  const { logger, lines } = collector()
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0', logger })
  const names = Array.from({ length: 20 }, (_, index) => identity(`${index}|Client|a`))
  const peers = names.map((name) => new Peer(scheduler.address, name))
  try {
    for (const { socket } of peers) {
      for (let count = 0; count < 10; count += 1) socket.send(Buffer.alloc(7))
      socket.send(encode(heartbeat))
    }
    // They are still served.
    for (const peer of peers) await peer.gets('clientHeartbeatEcho')
    assert.deepEqual(lines, ['dropped a malformed message'])
  } finally {
    for (const { socket } of peers) await socket.close()
  }
})

test('a peer that closes in the middle of its work does not stop the scheduler', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  for (let round = 0; round < 20; round += 1) {
    const peer = new Peer(scheduler.address, identity(`${round}|Client|x`))
    peer.socket.send(encode(heartbeat))
    await peer.gets('clientHeartbeatEcho')
    await peer.socket.close()
  }
  const last = new Peer(scheduler.address, identity('99|Client|x'))
  last.socket.send(encode(heartbeat))
  await last.gets('clientHeartbeatEcho')
  await last.socket.close()
})

test('monitors receive the state of everything every second and each step of a task', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const seen: Message[] = []
  const monitor = new SubSocket(scheduler.monitorAddress, {
    onMessages: (messages) => {
      for (const frame of messages) seen.push(decode(frame as Buffer))
    },
    onConnect: () => {},
    onDisconnect: () => {},
    onConnectFailed: () => {},
  })
  monitor.subscribe('')
  const client = new Peer(scheduler.address, identity('1|Client|a'))
  try {
    await until('a StateScheduler', () => seen.some(({ kind }) => kind === 'stateScheduler'))
    client.socket.send(encode(heartbeat))
    client.socket.send(
      encode({
        kind: 'task',
        taskId: taskId('0123456789abcdef'),
        source: identity('1|Client|a'),
        metadata: new Uint8Array(0),
        funcObjectId: '' as never,
        functionArgs: [],
        ...PLAIN_TASK,
      }),
    )
    await until('a StateTask', () =>
      seen.some((message) => message.kind === 'stateTask' && message.status === 'inactive'),
    )
    await until('a busy client', () =>
      seen.some(
        (message) =>
          message.kind === 'stateScheduler' &&
          message.taskManager.unassigned === 1 &&
          message.scheduler.rss > 0 &&
          message.clientManager.clientToNumOfTask.length === 1,
      ),
    )
  } finally {
    await monitor.close()
    await client.socket.close()
  }
})

test('a port in use is refused with the system’s code, and nothing is left', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address, monitorAddress } = scheduler
  await assert.rejects(Scheduler.start({ address }), { code: 'EADDRINUSE' })
  await assert.rejects(Scheduler.start({ address: 'tcp://127.0.0.1:0', monitorAddress }), {
    code: 'EADDRINUSE',
  })
})

test('the last two ports leave no port for monitors, and the error says so', async () => {
  for (const port of [65_534, 65_535]) {
    const address = `tcp://127.0.0.1:${port}`
    await assert.rejects(Scheduler.start({ address }), {
      code: 'ERR_SCALER_CONFIG',
      message: /^option monitorAddress: there is no port for monitors two ports above tcp:/,
    })
  }
})

test('a closed scheduler frees its ports and reports its end', async () => {
  const first = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address, monitorAddress } = first
  await Promise.all([first.close(), first.close()])
  assert.deepEqual(await first.ended, { reason: 'closed', isFailure: false })
  const second = await Scheduler.start({ address, monitorAddress })
  assert.equal(second.address, address)
  await second.close()
})

test('a bad option is refused by name', async () => {
  const bad: readonly (readonly [string, unknown])[] = [
    ['clientTimeoutMs', 0],
    ['workerTimeoutMs', 'soon'],
    ['workerSilenceMs', 99],
    ['loadBalanceMs', -1],
    ['loadBalanceMs', 0.5],
    ['perWorkerQueueSize', 0],
    ['maxNumberOfTasksWaiting', -2],
    ['protected', 'yes'],
    ['maxMessageBytes', 10],
    ['maxQueuedBytes', 2 ** 60],
  ]
  for (const [name, value] of bad) {
    await assert.rejects(Scheduler.start({ address: 'tcp://127.0.0.1:0', [name]: value }), {
      code: 'ERR_SCALER_CONFIG',
      message: new RegExp(`^option ${name}: `),
    })
  }
  await assert.rejects(
    Scheduler.start({ address: 'tcp://127.0.0.1:0', ['moniterAddress' as string]: '' }),
    {
      code: 'ERR_SCALER_CONFIG',
      message: 'unknown scheduler option moniterAddress; is it monitorAddress?',
    },
  )
  for (const address of ['', 'tcp://', 'tcp://127.0.0.1', 'http://127.0.0.1:1', 'tcp://a:99999']) {
    await assert.rejects(Scheduler.start({ address }), { code: 'ERR_SCALER_CONFIG' })
  }
})

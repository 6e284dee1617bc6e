import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { Heartbeat, Rounds } from './heartbeat.js'

const NOTHING_SENT = { bytesWritten: 0, writableLength: 0 }

/** Two ends of a connection. */
async function socketPair(t: TestContext): Promise<readonly [Socket, Socket]> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const near = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [far] = (await once(server, 'connection')) as [Socket]
  t.after(() => {
    near.destroy()
    far.destroy()
    server.close()
  })
  return [near, far]
}

function compute(durationMs: number): void {
  const end = performance.now() + durationMs
  while (performance.now() < end);
}

/** A heartbeat; resolves with its first action after a PING, during which `onPing` ran. */
function afterPing(t: TestContext, near: Socket, onPing: () => void): Promise<string> {
  return new Promise((resolve) => {
    let pings = 0
    const heartbeat = new Heartbeat({
      options: { pingIntervalMs: 50, pingTimeoutMs: 60 },
      rounds: new Rounds(50),
      socket: NOTHING_SENT,
      ping: () => {
        pings += 1
        // After the timers and the reading of this turn: the timers of the next one come first.
        if (pings === 1) setImmediate(onPing)
        else resolve('asked again')
      },
      giveUp: resolve,
    })
    near.on('data', () => heartbeat.heard())
    heartbeat.start()
    t.after(() => heartbeat.stop())
  })
}

test('data received while the process was busy is read before the peer is given up', async (t) => {
  const [near, far] = await socketPair(t)
  const next = await afterPing(t, near, () => {
    // It is in the system's buffers before the time is up, and stays unread until then.
    far.write('x')
    compute(90)
  })
  assert.equal(next, 'asked again')
})

test('a time to live that passed while the process was busy is checked again', async (t) => {
  const [near, far] = await socketPair(t)
  const reasons: string[] = []
  const heartbeat = new Heartbeat({
    options: { pingIntervalMs: 0, pingTimeoutMs: 0 },
    rounds: new Rounds(0),
    socket: NOTHING_SENT,
    ping: () => {},
    giveUp: (reason) => reasons.push(reason),
  })
  t.after(() => heartbeat.stop())
  near.on('data', () => heartbeat.heard())
  heartbeat.onPing(30)
  far.write('x')
  compute(60)
  await once(near, 'data')
  await new Promise(setImmediate)
  assert.deepEqual(reasons, [])
})

test('many members are called in turn, each once per interval, few in one turn', async () => {
  const rounds = new Rounds(64)
  const calls: number[] = Array.from({ length: 1_000 }, () => 0)
  let [inTurn, most] = [0, 0]
  const members = calls.map((_, index) => () => {
    calls[index] = (calls[index] ?? 0) + 1
    if (inTurn === 0) setImmediate(() => (inTurn = 0))
    inTurn += 1
    most = Math.max(most, inTurn)
  })
  for (const member of members) rounds.add(member)
  while (Math.min(...calls) < 3) await new Promise(setImmediate)
  for (const member of members) rounds.remove(member)
  assert.ok(most <= 40, `${most} in one turn`)
  assert.ok(Math.max(...calls) - Math.min(...calls) <= 1, 'none is called twice as often')
})

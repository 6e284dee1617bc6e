import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identity, schedulerId } from '../../base/ids.js'
import { parseConnectAddress } from '../../transport/address.js'
import { encodeError, encodeReady } from '../../transport/zmtp/commands.js'
import { encodeGreeting, type Inbox, ZmtpSession } from '../../transport/zmtp/session.js'
import {
  type ClientHeartbeat,
  decode,
  encode,
  type Message,
  PLAIN_CLIENT_HEARTBEAT,
  PLAIN_REPORT,
  type SchedulerReport,
} from '../../wire/message.js'
import type { ConnectFinding } from './finding.js'
import { ConnectInquiry, type InquiryEvent } from './inquiry.js'

const REMOTE = '127.0.0.1 port 2345'
const GREETING = encodeGreeting()
const HEARTBEAT: ClientHeartbeat = {
  kind: 'clientHeartbeat',
  resource: { cpu: 0, rss: 0 },
  latencyUS: 0,
  features: 1,
  runtime: 'node/1',
  ...PLAIN_CLIENT_HEARTBEAT,
  wantsReport: true,
}

/** An inquiry, and what came out of it. */
class Fixture {
  readonly inquiry: ConnectInquiry
  written: Buffer = Buffer.alloc(0)
  readonly concluded: ConnectFinding[] = []

  constructor(heartbeats = 2, address = 'tcp://localhost:2345') {
    this.inquiry = new ConnectInquiry({
      address: parseConnectAddress(address),
      identity: identity('1|Client|2'),
      heartbeats,
      heartbeat: HEARTBEAT,
      wantsPeers: true,
    })
  }

  tell(event: InquiryEvent, now = 0): this {
    this.inquiry.handle(event, now, (action) => {
      if (action.type === 'write') this.written = Buffer.concat([this.written, action.bytes])
      else this.concluded.push(action.finding)
    })
    return this
  }

  connect(): this {
    return this.tell({ type: 'connected', remote: REMOTE })
  }

  receive(bytes: Buffer, now = 0): this {
    return this.tell({ type: 'received', bytes }, now)
  }

  /** The only conclusion. */
  get finding(): ConnectFinding | undefined {
    assert.ok(this.concluded.length <= 1, 'it concludes once')
    return this.concluded[0]
  }

  /** What a ROUTER would understand of what was written. */
  get messages(): readonly Message[] {
    const session = new ZmtpSession(
      { type: 'ROUTER', identity: identity('') },
      { maxFrameBytes: 10_000, maxFramesPerMessage: 1 },
    )
    const inbox: Inbox = { messages: [], commands: [] }
    session.feed(this.written, inbox)
    assert.equal(session.peer?.identity, '1|Client|2')
    return inbox.messages.map((frame) => decode(frame as Buffer))
  }
}

function frame(bytes: Uint8Array, flags = 0): Buffer {
  return Buffer.concat([Buffer.from([flags, bytes.length]), bytes])
}

function echo(id: string, reports: readonly SchedulerReport[] = []): Buffer {
  const features = id === '' ? 0 : 15
  return frame(
    encode({
      kind: 'clientHeartbeatEcho',
      schedulerId: schedulerId(id),
      features,
      reports,
      waiting: [],
    }),
  )
}

function report(clockMS: number): SchedulerReport {
  return {
    version: '1.2.3',
    runtime: 'node/20.20.2',
    clockMS,
    monitorAddress: 'tcp://0.0.0.0:2347',
    workers: 3,
    suitable: 2,
    idle: 1,
    ...PLAIN_REPORT,
  }
}

const ROUTER = Buffer.concat([GREETING, encodeReady({ 'Socket-Type': 'ROUTER', Identity: '' })])

const FAILURES: readonly (readonly [string, string, ConnectFinding])[] = [
  ['ENOTFOUND', 'tcp', { kind: 'nameNotFound', host: 'localhost', isTemporary: false }],
  ['EAI_AGAIN', 'tcp', { kind: 'nameNotFound', host: 'localhost', isTemporary: true }],
  ['ECONNREFUSED', 'tcp', { kind: 'refused', remote: 'localhost port 2345' }],
  ['ETIMEDOUT', 'tcp', { kind: 'noAnswer', remote: 'localhost port 2345' }],
  ['EHOSTUNREACH', 'tcp', { kind: 'unreachable', reason: 'why' }],
  ['EACCES', 'tcp', { kind: 'unreachable', reason: 'why' }],
  ['ENOENT', 'ipc', { kind: 'noSocketFile', path: '/a/b' }],
  ['EACCES', 'ipc', { kind: 'noPermission', path: '/a/b' }],
  ['ECONNREFUSED', 'ipc', { kind: 'refused', remote: '/a/b' }],
]

for (const [code, kind, expected] of FAILURES) {
  test(`${code} of the system over ${kind} is ${expected.kind}`, () => {
    const fixture = new Fixture(0, kind === 'ipc' ? 'ipc:///a/b' : undefined)
    fixture.tell({ type: 'failed', code, reason: 'why' })
    assert.deepEqual(fixture.finding, expected)
    fixture.tell({ type: 'ended' })
    assert.equal(fixture.concluded.length, 1, 'what follows does not count')
  })
}

test('a refusal names the addresses that were tried', () => {
  const fixture = new Fixture()
  for (const remote of ['::1 port 2345', REMOTE]) fixture.tell({ type: 'attempted', remote })
  fixture.tell({ type: 'failed', code: 'ECONNREFUSED', reason: 'why' })
  assert.deepEqual(fixture.finding, { kind: 'refused', remote: `::1 port 2345, ${REMOTE}` })
})

test('a host that says nothing is told from one that only takes the connection', () => {
  const far = new Fixture().tell({ type: 'attempted', remote: REMOTE }).tell({ type: 'expired' })
  assert.deepEqual(far.finding, { kind: 'noAnswer', remote: REMOTE })
  const mute = new Fixture().connect().tell({ type: 'expired' })
  assert.deepEqual(mute.finding, { kind: 'silent', remote: REMOTE })
  const half = new Fixture().connect().receive(GREETING).tell({ type: 'expired' })
  assert.deepEqual(half.finding, { kind: 'halfHandshake', remote: REMOTE })
})

test('a peer that closes is told, with the error if there was one', () => {
  const closed = new Fixture().connect().tell({ type: 'ended' })
  assert.deepEqual(closed.finding, { kind: 'closed', remote: REMOTE, reason: '' })
  const reset = new Fixture().connect()
  reset.tell({ type: 'failed', code: 'ECONNRESET', reason: 'read ECONNRESET' })
  assert.deepEqual(reset.finding, { kind: 'closed', remote: REMOTE, reason: 'ECONNRESET' })
})

test('what is not ZeroMQ is shown', () => {
  const fixture = new Fixture().connect().receive(Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const excerpt = '"HTTP/1.1 400 Bad Request"'
  assert.deepEqual(fixture.finding, { kind: 'foreign', protocol: 'HTTP', excerpt })
  assert.deepEqual(fixture.written, GREETING, 'it hears nothing but our greeting')
})

test('an old version and another mechanism are told as soon as they are seen', () => {
  const old = new Fixture().connect().receive(Buffer.from('ff00000000000000017f01', 'hex'))
  assert.deepEqual(old.finding, { kind: 'oldZmtp', major: 1 })
  const curve = Buffer.from(GREETING)
  curve.write('CURVE\0', 12, 'latin1')
  const secure = new Fixture().connect().receive(curve.subarray(0, 32))
  assert.deepEqual(secure.finding, { kind: 'mechanism', name: 'CURVE' })
})

test('another kind of socket is told with its kind', () => {
  for (const [type, kind] of [
    ['PUB', 'wrongSocket'],
    ['REP', 'wrongSocket'],
    ['', 'brokenHandshake'],
  ] as const) {
    const fixture = new Fixture().connect()
    fixture.receive(Buffer.concat([GREETING, encodeReady({ 'Socket-Type': type })]))
    assert.equal(fixture.finding?.kind, kind)
  }
})

test('a peer that refuses us is told with its reason', () => {
  const fixture = new Fixture().connect().receive(GREETING).receive(encodeError('go away'))
  assert.deepEqual(fixture.finding, {
    kind: 'brokenHandshake',
    reason: 'the peer refuses: go away',
  })
})

test('without heartbeats the right kind of socket is all that is looked for', () => {
  const fixture = new Fixture(0).connect().receive(ROUTER)
  assert.deepEqual(fixture.finding, { kind: 'router', remote: REMOTE, wasAsked: false })
  assert.deepEqual(fixture.messages, [])
})

test('a scheduler answers each heartbeat, and is told good-bye', () => {
  const fixture = new Fixture(2).connect().receive(ROUTER, 10)
  fixture.receive(echo('id', [report(1)]), 14)
  assert.equal(fixture.finding, undefined)
  fixture.receive(echo('id', [report(2)]), 15)
  assert.deepEqual(fixture.finding, {
    kind: 'scheduler',
    answer: {
      remote: REMOTE,
      schedulerId: 'id',
      features: 15,
      roundTripsMs: [4, 1],
      // That of the quickest answer.
      report: { report: report(2), at: 14.5, roundTripMs: 1 },
      last: report(2),
    },
  })
  const [first, second, last] = fixture.messages
  assert.deepEqual(
    [first?.kind, second?.kind, last?.kind],
    ['clientHeartbeat', 'clientHeartbeat', 'clientDisconnect'],
  )
  assert.ok(first?.kind === 'clientHeartbeat' && second?.kind === 'clientHeartbeat')
  assert.deepEqual([first.wantsPeers, second.wantsPeers], [false, true], 'peers are told once')
})

test('a 1.9.9 scheduler has no id and no report', () => {
  const fixture = new Fixture(1).connect().receive(ROUTER).receive(echo(''))
  assert.ok(fixture.finding?.kind === 'scheduler')
  assert.equal(fixture.finding.answer.schedulerId, '')
  assert.equal(fixture.finding.answer.report, undefined)
})

test('a scheduler that answers only once within the time has answered', () => {
  const fixture = new Fixture(3).connect().receive(ROUTER).receive(echo('id'), 5)
  fixture.tell({ type: 'expired' })
  assert.ok(fixture.finding?.kind === 'scheduler')
  assert.deepEqual(fixture.finding.answer.roundTripsMs, [5])
})

test('a ROUTER that does not answer a heartbeat is told', () => {
  const fixture = new Fixture(1).connect().receive(ROUTER).tell({ type: 'expired' })
  assert.deepEqual(fixture.finding, { kind: 'router', remote: REMOTE, wasAsked: true })
})

test('a ROUTER that answers something else is no scheduler', () => {
  const task = encode({ kind: 'clientShutdownResponse', accepted: true })
  for (const [answer, reason] of [
    [frame(task), 'a clientShutdownResponse message where an echo was due'],
    [frame(Buffer.from('hello')), /./],
    [Buffer.concat([frame(task, 1), frame(task)]), 'a message of several frames'],
  ] as const) {
    const fixture = new Fixture(1).connect().receive(ROUTER).receive(answer)
    assert.ok(fixture.finding?.kind === 'notScaler')
    if (typeof reason === 'string') assert.equal(fixture.finding.reason, reason)
    else assert.match(fixture.finding.reason, reason)
  }
})

test('the answers of a scheduler may come in pieces of any size', () => {
  const bytes = Buffer.concat([ROUTER, echo('id', [report(1)])])
  for (const size of [1, 7, 64, bytes.length]) {
    const fixture = new Fixture(1).connect()
    for (let at = 0; at < bytes.length; at += size) fixture.receive(bytes.subarray(at, at + size))
    assert.equal(fixture.finding?.kind, 'scheduler', `in pieces of ${size} bytes`)
  }
})

test('whatever comes, nothing is thrown and there is one conclusion', () => {
  let seed = 1
  const random = (): number => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647
  const parts = [ROUTER, GREETING, echo('id'), encodeError('x'), frame(Buffer.alloc(9)), HTTP]
  for (let round = 0; round < 2_000; round++) {
    const fixture = new Fixture(2).connect()
    for (let count = 0; count < 4; count++) {
      const bytes = Buffer.from(parts[Math.floor(random() * parts.length)] ?? HTTP)
      if (random() < 0.7) bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256)
      fixture.receive(bytes.subarray(0, 1 + Math.floor(random() * bytes.length)))
    }
    fixture.tell({ type: 'expired' })
    assert.equal(fixture.concluded.length, 1)
  }
})

const HTTP = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')

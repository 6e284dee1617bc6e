import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatAddress, parseConnectAddress } from '../../transport/address.js'
import { NO_END } from '../memory-link.test.kit.js'
import {
  describe,
  isFinal,
  monitorBeside,
  type NoScheduler,
  publishingScheduler,
  schedulerBeside,
} from './no-scheduler.js'

const ADDRESS = 'tcp://127.0.0.1:2345'
/** The finding, what its text must contain, and whether waiting is useless. */
const FINDINGS: readonly (readonly [NoScheduler, RegExp, boolean])[] = [
  [{ ...NO_END, kind: 'unresolved', reason: 'the host name h does not' }, /host name h/, false],
  [
    { ...NO_END, kind: 'refused' },
    /refused: nothing is listening at 127.0.0.1 port 2345; is/,
    false,
  ],
  [{ ...NO_END, kind: 'unreachable', reason: 'EX' }, /^host unreachable: EX$/, false],
  [NO_END, /^no answer from 127.0.0.1 port 2345 within 1.5 s; .*firewall/, false],
  [{ ...NO_END, stage: 'connected' }, /port 2345 accepts .* sent nothing within 1.5 s/, false],
  [{ ...NO_END, stage: 'greeted' }, /has not finished the handshake within 1.5 s/, false],
  [{ ...NO_END, stage: 'ready' }, /has not answered as a scheduler within 1.5 s/, false],
  [{ ...NO_END, kind: 'closed' }, /port 2345 closed the connection during the handshake/, false],
  [{ ...NO_END, kind: 'lost', stage: 'ready' }, /closed the connection \(no reason/, false],
  [{ ...NO_END, kind: 'notZmtp', excerpt: '"HTTP/1.1"' }, /it sent "HTTP\/1.1"; is this/, true],
  [{ ...NO_END, kind: 'incompatible', reason: 'why' }, /handshake failed: why/, true],
  [{ ...NO_END, kind: 'broken', reason: 'why' }, /handshake failed: why/, false],
  [{ ...NO_END, kind: 'wrongSocket', peerType: 'PUB' }, /likely tcp:\/\/127.0.0.1:2343/, true],
  [{ ...NO_END, kind: 'wrongSocket', peerType: 'REP' }, /a ZeroMQ REP socket answers/, true],
  [{ ...NO_END, kind: 'wrongSocket', peerType: '\n' }, /a ZeroMQ "\\n" socket answers/, true],
  [{ kind: 'notScheduler', reason: 'why' }, /scheduler protocol: why; .*version other/, true],
]

function textOf(finding: NoScheduler, address: string): string {
  const { what, advice } = describe(finding, parseConnectAddress(address), 1_500)
  return advice === '' ? what : `${what}; ${advice}`
}

for (const [finding, expected, isOver] of FINDINGS) {
  test(`a finding is described in one line: ${finding.kind}, ${expected.source}`, () => {
    const text = textOf(finding, ADDRESS)
    assert.match(text, expected)
    assert.doesNotMatch(text, /\n|undefined|\.$/)
    assert.equal(isFinal(finding), isOver)
  })
}

test('a socket file is named by its path', () => {
  const reason = 'there is no socket file /a/b (connect ENOENT /a/b)'
  const text = textOf({ ...NO_END, kind: 'unreachable', reason }, 'ipc:///a/b')
  assert.equal(text, `${reason}; is the scheduler running on this machine?`)
  const refused = textOf({ ...NO_END, kind: 'refused' }, 'ipc:///a/b')
  assert.match(refused, /nothing is listening at \/a\/b; is the scheduler running\?$/)
})

test('the scheduler and its monitors are two ports apart', () => {
  const both = [
    ['tcp://h:2345', 'tcp://h:2347'],
    ['ipc:///a/b', 'ipc:///a/b.monitor'],
  ] as const
  for (const [scheduler, monitor] of both) {
    const beside = monitorBeside(parseConnectAddress(scheduler))
    assert.equal(beside && formatAddress(beside), monitor)
    const back = schedulerBeside(parseConnectAddress(monitor))
    assert.equal(back && formatAddress(back), scheduler)
  }
  assert.equal(monitorBeside(parseConnectAddress('tcp://h:65534')), undefined)
  assert.equal(schedulerBeside(parseConnectAddress('tcp://h:2')), undefined)
  assert.equal(schedulerBeside(parseConnectAddress('ipc:///a/b')), undefined)
})

test('a publisher names its scheduler, as it is seen from here; what makes no sense is ignored', () => {
  const at = parseConnectAddress('tcp://far:2350')
  const of = (peerScheduler: string, peerType = 'PUB'): string | undefined => {
    const found = publishingScheduler(
      { ...NO_END, kind: 'wrongSocket', peerType, peerScheduler },
      at,
    )
    return found && formatAddress(found)
  }
  assert.equal(of('tcp://0.0.0.0:99'), 'tcp://far:99')
  assert.equal(of('tcp://127.0.0.1:99'), 'tcp://far:99')
  assert.equal(of('tcp://10.0.0.1:99'), 'tcp://10.0.0.1:99')
  assert.equal(of(''), 'tcp://far:2348')
  for (const nonsense of ['\0', 'http://a/b', 'tcp://*:*', 'tcp://a:99999']) {
    assert.equal(of(nonsense), undefined)
  }
  assert.equal(of('tcp://0.0.0.0:99', 'REP'), undefined)
  const finding = { ...NO_END, kind: 'wrongSocket', peerType: 'PUB' } as const
  const { advice } = describe({ ...finding, peerScheduler: 'tcp://*:99' }, at, 1_000)
  assert.equal(advice, 'use the address of the scheduler, tcp://far:99')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { schedulerId } from '../../base/ids.js'
import { formatAddress, parseConnectAddress } from '../../transport/address.js'
import {
  describeFinding,
  isFinal,
  monitorBeside,
  schedulerBeside,
  type ConnectFinding,
} from './finding.js'

const REMOTE = '127.0.0.1 port 2345'
const ADDRESS = parseConnectAddress('tcp://127.0.0.1:2345')

/** Of each kind one, with what has to be in the text, and whether waiting is in vain. */
const FINDINGS: readonly (readonly [ConnectFinding, RegExp, boolean])[] = [
  [{ kind: 'nameNotFound', host: 'h', isTemporary: false }, /name h is not known/, false],
  [{ kind: 'nameNotFound', host: 'h', isTemporary: true }, /name server/, false],
  [{ kind: 'refused', remote: REMOTE }, /refused: nothing listens at 127.0.0.1 port 2345/, false],
  [{ kind: 'unreachable', reason: 'connect EHOSTUNREACH' }, /EHOSTUNREACH/, false],
  [{ kind: 'noSocketFile', path: '/a/b' }, /no socket file \/a\/b/, false],
  [{ kind: 'noPermission', path: '/a/b' }, /\/a\/b may not be opened/, false],
  [{ kind: 'noAnswer', remote: REMOTE }, /within 1.5 s.*firewall/, false],
  [{ kind: 'silent', remote: REMOTE }, /nothing came within 1.5 s/, false],
  [{ kind: 'closed', remote: REMOTE, reason: 'ECONNRESET' }, /without a word \(ECONNR/, false],
  [{ kind: 'foreign', protocol: 'HTTP', excerpt: '"HTTP/1.1"' }, /HTTP.*"HTTP\/1.1"/, true],
  [{ kind: 'foreign', protocol: undefined, excerpt: '"x"' }, /not ZeroMQ: it sent "x"/, true],
  [{ kind: 'oldZmtp', major: 1 }, /version 1; 3.0 is needed/, true],
  [{ kind: 'mechanism', name: 'CURVE' }, /CURVE security/, true],
  [{ kind: 'halfHandshake', remote: REMOTE }, /stopped within/, false],
  [{ kind: 'brokenHandshake', reason: 'it is so' }, /handshake failed: it is so/, false],
  [{ kind: 'wrongSocket', socketType: 'PUB' }, /monitors; .*likely tcp:\/\/127.0.0.1:2343/, true],
  [{ kind: 'wrongSocket', socketType: 'REP' }, /a ZeroMQ REP answers/, true],
  [{ kind: 'router', remote: REMOTE, wasAsked: true }, /no answer within 1.5 s/, false],
  [{ kind: 'router', remote: REMOTE, wasAsked: false }, /gave no answer;/, false],
  [{ kind: 'notScaler', reason: 'it is so' }, /it is so.*another protocol/, true],
  [
    {
      kind: 'scheduler',
      answer: {
        remote: REMOTE,
        schedulerId: schedulerId('id'),
        features: 1,
        roundTripsMs: [],
        report: undefined,
        last: undefined,
      },
    },
    /a scheduler at 127/,
    false,
  ],
]

for (const [finding, expected, isHopeless] of FINDINGS) {
  test(`a finding is told in one line: ${finding.kind}, ${expected.source}`, () => {
    const { what, advice } = describeFinding(finding, ADDRESS, 1_500)
    const text = advice === '' ? what : `${what}; ${advice}`
    assert.match(text, expected)
    assert.doesNotMatch(text, /\n|undefined|\.$/)
    assert.equal(isFinal(finding), isHopeless)
  })
}

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

// Looks at a ROUTER of this process that answers as the test says.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { schedulerId } from '../../base/ids.js'
import { parseConnectAddress } from '../../transport/address.js'
import type { OutgoingFrame } from '../../transport/options.js'
import { RouterSocket } from '../../transport/router.js'
import { decode, encodeFrame, type Message, PLAIN_REPORT } from '../../wire/message.js'
import type { NoScheduler } from './no-scheduler.js'
import { probeScheduler, type SchedulerAnswer } from './probe.js'

const REPORT = {
  version: '1.2.3',
  runtime: 'node/20.20.2',
  clockMS: 1,
  monitorAddress: 'tcp://0.0.0.0:2347',
  workers: 3,
  suitable: 2,
  idle: 1,
  ...PLAIN_REPORT,
}

function echo(id: string, isReporting = false): OutgoingFrame {
  return encodeFrame({
    kind: 'clientHeartbeatEcho',
    schedulerId: schedulerId(id),
    features: id === '' ? 0 : 15,
    reports: isReporting ? [REPORT] : [],
    waiting: [],
  })
}

interface Probed {
  readonly finding: SchedulerAnswer | NoScheduler
  readonly received: readonly Message[]
  /** Resolves when the probe has left. */
  readonly gone: Promise<void>
}

/** Probes a router that answers each heartbeat with frames; none: it stays silent. */
async function probe(
  t: TestContext,
  heartbeats: number,
  answer: (count: number) => readonly OutgoingFrame[] | undefined,
  limitMs = 600_000,
): Promise<Probed> {
  const folder = mkdtempSync(join(tmpdir(), 'scaler-probe-'))
  const address = `ipc://${join(folder, 's')}`
  const received: Message[] = []
  let leave = (): void => {}
  const gone = new Promise<void>((resolve) => (leave = resolve))
  const router = await RouterSocket.bind(address, {
    onConnect: () => {},
    onDisconnect: () => leave(),
    onDrain: () => {},
    onProgress: () => {},
    onMessages: (from, messages) => {
      for (const bytes of messages) {
        const message = decode(bytes as Buffer)
        received.push(message)
        if (message.kind !== 'clientHeartbeat') continue
        const frames = answer(received.length)
        if (frames !== undefined) router.sendMultipart(from, frames)
      }
    },
  })
  t.after(async () => {
    await router.close()
    rmSync(folder, { recursive: true })
  })
  const options = { limitMs, heartbeats, wantsPeers: true }
  const finding = await probeScheduler(parseConnectAddress(address), options)
  return { finding, received, gone }
}

test('a scheduler answers each heartbeat; only the last one asks for peers', async (t) => {
  const { finding, received, gone } = await probe(t, 2, () => [echo('id', true)])
  assert.ok(finding.kind === 'scheduler')
  const { schedulerId: id, features, roundTripsMs, report, last } = finding
  assert.deepEqual([id, features, roundTripsMs.length, last], ['id', 15, 2, REPORT])
  assert.equal(report?.roundTripMs, Math.min(...roundTripsMs))
  await gone
  const [first, second, third] = received
  assert.ok(first?.kind === 'clientHeartbeat' && second?.kind === 'clientHeartbeat')
  assert.deepEqual([first.wantsPeers, second.wantsPeers], [false, true])
  assert.equal(third?.kind, 'clientDisconnect')
})

test('a 1.9.9 scheduler has no id and no report', async (t) => {
  const { finding } = await probe(t, 1, () => [echo('')])
  assert.ok(finding.kind === 'scheduler')
  assert.deepEqual([finding.schedulerId, finding.report], ['', undefined])
})

test('a scheduler that answers only once within the time has answered', async (t) => {
  const answers = (count: number) => (count === 1 ? [echo('id')] : undefined)
  const { finding } = await probe(t, 3, answers, 500)
  assert.ok(finding.kind === 'scheduler')
  assert.equal(finding.roundTripsMs.length, 1)
})

test('a router that does not answer is silent', async (t) => {
  const { finding } = await probe(t, 1, () => undefined, 200)
  assert.ok(finding.kind === 'silent')
  assert.deepEqual([finding.stage, finding.peerType], ['ready', 'ROUTER'])
})

const STRANGE: readonly (readonly [readonly OutgoingFrame[], RegExp])[] = [
  [
    [encodeFrame({ kind: 'clientShutdownResponse', accepted: true })],
    /^a clientShutdownResponse message instead of an echo$/,
  ],
  [[Buffer.from('hello')], /./],
  [[echo('id'), echo('id')], /several frames/],
]

for (const [frames, expected] of STRANGE) {
  test(`a router that answers something else is not a scheduler: ${expected.source}`, async (t) => {
    const { finding } = await probe(t, 1, () => frames)
    assert.ok(finding.kind === 'notScheduler')
    assert.match(finding.reason, expected)
  })
}

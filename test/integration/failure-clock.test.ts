// The wall clock may jump by hours, in both directions: nothing depends on it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { TestCluster } from '../chaos/cluster.js'

const PROGRAM = fileURLToPath(new URL('../chaos/program/many-tasks.js', import.meta.url))

/** Shifts `Date` by up to a day, back and forth, another time every few milliseconds. */
const JUMPING_CLOCK = `
  const real = Date.now.bind(Date)
  const start = performance.now()
  const shift = () => Math.round(8.64e7 * Math.sin(Math.floor((performance.now() - start) / 3) * 1.7))
  const Real = Date
  globalThis.Date = class Date extends Real {
    constructor(...given) {
      if (given.length === 0) super(real() + shift())
      else super(...given)
    }
    static now() { return real() + shift() }
  }
`
const IMPORT = `--import=data:text/javascript,${encodeURIComponent(JUMPING_CLOCK)}`

test('a wall clock that jumps by hours every few milliseconds changes nothing', async (t) => {
  const cluster = await TestCluster.start(t, {
    agents: [1, 1],
    schedulerArgs: ['--worker-timeout-seconds', '2', '--client-timeout-seconds', '2'],
    agentArgs: ['--death-timeout-seconds', '3'],
    // In all processes, including those of user code.
    env: { NODE_OPTIONS: IMPORT },
  })
  const agents = cluster.agents.map((agent) => agent.pid)
  const program = cluster.run('client', [PROGRAM, cluster.address])
  const report = await program.line((line) => line['event'] === 'done')
  assert.deepEqual(
    { wrong: report['wrong'], hasJumped: report['hasJumped'] },
    { wrong: 0, hasJumped: true },
  )
  assert.deepEqual(await program.ended, { code: 0, signal: null })
  assert.deepEqual(
    cluster.agents.map((agent) => (agent.hasEnded ? 'ended' : agent.pid)),
    agents,
  )
  const registrations = cluster.agents.flatMap((agent) =>
    agent.lines.filter((line) => String(line['message']).startsWith('registered')),
  )
  assert.equal(registrations.length, 2, 'no worker was ever given up')
})

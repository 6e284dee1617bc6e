// Clients that are ended by signals at random moments: the scheduler keeps running, and nothing of
// them stays in it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { setTimeout as delay } from 'node:timers/promises'
import { TestCluster } from '../chaos/cluster.js'
import { isIdle } from '../chaos/monitor.js'
import { Random } from '../chaos/random.js'

const PROGRAM = fileURLToPath(new URL('../chaos/program/busy-client.js', import.meta.url))
const REPETITIONS = 30
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGKILL'] as const
/** The time that such a program needs to start all its work, and some more. */
const LIFE_MS = 700

test('clients terminated by signals at random moments leave an idle scheduler', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [2], schedulerArgs: ['--protected'] })
  const client = cluster.client()
  const random = new Random(7)
  const ends = new Map<string, number>()
  const one = async (round: number): Promise<void> => {
    const signal = SIGNALS[round % SIGNALS.length] ?? 'SIGKILL'
    const program = cluster.run(`client ${round}`, [PROGRAM, cluster.address])
    await delay(random.below(LIFE_MS))
    program.signal(signal)
    const end = await program.ended
    assert.equal(end.signal, signal, `${program.stderr} ${String(end.code)}`)
    ends.set(signal, (ends.get(signal) ?? 0) + 1)
  }
  for (let round = 0; round < REPETITIONS; round += 3) {
    await Promise.all([one(round), one(round + 1), one(round + 2)])
    assert.equal(await client.submit(Math.sqrt, 49), 7, 'others are served meanwhile')
  }
  assert.deepEqual([...ends.values()], [10, 10, 10])
  await client.disconnect()
  assert.equal(cluster.scheduler.hasEnded, false)
  // A client is forgotten with all its state five seconds after its connection was lost.
  await cluster.monitor.until('no task is left', ({ taskManager, clientManager }) => {
    const tasks = taskManager.unassigned + taskManager.running
    return tasks === 0 && clientManager.clientToNumOfTask.length === 0
  })
  // The clients inside tasks live as long as their processors.
  for (const agent of cluster.agents) await agent.kill()
  await cluster.monitor.until('empty tables', isIdle)
})

// Several allocators as processes, with different workers, for one scheduler.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import { allLeft, allocate, decisions, filesGone, record } from './allocation.js'

const TASKS = 60

test('each starts what only it can, two of a kind not both, none more than needed', async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const started = [
    ['one', []],
    ['two', []],
    ['cards', ['--capabilities', 'gpu']],
  ] as const
  const allocators = started.map(([name, args]) => {
    return allocate(cluster, 'local', ['--name', name, ...args])
  })
  await Promise.all(
    allocators.map((each) => each.line(({ message }) => message === 'wait: no work')),
  )
  const client = cluster.client()
  // The most workers that each allocator has at a time, and both plain ones together.
  const peaks = { one: 0, two: 0, cards: 0, plain: 0 }
  const stop = new AbortController()
  const watched = (async () => {
    for await (const event of client.events({ signal: stop.signal })) {
      if (event.type !== 'sample') continue
      const of = (name: string): number => {
        const workers = event.info.hosts.flatMap((host) => host.workers)
        return workers.filter(({ allocation = '' }) => allocation.startsWith(`${name}/`)).length
      }
      const [one, two, cards] = [of('one'), of('two'), of('cards')]
      const counts = { one, two, cards, plain: one + two }
      for (const name of ['one', 'two', 'cards', 'plain'] as const) {
        peaks[name] = Math.max(peaks[name], counts[name])
      }
    }
  })().catch(() => {})
  const path = join(cluster.folder, 'runs')
  const inputs = Array.from({ length: TASKS }, (_, at) => [path, at] as const)
  const later = inputs.map(([file, at]) => [file, TASKS + at] as const)
  const starts = (): readonly number[] => {
    return allocators.map((each) => decisions(each, 'start').length)
  }
  await Promise.all([
    client.starmap(record, inputs),
    client.with({ capabilities: { gpu: -1 } }).starmap(record, later),
  ])
  const ran = readFileSync(path, 'utf8').trim().split('\n')
  assert.deepEqual([ran.length, new Set(ran).size], [2 * TASKS, 2 * TASKS])
  await allLeft(cluster)
  // Three seconds of work of each kind. The worker for one may do the other as well.
  assert.equal(peaks.cards, 1)
  assert.ok(peaks.plain <= 1)
  const [one = 0, two = 0, cards] = starts()
  assert.ok(one + two <= 1)
  assert.equal(cards, 1)

  await client.starmap(record, inputs)
  await cluster.removeFile('runs')
  await allLeft(cluster)
  stop.abort()
  await watched
  assert.equal(peaks.plain, 1)
  assert.equal(starts()[2], 1)
  assert.equal((starts()[0] ?? 0) + (starts()[1] ?? 0), one + two + 1)
  await filesGone(cluster)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualCluster } from './virtual-cluster.kit.js'

const SLOW = { bootMs: 90_000, failing: 0.05, taskMs: 2_000 }
const SEEDS = Array.from({ length: 100 }, (_, at) => at + 1)

for (const names of [['one'], ['one', 'two']]) {
  test(`${names.join(' and ')}: never more than 1.2 times what is needed, and nothing is left`, () => {
    for (const seed of SEEDS) {
      const cluster = new VirtualCluster({
        ...SLOW,
        seed,
        allocators: names.map((name) => ({ name })),
      })
      // Measures the function.
      cluster.submit(1)
      while (cluster.finished === 0 && cluster.now < 3_600_000) cluster.run(10)
      cluster.run(30)
      const tasks = 600 + 10 * seed
      cluster.submit(tasks)
      const needed = Math.ceil((tasks * SLOW.taskMs) / 30_000)
      cluster.run(600)
      assert.equal(cluster.finished, tasks + 1, `seed ${seed}`)
      assert.ok(cluster.peak <= 1.2 * needed, `seed ${seed}: ${cluster.peak} for ${needed}`)
      assert.ok(cluster.peak >= 0.8 * needed, `seed ${seed}: ${cluster.peak} for ${needed}`)
      cluster.run(100)
      assert.equal(cluster.units.length, 0, `seed ${seed}`)
    }
  })
}

test('of two allocators, one starts workers for a task, however many its units have', () => {
  for (const sizes of [
    [1, 1],
    [1, 3],
    [2, 1],
    [3, 2],
  ]) {
    for (const seed of SEEDS.slice(0, 10)) {
      const cluster = new VirtualCluster({
        seed,
        bootMs: 5_000,
        failing: 0,
        taskMs: 1_000,
        allocators: sizes.map((workersPerUnit, at) => ({ name: `a${at}`, workersPerUnit })),
      })
      cluster.submit(1)
      cluster.run(60)
      assert.equal(cluster.finished, 1, `${sizes.join()}, seed ${seed}`)
      assert.equal(cluster.started, 1, `${sizes.join()}, seed ${seed}`)
    }
  }
})

test('tasks that were never measured and take long do not run one after the other', () => {
  for (const seed of SEEDS.slice(0, 30)) {
    const setup = { bootMs: 5_000, failing: 0, taskMs: 60_000, seed }
    const cluster = new VirtualCluster({ ...setup, allocators: [{ name: 'one' }] })
    cluster.submit(100)
    cluster.run(15)
    assert.ok(cluster.size > 1 && cluster.size < 50, `seed ${seed}: ${cluster.size}`)
    cluster.run(45)
    assert.ok(cluster.size > 50, `seed ${seed}: ${cluster.size}`)
    cluster.run(200)
    assert.deepEqual([cluster.finished, cluster.units.length], [100, 0], `seed ${seed}`)
  }
})

test('an allocator that starts again asks for nothing twice', () => {
  for (const seed of SEEDS.slice(0, 30)) {
    const cluster = new VirtualCluster({ ...SLOW, failing: 0, seed, allocators: [{ name: 'one' }] })
    cluster.submit(1)
    cluster.run(150)
    cluster.submit(600)
    cluster.run(10)
    const { started } = cluster
    assert.ok(started > 1, `seed ${seed}`)
    cluster.restart('one')
    cluster.run(60)
    assert.equal(cluster.started, started, `seed ${seed}`)
    cluster.run(400)
    assert.equal(cluster.finished, 601, `seed ${seed}`)
    assert.equal(cluster.units.length, 0, `seed ${seed}`)
  }
})

test('units that are cancelled by others are replaced as long as there is work', () => {
  const cluster = new VirtualCluster({
    seed: 7,
    bootMs: 5_000,
    failing: 0,
    taskMs: 1_000,
    allocators: [{ name: 'one', maxWorkers: 4, workersPerUnit: 1 }],
  })
  cluster.submit(400)
  for (let round = 0; round < 10; round += 1) {
    cluster.run(15)
    cluster.cancelOne()
  }
  cluster.run(100)
  assert.equal(cluster.finished, 400)
  assert.ok(cluster.peak <= 4)
})

test('a provider that only fails is asked less and less often', () => {
  const setup = { seed: 1, bootMs: 1_000, failing: 1, taskMs: 1_000 }
  const cluster = new VirtualCluster({ ...setup, allocators: [{ name: 'one' }] })
  cluster.submit(100)
  cluster.run(3_600)
  assert.ok(cluster.started <= 20, `${cluster.started} starts`)
  assert.ok(cluster.decisions.some(({ action }) => action === 'back-off'))
  const reasons = cluster.decisions.map(({ reason }) => reason).join()
  assert.match(reasons, /1 failed start: u1: it ended without a worker: no disk/)
})

test('the minimum is kept without work, and the maximum with it', () => {
  const limits = { name: 'one', minWorkers: 2, maxWorkers: 5 }
  const setup = { seed: 3, bootMs: 5_000, failing: 0, taskMs: 1_000 }
  const cluster = new VirtualCluster({ ...setup, allocators: [limits] })
  cluster.run(60)
  assert.equal(cluster.size, 2)
  cluster.submit(1_000)
  cluster.run(150)
  assert.equal(cluster.peak, 5)
  cluster.run(300)
  assert.equal(cluster.finished, 1_000)
  assert.equal(cluster.size, 2)
})

// An allocator with the client library of Kubernetes and a stand-in for a cluster, whose pods are
// real workers.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { TestCluster } from '../../chaos/cluster.js'
import type { Program } from '../../chaos/program.js'
import { allocate, decisions, record, runAndLeave, workersOf } from '../allocation.js'
import { until } from '../condition.js'
import { MISSING_IMAGE } from './pod-process.js'
import { LIBRARY, NO_LIBRARY } from './rights.js'
import { NO_SCHEMAS } from './schema.js'
import { StandInCluster } from './stand-in.js'

const hasOpenssl = spawnSync('openssl', ['version']).status === 0
const skip = NO_LIBRARY || NO_SCHEMAS || (hasOpenssl ? false : 'no openssl')

interface Setup {
  readonly kube: StandInCluster
  readonly cluster: TestCluster
  /** Starts an allocator with these flags. */
  readonly start: (...args: readonly string[]) => Program
}

async function setUp(t: TestContext): Promise<Setup> {
  const kube = await StandInCluster.start(t)
  const env = { KUBECONFIG: kube.kubeconfig, NODE_PATH: LIBRARY }
  const cluster = await TestCluster.start(t, { agents: [], env })
  // Before the check that nothing is left of it.
  kube.podEnv = cluster.env
  const start = (...args: readonly string[]): Program => {
    const image = args.includes('--image') ? [] : ['--image', 'scaler-ts']
    return allocate(cluster, 'kubernetes', [...image, ...args])
  }
  return { kube, cluster, start }
}

/** Has a task wait; the function cancels it. */
function waitingTask({ cluster }: Setup): () => Promise<void> {
  const client = cluster.client()
  const future = client.submit(record, '/nowhere', 1)
  void future.result().catch(() => {})
  return () => client.clear()
}

/** The first decision whose reason matches. */
async function decision(allocator: Program, pattern: RegExp): Promise<string> {
  const line = await allocator.line(({ message }) => pattern.test(String(message)))
  return String(line['message'])
}

async function problemOf({ cluster }: Setup): Promise<string> {
  return (await cluster.client().info()).allocators?.[0]?.problem ?? ''
}

test('from nothing, tasks bring Jobs; each runs once; no Job is left', { skip }, async (t) => {
  const { kube, cluster, start } = await setUp(t)
  const template = join(kube.folder, 'template.yaml')
  const yaml = `
metadata:
  labels: { team: a }
  annotations: { example.com/queue: night }
spec:
  tolerations: [{ key: batch, operator: Exists }]
  containers:
    - name: worker
      resources: { limits: { memory: 1Gi } }
      volumeMounts: [{ name: shm, mountPath: /dev/shm }]
  volumes: [{ name: shm, emptyDir: { medium: Memory, sizeLimit: 256Mi } }]
`
  writeFileSync(template, yaml)
  const limits = ['--max-workers', '4', '--workers-per-unit', '2', '--backlog-seconds', '1']
  const more = ['--pod-template', template, '--lifetime-seconds', '3600', '--name', 'Night_1']
  const allocator = start(...limits, ...more)
  const lines = await runAndLeave(cluster, 200)
  assert.deepEqual([lines.length, new Set(lines).size], [200, 200])
  await until('all Jobs are gone', () => kube.jobs.size === 0 && kube.pods.size === 0, 60_000)
  assert.ok(decisions(allocator, 'drain').length > 0)
  const started = kube.count('POST jobs')
  assert.ok(started >= 1 && started <= 2, String(started))
})

test('Jobs and their workers are named after the allocator and the unit', { skip }, async (t) => {
  const setup = await setUp(t)
  const { kube, cluster, start } = setup
  const cancel = waitingTask(setup)
  start('--max-workers', '1')
  await until('a Job', () => kube.jobs.size === 1)
  const [job] = [...kube.jobs.values()]
  const { labels = {}, name } = job?.metadata ?? { name: '' }
  const key = String(labels['scaler-ts/unit'])
  assert.match(key, /^[\da-f]{8}$/)
  assert.equal(name, `scaler-kubernetes-${key}`)
  const command = job?.spec.template.spec.containers[0]?.command ?? []
  assert.match(
    command.join(' '),
    /^\/bin\/sh -c exec scaler_cluster -n 1 --idle-timeout-seconds 32 /,
  )
  assert.ok(command.join(' ').includes(`--allocation "kubernetes/${key}" ${cluster.address}`))
  await cancel()
  await until('all Jobs are gone', () => kube.jobs.size === 0 && kube.pods.size === 0, 60_000)
})

test('a Job and a pod that are deleted in the middle lose nothing', { skip }, async (t) => {
  const { kube, cluster, start } = await setUp(t)
  const allocator = start('--min-workers', '2', '--max-workers', '2')
  const client = cluster.client()
  await until('two workers', async () => (await workersOf(client)) === 2, 60_000)
  const path = join(cluster.folder, 'runs')
  const inputs = Array.from({ length: 300 }, (_, at) => [path, at] as const)
  const results = client.starmap(record, inputs)
  await until('tasks run', () => existsSync(path))
  const [first, second] = [...kube.pods.values()]
  await kube.deleteJob(first?.pod.metadata.ownerReferences[0]?.name ?? '')
  await kube.deletePod(second?.pod.metadata.name ?? '')
  assert.equal((await results).length, 300)
  const ran = readFileSync(path, 'utf8').trim().split('\n')
  assert.equal(new Set(ran).size, 300)
  await cluster.removeFile('runs')
  await allocator.kill()
  start()
  await until('all workers have left', () => kube.activeJobs.length === 0, 60_000)
})

test('killed and started again, it asks for nothing twice', { skip }, async (t) => {
  const { kube, cluster, start } = await setUp(t)
  const client = cluster.client()
  const first = start('--min-workers', '2')
  await until('two workers', async () => (await workersOf(client)) === 2, 60_000)
  await first.kill()
  // The list has changed too much between its two pages.
  kube.pageSize = 1
  kube.faults.push({ request: 'GET jobs', times: 2, status: 410, isLaterPage: true })
  const second = start('--min-workers', '2')
  await second.line(({ message }) => message === 'wait: no work waits')
  assert.equal(kube.faults.length, 0)
  assert.equal(kube.count('POST jobs'), 2)
  await second.kill()
  const third = start()
  await third.line(({ message }) => String(message).startsWith('drain 2 units'))
  await until('all Jobs are gone', () => kube.jobs.size === 0 && kube.pods.size === 0, 60_000)
})

test('an image that is not there: the reason is shown, and it backs off', { skip }, async (t) => {
  const setup = await setUp(t)
  const cancel = waitingTask(setup)
  const allocator = setup.start('--image', MISSING_IMAGE)
  const reason = await decision(allocator, /^back-off: .*ImagePullBackOff/)
  assert.match(reason, /1 failed start: scaler-kubernetes-[\da-f]{8}: it ended without a worker: /)
  const what = `ImagePullBackOff: Back-off pulling image "${MISSING_IMAGE}"`
  assert.ok(reason.endsWith(what), reason)
  await until('it is announced', async () => (await problemOf(setup)).endsWith(what))
  await until('the Job is gone', () => setup.kube.jobs.size === 0)
  await cancel()
})

test('workers that fail at once: their last line is shown', { skip }, async (t) => {
  const setup = await setUp(t)
  const cancel = waitingTask(setup)
  const allocator = setup.start('--worker-command', `sh -c 'echo no licence for "$0"' {allocation}`)
  await decision(allocator, /^back-off: .*it ended without a worker: no licence for kubernetes\//)
  await cancel()
})

test('no node and no quota: it says why workers do not come', { skip }, async (t) => {
  const setup = await setUp(t)
  const { kube, start } = setup
  const cancel = waitingTask(setup)
  const template = join(kube.folder, 'template.json')
  writeFileSync(template, JSON.stringify({ spec: { nodeSelector: { gpu: 'yes' } } }))
  const nowhere = start('--pod-template', template)
  await decision(nowhere, /^wait: workers are on their way \(Unschedulable: 0\/1 nodes are avail/)
  await nowhere.kill()
  kube.maxPods = 0
  const forbidden = start('--name', 'second')
  await decision(
    forbidden,
    /on their way \(FailedCreate: .*exceeded quota: team-a.*requested: pods/,
  )
  await forbidden.kill()
  kube.maxJobs = kube.jobs.size
  const refused = start('--name', 'third')
  await decision(
    refused,
    /^back-off: .*403 Forbidden: .*exceeded quota: team-a.*count\/jobs\.batch/,
  )
  await cancel()
})

test(
  'a server in trouble: what is lost is sent again, and nothing is created twice',
  {
    skip,
  },
  async (t) => {
    const { kube, cluster, start } = await setUp(t)
    kube.faults.push(
      { request: 'GET jobs', times: 2, status: 503 },
      { request: 'POST jobs', times: 1, status: 429, headers: { 'retry-after': '1' } },
      { request: 'POST jobs', times: 1, status: 500 },
      // Created, but nobody knows.
      { request: 'POST jobs', times: 1, isDone: true },
    )
    const allocator = start('--max-workers', '1')
    const lines = await runAndLeave(cluster, 20)
    assert.equal(lines.length, 20)
    await until('all Jobs are gone', () => kube.jobs.size === 0 && kube.pods.size === 0, 60_000)
    assert.equal(kube.count('POST jobs'), 4)
    assert.equal(decisions(allocator, 'start').length, 1)
    assert.equal(decisions(allocator, 'back-off').length, 0)
  },
)

test('a token that is refused, and a field that the server does not know', { skip }, async (t) => {
  const setup = await setUp(t)
  const { kube, start } = setup
  const cancel = waitingTask(setup)
  const template = join(kube.folder, 'template.json')
  const spec = { tolerationz: [], containers: [{ name: 'worker', imagePullPolicyy: 'Always' }] }
  writeFileSync(template, JSON.stringify({ spec }))
  const strict = start('--pod-template', template)
  const reason = await decision(strict, /^back-off: /)
  for (const field of ['tolerationz', 'containers[0].imagePullPolicyy']) {
    assert.ok(reason.includes(`unknown field "spec.template.spec.${field}"`), reason)
  }
  await strict.kill()
  kube.writeKubeconfig('an-old-one')
  const stranger = start()
  const line = await stranger.line(({ problem }) => problem !== undefined)
  assert.equal(line['message'], 'the provider could not list its units')
  assert.equal(line['problem'], 'the API server answered 401 Unauthorized: Unauthorized')
  assert.equal(kube.jobs.size, 0)
  await cancel()
})

test('a context or namespace that is not there', { skip }, async (t) => {
  const { start } = await setUp(t)
  const wrong = start('--context', 'home')
  assert.equal((await wrong.ended).code, 2)
  const told = 'scaler allocate: --context: "home" is unknown; there are stand-in\n'
  assert.equal(wrong.stderr, told)
  const other = start('--namespace', 'team-b')
  const line = await other.line(({ problem }) => problem !== undefined)
  assert.match(
    String(line['problem']),
    /403 Forbidden: jobs is forbidden: cannot list jobs in the namespace "team-b"/,
  )
})

/** The Job of the only worker. */
async function onlyJob(kube: StandInCluster): Promise<string> {
  await until('a worker', () => kube.activeJobs[0]?.status.ready === 1, 60_000)
  return kube.activeJobs[0]?.metadata.name ?? ''
}

/** The only Job goes, and another one comes: so the allocator has seen it go. */
async function replaceJob(kube: StandInCluster): Promise<void> {
  const name = await onlyJob(kube)
  await kube.deleteJob(name)
  assert.notEqual(await onlyJob(kube), name)
}

/** Whether a watch of the Jobs is open. */
function isWatched(kube: StandInCluster): boolean {
  return kube.watches.count('jobs') === 1
}

test('the end of a Job is seen by a watch, without a list, until it stops', { skip }, async (t) => {
  const { kube, start } = await setUp(t)
  const one = ['--min-workers', '1', '--max-workers', '1']
  const allocator = start(...one, '--list-interval-seconds', '3600')
  await onlyJob(kube)
  await replaceJob(kube)
  await replaceJob(kube)
  assert.equal(kube.count('GET jobs'), 1)
  assert.equal(kube.count('WATCH jobs'), 1)
  allocator.signal('SIGTERM')
  assert.equal((await allocator.ended).signal ?? 'ended', 'ended')
  await until('no watch is open', () => !isWatched(kube) && kube.watches.count('pods') === 0)
})

test('a watch that ends in any way is followed by a list and a watch', { skip }, async (t) => {
  const { kube, start } = await setUp(t)
  kube.faults.push({ request: 'WATCH jobs', times: 1, status: 410 })
  const allocator = start('--min-workers', '1', '--max-workers', '1')
  const ends = {
    expired: () => kube.watches.expire(),
    dropped: () => kube.watches.drop(),
    malformed: () => kube.watches.send('{"type":"ADDED",\n'),
  }
  for (const [how, end] of Object.entries(ends)) {
    await until('a watch', () => isWatched(kube), 60_000)
    const lists = kube.count('GET jobs')
    const watches = kube.count('WATCH jobs')
    end()
    await until(`a list, ${how}`, () => kube.count('GET jobs') > lists, 60_000)
    await until(`a watch, ${how}`, () => kube.count('WATCH jobs') > watches, 60_000)
    await replaceJob(kube)
  }
  const warnings = allocator.lines.filter(({ level }) => level === 'warn')
  assert.ok(warnings.length <= 2, JSON.stringify(warnings))
})

test(
  'without the right to watch, it polls, and says which right is missing',
  { skip },
  async (t) => {
    const { kube, start } = await setUp(t)
    kube.rights.delete('watch jobs')
    const allocator = start('--min-workers', '1', '--max-workers', '1')
    const line = await allocator.line(({ problem }) => problem !== undefined)
    const what = 'the right to watch jobs is missing: they are listed at each interval instead'
    assert.equal(line['message'], what)
    assert.match(String(line['problem']), /403 Forbidden: jobs is forbidden: cannot watch jobs/)
    await replaceJob(kube)
    await until('several lists', () => kube.count('GET jobs') > 5)
    assert.equal(kube.count('WATCH jobs'), 1)
    const told = allocator.lines.filter(({ message }) => message === what)
    assert.equal(told.length, 1)
  },
)

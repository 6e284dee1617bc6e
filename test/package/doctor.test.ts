// `scaler doctor`, with healthy schedulers, and with everything else that may be at an address.

import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test, type TestContext } from 'node:test'
import { Client, Scheduler } from 'scaler-ts'
import type { Diagnosis } from '#src/client/connect/diagnosis.js'
import { RouterScheduler } from '../integration/client-scheduler.js'
import { runCommand, startCommand, startScheduler, until, type CommandEnd } from './command.js'
import { PythonWorker } from './python-worker.kit.js'
import { freeAddress, listen, WRONG_SERVERS } from './wrong-server.js'

/** Enough for any machine; shorter where a step has to time out. */
const LONG = ['--timeout-seconds', '600']

function doctor(t: TestContext, ...args: readonly string[]): Promise<CommandEnd> {
  return runCommand(t, 'scaler', ['doctor', ...args])
}

/** One line on stderr, nothing on stdout, exit code 1. */
function assertProblem({ code, stdout, stderr }: CommandEnd, expected: RegExp): void {
  assert.match(stderr, /^scaler doctor: [^\n]+\n$/)
  assert.match(stderr, expected)
  assert.deepEqual({ code, stdout }, { code: 1, stdout: '' })
}

/** A scheduler with a worker that is ready. */
async function startAll(t: TestContext): Promise<string> {
  const { address } = await startScheduler(t)
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '1', address])
  await cluster.line((line) => String(line['message']).endsWith(' ready'))
  return address
}

test('a scheduler with workers is healthy: its description, its workers, a task', async (t) => {
  const address = await startAll(t)
  const end = await doctor(t, address, ...LONG)
  assert.deepEqual({ code: end.code, stderr: end.stderr }, { code: 0, stderr: '' })
  const escaped = address.replaceAll('.', '\\.')
  const lines = [
    `scheduler   ${escaped} healthy: scaler-ts \\d[^,]*, node/\\d\\S+, id [0-9a-f]{8}`,
    'round trip  [\\d.]+ ms \\(median of 9; [\\d.]+ to [\\d.]+\\)',
    'clock       (?:agrees|is) .*',
    'workers     1: 1 of them run JavaScript, 1 idle',
    'host        \\S+: 1 worker \\(scaler-ts \\d\\S*, node/\\d\\S+\\)',
    'monitor     tcp://127\\.0\\.0\\.1:\\d+ publishes: 0 tasks wait, 0 are with workers, 0 objects',
    'task        ran on \\d+\\|[^|]+\\|[0-9a-f]+ \\(scaler-ts \\d\\S*, node/\\d\\S+\\) in [\\d.]+ ms',
    'its clock   (?:agrees|is) .*',
  ]
  assert.match(end.stdout, new RegExp(`^${lines.map((line) => `ok    ${line}\n`).join('')}$`))
})

test('the same as JSON, for the scheduler in the environment', async (t) => {
  const address = await startAll(t)
  const env = { SCALER_ADDRESS: address }
  const { code, stdout, stderr } = await runCommand(t, 'scaler', ['doctor', '--json', ...LONG], env)
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  const found = JSON.parse(stdout) as Record<string, Record<string, unknown>>
  assert.equal(found['isHealthy'], true)
  assert.equal(found['address'], address)
  assert.equal(found['scheduler']?.['kind'], 'scaler-ts')
  assert.deepEqual(found['workers'], { total: 1, suitable: 1, idle: 1 })
  const [host] = found['hosts'] as unknown as { host: string; workers: { version: string }[] }[]
  assert.equal(host?.host, hostname())
  assert.match(host.workers[0]?.version ?? '', /^\d+\.\d+\.\d+/)
  assert.deepEqual(found['clients'], [])
  assert.equal(found['task']?.['runtime'], `node/${process.versions.node}`)
  assert.deepEqual(found['problems'], [])
})

test('clients are shown by name, and workers with their reports and running tasks', async (t) => {
  const { address } = await startScheduler(t)
  const args = ['-n', '1', '--capabilities', 'gpu=2', '--allocation', 'night']
  const env = { SCALER_TIME_LIMIT_SECONDS: '3600' }
  const cluster = startCommand(t, 'scaler-cluster', [...args, address], env)
  await cluster.line((line) => String(line['message']).endsWith(' ready'))
  await using client = new Client(address, { name: 'report for ann' })
  const future = client.with({ name: 'long' }).submit(() => new Promise(() => {}))
  await until(() => future.state === 'running')
  const limits = ['--scheduler-only', '--json', ...LONG]
  interface Found {
    readonly hosts: { readonly workers: Readonly<Record<string, unknown>>[] }[]
    readonly clients: Readonly<Record<string, unknown>>[]
  }
  const look = async (): Promise<Found> => {
    return JSON.parse((await doctor(t, address, ...limits)).stdout) as Found
  }
  const runningIn = ({ hosts: [host] }: Found) =>
    host?.workers[0]?.['running'] as { task: string; name: string; forMs: number }[]
  let found = await look()
  // It is in the next heartbeat of the worker.
  for (let round = 0; round < 20 && runningIn(found).length === 0; round += 1) found = await look()
  const [task] = runningIn(found)
  assert.deepEqual([task?.task, task?.name], [future.id, 'long'])
  assert.ok((task?.forMs ?? 0) >= 250)
  const { capabilities, allocation, endsAt, tasks } = found.hosts[0]?.workers[0] ?? {}
  assert.deepEqual(
    { capabilities, allocation, tasks },
    { capabilities: { gpu: 2 }, allocation: 'night', tasks: 1 },
  )
  const leftMs = Date.parse(String(endsAt)) - Date.now()
  assert.ok(leftMs > 0 && leftMs <= 3_600_000)
  assert.deepEqual(
    found.clients.map(({ name, pid, tasks: unfinished }) => ({ name, pid, unfinished })),
    [{ name: 'report for ann', pid: process.pid, unfinished: 1 }],
  )
  future.cancel()
  await assert.rejects(future)
})

test('a scheduler without workers is not healthy, unless only the scheduler is checked', async (t) => {
  const { address } = await startScheduler(t)
  const ill = await doctor(t, address, ...LONG)
  assert.equal(ill.code, 1)
  assert.match(ill.stdout, /^ok {4}scheduler/)
  assert.match(
    ill.stderr,
    /no workers, so no task would run; start JavaScript workers: scaler_cluster tcp:/,
  )
  const well = await doctor(t, address, '--scheduler-only', ...LONG)
  assert.deepEqual({ code: well.code, stderr: well.stderr }, { code: 0, stderr: '' })
  assert.doesNotMatch(well.stdout, /task {8}ran/)
})

test('with Python workers only it is healthy, unless tasks of Node clients wait', async (t) => {
  const { address } = await startScheduler(t)
  await using _worker = await PythonWorker.start(address)
  await using client = await Client.connect(address)
  const well = await doctor(t, address, ...LONG)
  assert.deepEqual({ code: well.code, stderr: well.stderr }, { code: 0, stderr: '' })
  assert.match(well.stdout, /^ok {4}workers {5}1: 1 of them run Python, 1 idle$/m)
  assert.match(well.stdout, /^ok {4}host {8}vm: 1 worker \(python\)$/m)
  assert.match(
    well.stdout,
    /^note {2}workers {5}its only worker does not run JavaScript: tasks of/m,
  )
  assert.match(well.stdout, /; for these, start JavaScript workers: scaler_cluster tcp:\S+$/m)
  const found = JSON.parse((await doctor(t, address, '--json', ...LONG)).stdout) as Diagnosis
  assert.deepEqual(found.workers, {
    total: 1,
    suitable: 0,
    idle: 0,
    python: { total: 1, idle: 1 },
  })
  const future = client.submit(() => 1)
  // The answer shows that the scheduler has the task.
  assert.equal((await future.explain()).reason, 'no-runtime')
  const ill = await doctor(t, address, ...LONG)
  assert.equal(ill.code, 1)
  assert.match(
    ill.stderr,
    /does not run JavaScript, and 1 task of JavaScript clients waits for one/,
  )
  future.cancel()
  await assert.rejects(future)
})

test('the address for monitors will do, also if it is not beside that of the scheduler', async (t) => {
  const address = 'tcp://127.0.0.1:0'
  await using scheduler = await Scheduler.start({ address, monitorAddress: address })
  const { monitorAddress } = scheduler
  const { code, stdout, stderr } = await doctor(t, monitorAddress, '--scheduler-only', ...LONG)
  assert.deepEqual([code, stderr], [0, ''])
  assert.match(stdout, new RegExp(`^ok {4}scheduler {3}${scheduler.address} healthy`))
  assert.match(stdout, new RegExp(`\\nok {4}monitor {5}${monitorAddress} publishes`))
})

test('monitors that receive nothing are a note', async (t) => {
  const { address } = await startScheduler(t)
  const monitor = await freeAddress()
  const args = ['--scheduler-only', '--monitor-address', monitor]
  const { code, stdout } = await doctor(t, address, ...args)
  assert.equal(code, 0)
  assert.match(stdout, new RegExp(`\nnote {2}monitor {5}nothing was published at ${monitor}`))
})

test('a 1.9.9 scheduler is recognized, and gets no task', async (t) => {
  const scheduler = await RouterScheduler.start({ id: '' })
  t.after(() => scheduler.stop())
  const { code, stdout } = await doctor(t, scheduler.address, '--timeout-seconds', '2')
  assert.equal(code, 0)
  assert.match(stdout, /^ok {4}scheduler {3}tcp:\S+ healthy: 1\.9\.9\n/)
  assert.match(stdout, /\nnote {2}task {8}no task was submitted/)
  assert.deepEqual(scheduler.fake.faults, [])
  const kinds = scheduler.fake.received.map(({ kind }) => kind)
  assert.deepEqual(kinds, ['clientDisconnect'])
})

/** The message about each wrong server that answers something. */
const STRANGERS: Readonly<Record<string, RegExp>> = {
  closing: /closed the connection during the handshake; is it a scheduler\?/,
  web: /not speak ZeroMQ: it sent "HTTP\/1\.1 400 Bad Request"; is this the right port\?/,
  shell: /not speak ZeroMQ: it sent "SSH-2\.0-OpenSSH_9\.2"/,
  secureWeb: /not speak ZeroMQ: it sent the bytes 15 03 03 00 02 02 0a \(TLS\)/,
  old: /the ZeroMQ handshake failed: the peer speaks ZMTP 1; 3\.0 or later is required/,
  secure: /the ZeroMQ handshake failed: the peer asks for mechanism "CURVE"/,
  refusing: /the ZeroMQ handshake failed: the peer refused: not you/,
  reply: /a ZeroMQ REP socket answers; a scheduler has a ROUTER socket/,
  stranger: /not speak the scheduler protocol: .*version other than 1\.9\.9/,
}

for (const [kind, expected] of Object.entries(STRANGERS)) {
  test(`a server of another kind is recognized: ${kind}`, async (t) => {
    const address = await listen(t, WRONG_SERVERS[kind] ?? assert.fail())
    assertProblem(await doctor(t, address, ...LONG), expected)
  })
}

/** The message about those that do not. */
const SILENT: Readonly<Record<string, RegExp>> = {
  mute: /accepts connections, but has sent nothing within 300 ms/,
  half: /speaks ZeroMQ, but has not finished the handshake within 300 ms/,
  router: /port \d+ speaks ZeroMQ, but has not answered as a scheduler within 300 ms/,
}

for (const [kind, expected] of Object.entries(SILENT)) {
  test(`a silent server is given up in time: ${kind}`, async (t) => {
    const address = await listen(t, WRONG_SERVERS[kind] ?? assert.fail())
    // The time runs on while this machine is busy with other work.
    const relaxed = new RegExp(expected.source.replace('300 ms', '[\\d.]+ m?s'))
    assertProblem(await doctor(t, address, '--timeout-seconds', '0.3'), relaxed)
  })
}

test('a port at which nothing listens is reported', async (t) => {
  const address = await freeAddress()
  const { port } = new URL(address)
  const refused = new RegExp(
    `refused: nothing is listening at 127\\.0\\.0\\.1 port ${port}; is the sch`,
  )
  assertProblem(await doctor(t, address, ...LONG), refused)
})

test('a name that does not resolve is reported', async (t) => {
  const end = await doctor(t, 'tcp://no-such-host.invalid:2345', ...LONG)
  assertProblem(end, /the host name no-such-host\.invalid (?:does not resolve|cannot be looked up)/)
})

test('a missing socket file is reported', async (t) => {
  assertProblem(await doctor(t, 'ipc:///no/such/file'), /there is no socket file \/no\/such\/file/)
})

test('a problem as JSON is on stdout', async (t) => {
  const { code, stdout, stderr } = await doctor(t, 'ipc:///no/such/file', '--json')
  assert.deepEqual({ code, stderr }, { code: 1, stderr: '' })
  const found = JSON.parse(stdout) as { isHealthy: boolean; problems: { part: string }[] }
  assert.equal(found.isHealthy, false)
  assert.deepEqual(
    found.problems.map(({ part }) => part),
    ['scheduler'],
  )
})

test('a signal ends it immediately', async (t) => {
  let connected = (): void => {}
  const connection = new Promise<void>((resolve) => (connected = resolve))
  const address = await listen(t, () => connected())
  const command = startCommand(t, 'scaler', ['doctor', address, ...LONG])
  await connection
  command.child.kill('SIGINT')
  assert.equal((await command.ended).code, 130)
})

const WRONG_USAGE: readonly (readonly string[])[] = [
  [],
  ['localhost:2345'],
  ['tcp://localhost'],
  ['tcp://*:2345'],
  ['tcp://localhost:2345', 'tcp://localhost:2346'],
  ['tcp://localhost:2345', '--timeout-seconds', '0'],
  ['tcp://localhost:2345', '--monitor-address', 'nowhere'],
]

for (const args of WRONG_USAGE) {
  test(`wrong usage is one line and exit code 2: ${args.join(' ') || 'no address'}`, async (t) => {
    const end = await runCommand(t, 'scaler', ['doctor', ...args], { SCALER_ADDRESS: '' })
    assert.equal(end.code, 2)
    assert.match(end.stderr, /^scaler doctor: [^\n]+\n$/)
    assert.equal(end.stdout, '')
  })
}

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import {
  childrenOf,
  isAlive,
  runCommand,
  startCommand,
  startScheduler,
  until,
  type LogLine,
  type RunningCommand,
} from './command.js'

/** Workers that are ready, and their processors' process ids. */
async function startCluster(
  t: TestContext,
  args: readonly string[],
): Promise<{ readonly cluster: RunningCommand; readonly processors: readonly number[] }> {
  const cluster = startCommand(t, 'scaler-cluster', args)
  await cluster.line((line) => String(line['message']).endsWith(' ready'))
  return { cluster, processors: childrenOf(cluster.pid) }
}

const isLinux = process.platform === 'linux'

test('the cluster reports when its workers are ready and exits with 143 after SIGTERM', async (t) => {
  const { address } = await startScheduler(t)
  const { cluster, processors } = await startCluster(t, ['-n', '2', address])
  if (isLinux) assert.ok(processors.length >= 2, 'one processor per worker')
  cluster.child.kill('SIGTERM')
  const end = await cluster.ended
  assert.deepEqual({ code: end.code, stderr: end.stderr }, { code: 143, stderr: '' })
  await until(() => !processors.some(isAlive))
})

test('the cluster exits with 130 after SIGINT', async (t) => {
  const { address } = await startScheduler(t)
  const { cluster, processors } = await startCluster(t, ['-n', '1', address])
  cluster.child.kill('SIGINT')
  assert.equal((await cluster.ended).code, 130)
  await until(() => !processors.some(isAlive))
})

test('no processor outlives a killed cluster', async (t) => {
  const { address } = await startScheduler(t)
  const { cluster, processors } = await startCluster(t, ['-n', '2', address])
  cluster.child.kill('SIGKILL')
  await cluster.ended
  await until(() => !processors.some(isAlive))
})

test('workers have the given names', async (t) => {
  const { address } = await startScheduler(t)
  const timing = ['-hi', '0.5', '--death-timeout-seconds', '60']
  const { cluster } = await startCluster(t, ['-n', '2', '-wn', 'left,right', ...timing, address])
  for (const name of ['left', 'right']) {
    await cluster.line((line) => String(line['worker']).includes(`|${name}|`))
  }
})

test('a scheduler that does not answer ends the cluster with one line and exit code 1', async (t) => {
  const { scheduler, address } = await startScheduler(t)
  scheduler.child.kill('SIGKILL')
  await scheduler.ended
  const end = await runCommand(t, 'scaler-cluster', ['-n', '1', '-ds', '1', address])
  assert.equal(end.code, 1)
  assert.match(end.stderr, /^scaler_cluster: [^\n]+\n$/)
})

test('the first signal also ends a cluster that has not found its scheduler', async (t) => {
  const { scheduler, address } = await startScheduler(t)
  scheduler.child.kill('SIGKILL')
  await scheduler.ended
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '1', address])
  await cluster.line((line) => String(line['message']).includes('waiting'))
  cluster.child.kill('SIGINT')
  assert.equal((await cluster.ended).code, 130)
})

/** Makes the name `late.example` resolve in a process once this file exists. */
function lateName(file: string): string {
  const text = `
    import { existsSync } from 'node:fs'
    import dns from 'node:dns'
    const { lookup } = dns
    dns.lookup = (name, options, done) => {
      if (name !== 'late.example') return lookup(name, options, done)
      if (existsSync(${JSON.stringify(file)})) return lookup('127.0.0.1', options, done)
      const error = Object.assign(new Error('getaddrinfo ENOTFOUND ' + name), { hostname: name })
      setImmediate(done, Object.assign(error, { code: 'ENOTFOUND', syscall: 'getaddrinfo' }))
    }`
  return `--import=data:text/javascript,${encodeURIComponent(text)}`
}

test('workers wait for a name that does not resolve yet, with one log line', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'name-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'known')
  const { address } = await startScheduler(t)
  const port = address.slice(address.lastIndexOf(':') + 1)
  const env = { NODE_OPTIONS: lateName(file) }
  const cluster = startCommand(t, 'scaler-cluster', ['-n', '2', `tcp://late.example:${port}`], env)
  const isTrying = ({ message }: LogLine): boolean => String(message).startsWith('cannot connect')
  const line = await cluster.line(isTrying)
  assert.equal(line['level'], 'warn')
  assert.match(String(line['reason']), /^the host name late\.example does not resolve/)
  writeFileSync(file, '')
  await cluster.line(({ message }) => String(message).endsWith('are ready'))
  assert.equal(cluster.stdout().split('cannot connect').length, 2, cluster.stdout())
})

const WRONG_USAGE: readonly (readonly string[])[] = [
  [],
  ['tcp://127.0.0.1'],
  ['tcp://127.0.0.1:70000'],
  ['tcp://*:1'],
  ['tcp://127.0.0.1:0'],
  ['-n', '0', 'tcp://127.0.0.1:1'],
  ['-n', '-1', 'tcp://127.0.0.1:1'],
  ['-n', 'many', 'tcp://127.0.0.1:1'],
  ['-n', '1.5', 'tcp://127.0.0.1:1'],
  ['-n', '1', '--worker-names', 'one,two', 'tcp://127.0.0.1:1'],
  ['-n', '3', '--worker-names', 'one,two', 'tcp://127.0.0.1:1'],
  ['-n', '1', '--worker-names', 'a|b', 'tcp://127.0.0.1:1'],
  ['--heartbeat-interval', '0', 'tcp://127.0.0.1:1'],
  ['--death-timeout-seconds', '-5', 'tcp://127.0.0.1:1'],
  ['--drain-seconds', '-1', 'tcp://127.0.0.1:1'],
  ['--drain-seconds', 'soon', 'tcp://127.0.0.1:1'],
  ['--no-such-flag', 'tcp://127.0.0.1:1'],
]

for (const args of WRONG_USAGE) {
  test(`wrong usage is one line and exit code 2: ${args.join(' ') || 'no address'}`, async (t) => {
    const end = await runCommand(t, 'scaler-cluster', args)
    assert.equal(end.code, 2)
    assert.match(end.stderr, /^scaler_cluster: [^\n]+\n$/)
    assert.equal(end.stdout, '')
  })
}

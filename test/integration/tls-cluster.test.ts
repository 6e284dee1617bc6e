// Whole clusters whose processes talk to each other by TLS, and what people see who lack something.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Allocator, Client, Cluster, ConnectError, currentClient, Scheduler } from 'scaler-ts'
import { TestCluster } from '../chaos/cluster.js'
import { runCommand, startCommand } from '../package/command.js'
import { allocate, filesGone, workersOf } from './allocation.js'
import { certificate, contentsOf } from './certificate.js'
import { until } from './condition.js'
import { tempDir } from './transport-harness.js'

const MIB = 2 ** 20

/** As on different machines: no process sees the files of another. */
const FAR = ['--object-directory', '']

/** The flags for a certificate. */
function flags(name: string): readonly string[] {
  const { ca, cert, key } = certificate(name)
  return ['--tls-ca', ca, '--tls-cert', cert, '--tls-key', key]
}

const filled = (size: number, value: number): Uint8Array => new Uint8Array(size).fill(value)
const sumOf = (bytes: Uint8Array): number => bytes.reduce((sum, byte) => sum + byte, 0)

/** A task that submits others, with a client of its own. */
const nested = async (inputs: readonly number[]): Promise<number> => {
  const client = currentClient()
  const results = await client.map((x: number) => 2 * x, inputs)
  return results.reduce((sum, x) => sum + x, 0)
}

/** Everything that a client does, over TLS. */
async function useAll(client: Client): Promise<void> {
  assert.equal(await client.submit((a: number, b: number) => a + b, 1, 2), 3)
  assert.equal(await client.submit(nested, [1, 2, 3]), 12)
  assert.deepEqual(await client.submit(filled, 5 * MIB, 7), filled(5 * MIB, 7))
  const shared = client.sendObject(filled(3 * MIB, 1))
  assert.deepEqual(await client.map(sumOf, [shared, shared]), [3 * MIB, 3 * MIB])
  const { hosts } = await client.info()
  assert.equal(hosts.length, 1)
}

/** Whether the scheduler uses an object storage server at a `tls://` address. */
async function hasServer(client: Client): Promise<boolean> {
  const { storageServers = [] } = await client.info()
  return storageServers.some(({ address, state }) => state === 'up' && address.startsWith('tls:'))
}

/** Commands at `tls://` addresses, with certificates given by flags. */
function newCluster(t: TestContext, args: readonly string[] = []): Promise<TestCluster> {
  return TestCluster.start(t, {
    agents: [2],
    scheme: 'tls',
    schedulerArgs: [...flags('node'), ...args],
    agentArgs: [...flags('client'), ...args],
  })
}

test('scheduler, workers, a storage server, a client and monitors by TLS', async (t) => {
  const cluster = await newCluster(t, FAR)
  assert.match(cluster.address, /^tls:/)
  assert.match(cluster.monitorAddress, /^tls:/)
  await cluster.startServer([...flags('node'), ...FAR])
  const client = cluster.client({ tls: certificate('client') })
  await useAll(client)
  await until('the server is reported', () => hasServer(client))
  const doctor = await runCommand(t, 'scaler', ['doctor', cluster.address, ...flags('client')])
  assert.equal(doctor.code, 0, doctor.stdout + doctor.stderr)
  assert.doesNotMatch(doctor.stdout, /nothing was published|cannot use/)
  const args = ['status', '--json', cluster.monitorAddress, ...flags('client')]
  const status = await runCommand(t, 'scaler', args)
  assert.equal(status.code, 0, status.stderr)
})

test('the server that a scheduler starts itself speaks TLS, too', async (t) => {
  const cluster = await newCluster(t, FAR)
  const client = cluster.client({ tls: certificate('client') })
  await until('the server is up', async () => {
    await client.submit(filled, 2 * MIB, 1)
    return hasServer(client)
  })
  assert.deepEqual(await client.submit(filled, 2 * MIB, 3), filled(2 * MIB, 3))
})

test('the server that an agent starts speaks TLS, too', async (t) => {
  const cluster = await TestCluster.start(t, {
    agents: [],
    scheme: 'tls',
    schedulerArgs: flags('node'),
  })
  await cluster.startAgent(1, [...flags('node'), '--object-storage'])
  const client = cluster.client({ tls: certificate('client') })
  await until('the server is up', () => hasServer(client))
  assert.equal(await client.submit(sumOf, filled(2 * MIB, 1)), 2 * MIB)
})

test('a cluster comes back after its scheduler was killed', async (t) => {
  const cluster = await newCluster(t)
  const client = cluster.client({ tls: certificate('client') })
  assert.equal(await client.submit(() => 1), 1)
  await cluster.scheduler.kill()
  const future = client.submit(() => 2)
  await cluster.restartScheduler()
  assert.equal(await future, 2)
})

test('a local cluster may use TLS between its processes', async () => {
  const tls = certificate('named')
  const client = await Client.local({ address: 'tls://127.0.0.1:0', workers: 2, tls })
  try {
    assert.match(client.address, /^tls:/)
    await useAll(client)
  } finally {
    await client.close()
  }
})

test('scheduler, workers and an allocator in one program may have texts instead of files', async (t) => {
  const tls = contentsOf(certificate('node'))
  const options = { address: 'tls://127.0.0.1:0', objectDirectory: '', tls }
  const scheduler = await Scheduler.start(options)
  t.after(() => scheduler.close())
  const { address } = scheduler
  const cluster = await Cluster.start({ ...options, address, workers: 1, env: {} })
  t.after(() => cluster.shutdown())
  const client = await Client.connect(address, { tls })
  t.after(() => client.close())
  await useAll(client)
  await until('its server is used', () => hasServer(client))
  await assert.rejects(Allocator.start({ address, provider: 'local', tls }), {
    code: 'ERR_SCALER_CONFIG',
    message: 'option tls.ca: workers need the path of a file, not its content',
  })
})

test('an allocator starts workers with its certificates', async (t) => {
  const cluster = await TestCluster.start(t, {
    agents: [],
    scheme: 'tls',
    schedulerArgs: flags('node'),
  })
  allocate(cluster, 'local', [...flags('client'), '--backlog-seconds', '1'])
  const client = cluster.client({ tls: certificate('client') })
  assert.equal(await client.submit(nested, [4]), 8)
  await until('the workers have left', async () => (await workersOf(client)) === 0)
  await filesGone(cluster)
})

test('whoever lacks a certificate learns at once what is wrong', async (t) => {
  const scheduler = await Scheduler.start({
    address: 'tls://127.0.0.1:0',
    tls: certificate('node'),
  })
  t.after(() => scheduler.close())
  const { address } = scheduler
  const { ca } = certificate('node')
  const isRight =
    (why: RegExp) =>
    (error: unknown): boolean => {
      assert(error instanceof ConnectError)
      assert.match(error.message, why)
      return true
    }
  await assert.rejects(
    Client.connect(address, { tls: { ca } }),
    isRight(
      /no TLS connection to .* port \d+: the peer refused: no certificate was presented; whoever connects needs tls.cert/,
    ),
  )
  await assert.rejects(
    Client.connect(address, { tls: certificate('client', 'other-ca') }),
    isRight(/: the certificate of the peer is not signed by our CA/),
  )
  const plain = address.replace('tls:', 'tcp:')
  await assert.rejects(
    Client.connect(plain),
    isRight(new RegExp(`it sent .*\\(TLS\\); is its address ${address}\\?$`)),
  )
  const status = await runCommand(t, 'scaler', ['status', address, '--tls-ca', ca])
  assert.equal(status.code, 1)
  assert.match(status.stderr, /the peer refused: no certificate was presented/)
})

test('a client that speaks TLS to a tcp:// address says so', async (t) => {
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  t.after(() => scheduler.close())
  await assert.rejects(
    Client.connect(scheduler.address.replace('tcp:', 'tls:'), { tls: certificate('client') }),
    { message: new RegExp(`the peer does not speak TLS; is its address ${scheduler.address}\\?$`) },
  )
})

test('certificates for plain addresses cause a warning, unless they are in the environment', async (t) => {
  const { ca } = certificate('node')
  const folder = tempDir(t)
  const file = join(folder, 'scaler.toml')
  writeFileSync(file, `[scheduler]\ntls-ca = ${JSON.stringify(ca)}\n`)
  const warningOf = async (args: readonly string[], env = {}): Promise<string> => {
    const all = ['tcp://127.0.0.1:0', ...args]
    const started = startCommand(t, 'scaler-scheduler', all, env)
    const seen: string[] = []
    await started.line((line) => {
      if (line['level'] === 'warn') seen.push(String(line['message']))
      return 'monitorAddress' in line
    })
    return seen.join()
  }
  const expected =
    '--tls-ca has no effect: no address begins with tls://, so connections are not encrypted'
  assert.equal(await warningOf(['--tls-ca', ca]), expected)
  assert.equal(await warningOf(['--config', file]), expected)
  assert.equal(await warningOf([], { SCALER_TLS_CA: ca }), '')
  const { stderr } = await runCommand(t, 'scaler', ['status', 'tcp://127.0.0.1:1', '--tls-ca', ca])
  assert.match(stderr, /^scaler status: warning: --tls-ca has no effect: no address begins/)
})

test('programs of `scaler run` have the certificates of the command', async (t) => {
  const cluster = await newCluster(t)
  const folder = tempDir(t)
  const script = join(folder, 'script.mjs')
  const entry = new URL('../../../dist/index.js', import.meta.url).href
  writeFileSync(
    script,
    `import { Client } from '${entry}'
const client = new Client()
console.log(await client.submit((x) => x + 1, 41))
await client.close()
`,
  )
  const args = ['run', '--address', cluster.address, ...flags('client'), script]
  const { code, stdout, stderr } = await runCommand(t, 'scaler', args)
  assert.equal(code, 0, stderr)
  assert.equal(stdout.trim(), '42')
})

test('certificates come from flags, the environment or a file, and errors say which', async (t) => {
  const folder = tempDir(t)
  const file = join(folder, 'scaler.toml')
  const { ca, cert, key } = certificate('node')
  const errorOf = async (
    args: readonly string[],
    env: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const all = [...args, 'tls://127.0.0.1:0']
    const { code, stderr } = await runCommand(t, 'scaler-scheduler', all, env)
    assert.equal(code, 2, stderr)
    return stderr
  }
  const given = ['--tls-cert', cert, '--tls-key', key]
  assert.match(
    await errorOf([...given, '--tls-ca', '/nowhere.pem']),
    /--tls-ca: the file "\/nowhere\.pem" does not exist$/m,
  )
  assert.match(await errorOf(given), /--tls-ca: needed to listen on tls:/)
  assert.match(await errorOf(['--tls-key', key]), /--tls-key: also needs --tls-cert$/m)
  assert.match(
    await errorOf(given, { SCALER_TLS_CA: '/elsewhere.pem' }),
    /SCALER_TLS_CA: the file "\/elsewhere\.pem" does not exist/,
  )
  writeFileSync(file, `[scheduler]\ntls-ca = ${JSON.stringify(cert)}\ntls-key = "/no-key"\n`)
  assert.match(
    await errorOf(['--config', file, '--tls-cert', cert]),
    /scaler\.toml:3:1: \[scheduler\] tls-key: the file "\/no-key" does not exist/,
  )
  assert.match(await errorOf([]), /without certificates: .*--tls-ca/)
  writeFileSync(
    file,
    `[scheduler]\n${Object.entries({ ca, cert, key })
      .map(([part, path]) => `tls-${part} = ${JSON.stringify(path)}`)
      .join('\n')}\n`,
  )
  const started = startCommand(t, 'scaler-scheduler', ['--config', file, 'tls://127.0.0.1:0'])
  const { address } = await started.line((line) => 'address' in line)
  assert.match(String(address), /^tls:/)
})

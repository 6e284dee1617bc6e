// An allocator that starts workers through a real sshd on loopback.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { TestCluster } from '../chaos/cluster.js'
import { allocate, decisions, filesGone, runAndLeave } from './allocation.js'
import { until } from './condition.js'

const SSHD = '/usr/sbin/sshd'
const isRoot = process.getuid?.() === 0
const skip = !existsSync(SSHD) ? 'no sshd' : isRoot ? false : 'needs root'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'data')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** Starts an sshd with keys of its own, and returns the command to log in there. */
async function startSshd(t: TestContext, env: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sshd-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['host', 'user']) {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)])
  }
  mkdirSync('/run/sshd', { recursive: true })
  const port = await freePort()
  const settings = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${folder}/host`,
    `AuthorizedKeysFile ${folder}/user.pub`,
    'PidFile none',
    'StrictModes no',
    'PermitRootLogin prohibit-password',
    'UsePAM no',
    `SetEnv ${Object.entries(env)
      .map(([name, value]) => `${name}=${value}`)
      .join(' ')}`,
  ]
  writeFileSync(join(folder, 'config'), settings.join('\n'))
  const sshd = spawn(SSHD, ['-D', '-e', '-f', join(folder, 'config')], { stdio: 'ignore' })
  t.after(async () => {
    sshd.kill()
    await once(sshd, 'exit')
  })
  await until('the sshd listens', () => answers(port))
  const options = ['BatchMode=yes', 'StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null']
  const flags = options.map((option) => `-o ${option}`).join(' ')
  return `ssh -q -F none -p ${port} -i ${folder}/user ${flags}`
}

test('workers on a host by ssh, after one that refuses to log in', { skip }, async (t) => {
  const cluster = await TestCluster.start(t, { agents: [] })
  const ssh = await startSshd(t, cluster.env)
  const hosts = [
    '--hosts',
    'nobody@127.0.0.1,127.0.0.1',
    '--ssh-command',
    ssh,
    '--workers-per-unit',
    '2',
  ]
  const allocator = allocate(cluster, 'ssh', hosts)
  const lines = await runAndLeave(cluster, 100)
  assert.deepEqual([lines.length, new Set(lines).size], [100, 100])
  assert.equal(decisions(allocator, 'start').length, 1)
  await filesGone(cluster)
})

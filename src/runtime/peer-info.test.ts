import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { machineId, newIdentity, peerInfo } from './peer-info.js'

test('a process reports where it runs and since when', () => {
  const info = peerInfo({ name: 'main.mjs' })
  const { name, host, pid, endsMS, allocation } = info
  const expected = {
    name: 'main.mjs',
    host: hostname(),
    pid: process.pid,
    endsMS: 0,
    allocation: '',
  }
  assert.deepEqual({ name, host, pid, endsMS, allocation }, expected)
  assert.match(info.version, /^\d+\.\d+\.\d+/)
  assert.ok(info.startedMS <= Date.now() && info.startedMS > Date.now() - 3_600_000)
})

test('all processes on a machine report the same machine id', () => {
  const path = new URL('peer-info.js', import.meta.url).href
  const program = `import(${JSON.stringify(path)}).then((it) => console.log(it.machineId()))`
  const other = execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' }).trim()
  assert.match(machineId(), /^[0-9a-f]{16}$/)
  assert.equal(other, machineId())
})

test('a client identity has the form that monitors know, and is new each time', () => {
  const first = newIdentity('Client')
  assert.match(first, new RegExp(`^${process.pid}\\|Client\\|[0-9a-f]{32}$`))
  assert.notEqual(first, newIdentity('Client'))
})

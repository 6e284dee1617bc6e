import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'

/** The stderr of a program that uses clients, and its exit. */
async function run(program: string): Promise<{ readonly code: unknown; readonly stderr: string }> {
  const path = (name: string): string => JSON.stringify(new URL(name, import.meta.url).href)
  const source = `
    import { Client } from ${path('./client.js')}
    import { checkClientOptions } from ${path('./options.js')}
    ${program}`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const stderr = text(child.stderr)
  const code = await new Promise((resolve) => child.on('close', resolve))
  return { code, stderr: await stderr }
}

function warnings(stderr: string): string[] {
  return stderr.match(/\[SCALER_UNCLOSED_CLIENT\].*/g) ?? []
}

test('a program that has not closed its client gets one warning, and exits as usual', async () => {
  const { code, stderr } = await run(`
    new Client('tcp://127.0.0.1:1').with({ priority: 1 })
    process.exitCode = 3`)
  const [warning, ...others] = warnings(stderr)
  assert.match(warning ?? '', /the client of tcp:\/\/127\.0\.0\.1:1 was not closed; call close/)
  assert.deepEqual(others, [])
  assert.equal(code, 3)
})

test('with several clients there is one warning that names them all', async () => {
  const { code, stderr } = await run(`
    const closed = new Client('tcp://127.0.0.1:1')
    new Client('tcp://127.0.0.1:2')
    new Client('tcp://127.0.0.1:3')
    await closed.close()`)
  const [warning, ...others] = warnings(stderr)
  assert.match(warning ?? '', /2 clients were not closed: tcp:\/\/127\.0\.0\.1:2, tcp:.*:3;/)
  assert.deepEqual(others, [])
  assert.equal(code, 0)
})

test('a program that has closed its clients, or exits by itself, gets no warning', async () => {
  for (const program of [
    `await new Client('tcp://127.0.0.1:1')[Symbol.asyncDispose]()`,
    `await new Client('tcp://127.0.0.1:1').disconnect()`,
    `new Client('tcp://127.0.0.1:1'); process.exit(0)`,
  ]) {
    assert.deepEqual(warnings((await run(program)).stderr), [])
  }
})

test('a process with clients only inside tasks gets no warning', async () => {
  const { code, stderr } = await run(`
    const settings = checkClientOptions({})
    Client.inside({ address: 'tcp://127.0.0.1:1', settings, worker: 'w' }).submit(() => 1)`)
  assert.deepEqual(warnings(stderr), [])
  assert.equal(code, 0)
})

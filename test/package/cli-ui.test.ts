// `scaler ui` without a browser: what it serves, and how it starts and ends.

import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { Client } from 'scaler-ts'
import { runCommand, startCommand } from './command.js'

type Answer = Readonly<Record<string, unknown>>

async function answer(url: string, path: string): Promise<Answer> {
  const response = await fetch(new URL(path, url))
  return (await response.json()) as Answer
}

/** The answer of the API once it satisfies a condition. */
async function answerWith(
  url: string,
  path: string,
  isWanted: (answer: Answer) => boolean,
): Promise<Answer> {
  for (;;) {
    const found = await answer(url, path)
    if (isWanted(found)) return found
  }
}

test('the page and the API show a cluster, until it is stopped', async (t) => {
  await using client = await Client.local({ workers: 2 })
  const ui = startCommand(t, 'scaler', ['ui', client.address, '--port', '0'])
  const { url: found } = await ui.line((line) => 'url' in line)
  const url = String(found)
  await ui.line(({ message }) => String(message).startsWith('UI: only this machine can reach it'))
  const page = await (await fetch(url)).text()
  assert.match(page, /<title>Scaler<\/title>/)
  const [, script = ''] = /src="([^"]+)"/.exec(page) ?? []
  assert.ok((await (await fetch(new URL(script, url))).text()).length > 10_000)
  await answerWith(url, '/api/overview', ({ stale }) => stale === false)
  await client.submit(function price(): void {})
  const { rows } = await answerWith(url, '/api/tasks', ({ total }) => total === 1)
  const [task] = rows as readonly Answer[]
  assert.deepEqual([task?.['function'], task?.['state']], ['price', 'success'])
  const explained = await answer(url, `/api/tasks/${String(task?.['id'])}`)
  assert.equal((explained['explanation'] as Answer)['state'], 'success')
  ui.child.kill('SIGTERM')
  const { code, signal } = await ui.ended
  assert.deepEqual([code, signal], [143, null])
})

test('without a scheduler, the page says why', async (t) => {
  const ui = startCommand(t, 'scaler-ui', ['tcp://127.0.0.1:1', '--port', '0', '-t', '0.2'])
  const { url } = await ui.line((line) => 'url' in line)
  const { health, stale, ageMs } = await answerWith(String(url), '/api/overview', (found) => {
    return !JSON.stringify(found['health']).includes('not reported yet')
  })
  assert.match(JSON.stringify(health), /127\.0\.0\.1/)
  assert.deepEqual([stale, ageMs], [true, null])
})

test('wrong usage and a port in use end it', async (t) => {
  const wrong = await runCommand(t, 'scaler', ['ui', 'nonsense', '--port', '0'])
  assert.equal(wrong.code, 2)
  assert.match(wrong.stderr, /nonsense/)
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const { port } = server.address() as { readonly port: number }
  const used = await runCommand(t, 'scaler', ['ui', 'tcp://127.0.0.1:1', '--port', `${port}`])
  assert.equal(used.code, 1)
  assert.match(used.stderr, /--port: another program is listening on port \d+/)
})

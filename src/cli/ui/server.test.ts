import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import { silentLogger } from '../../base/logger.js'
import type { OperatorReply } from '../../client/monitor/operator-reply.js'
import { Board } from './board.js'
import { ended, failure, info } from './board.kit.js'
import { type ServerSetup, UiServer } from './server.js'

const PAGE = {
  html: '<link rel="stylesheet" href="/page.css"><script src="/page.js" defer></script>',
  css: 'body {}',
  js: 'void 0',
}

const REPLY: OperatorReply = {
  outcome: 'done',
  note: '',
  tasks: [],
  stack: [],
  lines: [],
  objects: [],
  worker: null,
}

async function start(t: TestContext, more: Partial<ServerSetup> = {}): Promise<UiServer> {
  const board = new Board()
  const state = info({ failures: [failure('bb01')] })
  board.onEvents([ended('bb00'), { type: 'sample', info: state }], Date.now())
  const server = await UiServer.listen({
    host: '127.0.0.1',
    port: 0,
    allowedHosts: [],
    board,
    page: PAGE,
    ask: () => Promise.resolve(REPLY),
    logger: { ...silentLogger, error: (text) => assert.fail(text) },
    ...more,
  })
  t.after(() => server.close())
  return server
}

function dial({ url }: UiServer): Socket {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  return socket
}

/** What is answered to these bytes until the connection is closed. */
async function raw(server: UiServer, bytes: string): Promise<string> {
  const socket = dial(server)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.write(bytes)
  await new Promise<void>((resolve) => socket.once('close', () => resolve()))
  return Buffer.concat(chunks).toString()
}

async function status(server: UiServer, path: string, headers: string): Promise<number> {
  const request = `GET ${path} HTTP/1.1\r\nconnection: close\r\n${headers}\r\n\r\n`
  return Number(/^HTTP\/1.1 (\d+)/.exec(await raw(server, request))?.[1] ?? 0)
}

test('the page names its files by their contents, and allows nothing else', async (t) => {
  const server = await start(t)
  const page = await fetch(server.url)
  const html = await page.text()
  const policy = page.headers.get('content-security-policy') ?? ''
  assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
  assert.doesNotMatch(policy, /unsafe|\*|data:/)
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
  assert.equal(page.headers.get('set-cookie'), null)
  for (const [, name = ''] of html.matchAll(/(?:href|src)="([^"]+)"/g)) {
    assert.match(name, /^\/page\.[\da-f]{16}\.(css|js)$/)
    const file = await fetch(new URL(name, server.url))
    assert.equal(file.status, 200)
    assert.match(file.headers.get('cache-control') ?? '', /immutable/)
    await file.text()
  }
})

test('the API answers JSON, with null for what is not known', async (t) => {
  const server = await start(t)
  const get = async (path: string): Promise<readonly [number, Record<string, unknown>]> => {
    const response = await fetch(new URL(`/api/${path}`, server.url))
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
    return [response.status, (await response.json()) as Record<string, unknown>]
  }
  const [code, overview] = await get('overview')
  assert.equal(code, 200)
  assert.equal(overview['stale'], false)
  const [, { rows }] = await get('workers?limit=1')
  assert.equal((rows as readonly { endsAt: unknown }[])[0]?.endsAt, null)
  assert.deepEqual(await get('workers?limit=x'), [
    400,
    { error: 'parameter limit: expected a number from 1 to 1000' },
  ])
  assert.equal((await get('nothing'))[0], 404)
  const [, task] = await get('tasks/bb00')
  assert.equal((task['task'] as { id: string }).id, 'bb00')
  assert.equal((await get('tasks/xyz'))[0], 400)
  assert.equal((await get('workers/w1/stack'))[1]['outcome'], 'done')
  assert.equal((await get('workers/w1/logs'))[1]['outcome'], 'done')
  const health = await fetch(new URL('/healthz', server.url))
  assert.equal(await health.text(), 'ok\n')
})

test('what the scheduler does not know is not found', async (t) => {
  const note = 'no such worker'
  const server = await start(t, { ask: async () => ({ ...REPLY, outcome: 'unknown', note }) })
  for (const path of ['workers/w9/stack', 'workers/w9/logs', 'tasks/cc00/stack']) {
    const response = await fetch(new URL(`/api/${path}`, server.url))
    assert.deepEqual([response.status, await response.json()], [404, { error: note }])
  }
})

test('what the scheduler does not answer is said, and what is known is shown', async (t) => {
  const server = await start(t, { ask: () => Promise.reject(new Error('no answer')) })
  const known = await fetch(new URL('/api/tasks/bb00', server.url))
  assert.equal(known.status, 200)
  const answer = (await known.json()) as Record<string, unknown>
  assert.equal(answer['note'], 'no answer')
  const unknown = await fetch(new URL('/api/tasks/cc00', server.url))
  assert.deepEqual([unknown.status, await unknown.json()], [503, { error: 'no answer' }])
})

test('other hosts, origins, sites, methods and paths are refused', async (t) => {
  const server = await start(t)
  const own = `host: ${new URL(server.url).host}`
  assert.equal(await status(server, '/api/overview', own), 200)
  assert.equal(await status(server, '/api/overview', 'host: evil.example'), 403)
  assert.equal(await status(server, '/', 'host: evil.example'), 403)
  const refused = await fetch(new URL('/api/overview', server.url), { method: 'POST' })
  assert.equal(refused.status, 405)
  assert.deepEqual(Object.keys((await refused.json()) as object), ['error'])
  assert.equal(await status(server, '/api/overview', `${own}\r\norigin: http://evil.example`), 403)
  assert.equal(await status(server, '/api/events', `${own}\r\norigin: null`), 403)
  assert.equal(await status(server, '/api/overview', `${own}\r\nsec-fetch-site: cross-site`), 403)
  for (const path of [
    '/../package.json',
    '/%2e%2e/package.json',
    '//etc/passwd',
    '/page.js/../../x',
    '/api/../healthz',
    'http://evil.example/',
    '/\\..\\x',
  ]) {
    assert.equal(await status(server, path, own), 404, path)
  }
  assert.equal(await status(server, '/api/workers/%ff', own), 400)
  const old = (path: string): Promise<string> => raw(server, `GET ${path} HTTP/1.0\r\n\r\n`)
  assert.match(await old('/healthz'), /^HTTP\/1.1 200 /)
  assert.match(await old('/metrics'), /^HTTP\/1.1 403 /)
  const post = await raw(
    server,
    `POST /api/overview HTTP/1.1\r\n${own}\r\ncontent-length: 5\r\n\r\nhello`,
  )
  assert.match(post, /^HTTP\/1.1 405 /)
  assert.match(post, /\r\nallow: GET, HEAD\r\n/i)
})

test('malformed, huge and slow requests are refused, and end their connection', async (t) => {
  const server = await start(t, { times: { headerMs: 200, answerMs: 400 } })
  const own = `host: ${new URL(server.url).host}`
  // Cookies of all programs on this machine come along.
  assert.equal(await status(server, '/', `${own}\r\ncookie: ${'a'.repeat(20_000)}`), 200)
  assert.equal(await status(server, '/', `${own}\r\nx: ${'a'.repeat(40_000)}`), 431)
  assert.equal(await status(server, `/${'a'.repeat(40_000)}`, own), 431)
  assert.match(await raw(server, '\u0000\u0001\r\n\r\n'), /^HTTP\/1.1 400 [^]*\r\n\r\n$/)
  assert.match(await raw(server, 'GET / HTTP/1.1\r\n'), /^HTTP\/1.1 408 /)
  // Nothing comes at all.
  const socket = dial(server).resume()
  await once(socket, 'close')
  assert.equal((await fetch(server.url)).status, 200)
})

test('names are data: nothing in an answer can become markup', async (t) => {
  const board = new Board()
  const hostile = '<script>alert(1)</script>\u2028'
  board.onEvents(
    [
      ended('bb00', { name: hostile, function: hostile, client: hostile }),
      { type: 'sample', info: info({ failures: [failure('bb00', { message: hostile })] }) },
    ],
    Date.now(),
  )
  const server = await start(t, { board })
  for (const path of ['api/tasks', 'api/failures', 'api/tasks/bb00']) {
    const response = await fetch(new URL(path, server.url))
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
    assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
    assert.ok((await response.text()).includes('alert(1)'))
  }
})

test('a page gets the state, then what has changed', async (t) => {
  const server = await start(t)
  const stop = new AbortController()
  const url = new URL('/api/events?view=workers&limit=1', server.url)
  const response = await fetch(url, { signal: stop.signal })
  assert.equal(response.headers.get('content-type'), 'text/event-stream')
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true })
    if (text.split('\n\n').length > 2) break
  }
  stop.abort()
  const [first = '', second = ''] = text.split('\n\n').map((part) => part.replace('data: ', ''))
  const state = JSON.parse(first) as Record<string, Record<string, unknown>>
  assert.deepEqual(state['table']?.['ids'], ['w1'])
  assert.ok(Object.hasOwn(state['overview'] ?? {}, 'health'))
  assert.deepEqual(Object.keys(JSON.parse(second) as object), ['overview'])
  assert.ok(second.length < 500)
  const bad = await fetch(new URL('/api/events?view=none', server.url))
  assert.equal(bad.status, 400)
  await bad.text()
})

test('only so many pages are served at once', async (t) => {
  const server = await start(t)
  const stop = new AbortController()
  const open = (): Promise<Response> => {
    return fetch(new URL('/api/events', server.url), { signal: stop.signal })
  }
  const pages = await Promise.all(Array.from({ length: 32 }, open))
  assert.deepEqual(new Set(pages.map((page) => page.status)), new Set([200]))
  const further = await open()
  assert.equal(further.status, 503)
  await further.text()
  stop.abort()
})

test('a reader that does not take its answer is dropped', async (t) => {
  const functions = Array.from({ length: 1_000 }, (_, at) => {
    const unknown = { meanMs: 1, p50Ms: 1, p90Ms: 1, p99Ms: 1, maxMs: 1, peakBytes: undefined }
    return { name: `${at}`.repeat(2_000), count: 1, failed: 0, ...unknown }
  })
  const board = new Board()
  board.onEvents([{ type: 'sample', info: info({ functions }) }], Date.now())
  const server = await start(t, { board, times: { headerMs: 200, answerMs: 400 } })
  const socket = dial(server)
  socket.pause()
  const own = `host: ${new URL(server.url).host}`
  socket.write(`GET /api/functions?limit=1000 HTTP/1.1\r\n${own}\r\n\r\n`.repeat(4))
  // A paused socket does not see the end of the connection; a write to it fails.
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const writer = setInterval(() => socket.write('\r\n'), 50)
  t.after(() => clearInterval(writer))
  await closed
})

test('long answers are compressed for those who take that', async (t) => {
  const board = new Board()
  const functions = Array.from({ length: 100 }, (_, at) => {
    const unknown = { meanMs: 1, p50Ms: 1, p90Ms: 1, p99Ms: 1, maxMs: 1, peakBytes: undefined }
    return { name: `f${at}`, count: 1, failed: 0, ...unknown }
  })
  board.onEvents([{ type: 'sample', info: info({ functions }) }], Date.now())
  const server = await start(t, { board })
  const url = new URL('/api/functions', server.url)
  const get = async (accepted: string): Promise<readonly [string | null, unknown]> => {
    const response = await fetch(url, { headers: { 'accept-encoding': accepted } })
    const { total } = (await response.json()) as { readonly total: unknown }
    return [response.headers.get('content-encoding'), total]
  }
  assert.deepEqual(await get('gzip, deflate'), ['gzip', 100])
  assert.deepEqual(await get('identity'), [null, 100])
})

test('metrics are served as text', async (t) => {
  const server = await start(t)
  const response = await fetch(new URL('/metrics', server.url))
  assert.match(response.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  assert.match(await response.text(), /^scaler_up 1$/m)
})

test('the option is named if the port is in use', async (t) => {
  const server = await start(t)
  const port = Number(new URL(server.url).port)
  await assert.rejects(
    start(t, { port }),
    /^Error: option port: another program is listening on port \d+; use another one/,
  )
})

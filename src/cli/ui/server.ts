// The HTTP server of `scaler ui`: the page, the API, and server-sent events. It only reads. Each
// request, connection and answer has a limit, because there is no login.

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Logger } from '../../base/logger.js'
import { Recurrence } from '../../base/recurrence.js'
import type { OperatorQuestion } from '../../client/monitor/look.js'
import { jsonText } from '../../base/text.js'
import { refuseRequest } from '../../runtime/http-refusal.js'
import { answerOf, decoded, knownClient, knownTask, overviewOf } from './answers.js'
import type { Board } from './board.js'
import { allowedNames, type Asker, refusalOf } from './guard.js'
import { type Ask, Inquiries } from './inquiries.js'
import { uiMetrics } from './metrics.js'
import { PageFeed } from './page-feed.js'
import type { PageFiles } from './page-files.js'
import { checkParameters, RequestError, ROWS, rowsQuery } from './query.js'
import { rowsReader, TABLES } from './rows.js'

const LIMITS = { connections: 128, headerBytes: 32_768, feeds: 32, feedRows: 200 } as const

/** Time limits in milliseconds. */
interface ServerTimes {
  /** For the head of a request. */
  readonly headerMs: number
  /** For everything that a reader does with one answer, except for events. */
  readonly answerMs: number
}

const TIMES: ServerTimes = { headerMs: 5_000, answerMs: 30_000 }
const TICK_MS = 1_000
const ERROR_INTERVAL_MS = 60_000

const SECURITY = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const

/** Answers with more characters are compressed. */
const LONG = 4_096

const FOREVER = 'public, max-age=31536000, immutable'

/** Where the server listens, and what it shows. */
export interface ServerSetup {
  readonly host: string
  readonly port: number
  /** Names by which it may be asked for besides its address and those of the loopback. */
  readonly allowedHosts: readonly string[]
  readonly board: Board
  readonly page: PageFiles
  readonly ask: Ask
  readonly logger: Logger
  readonly times?: ServerTimes
}

interface File {
  readonly type: string
  readonly body: string
  readonly cache: string
}

/** Serves the state of one cluster. */
export class UiServer {
  readonly #setup: ServerSetup
  readonly #server: Server
  readonly #names: ReadonlySet<string>
  readonly #files: ReadonlyMap<string, File>
  readonly #inquiries: Inquiries
  readonly #feeds = new Set<PageFeed>()
  readonly #errors = new Recurrence(ERROR_INTERVAL_MS)
  readonly #ticker: NodeJS.Timeout
  readonly #answering = new WeakSet<Duplex>()

  private constructor(setup: ServerSetup) {
    const { headerMs, answerMs } = setup.times ?? TIMES
    this.#setup = setup
    this.#names = allowedNames(setup.host, setup.allowedHosts)
    this.#files = filesOf(setup.page)
    this.#inquiries = new Inquiries(setup.ask)
    this.#server = createServer({
      maxHeaderSize: LIMITS.headerBytes,
      headersTimeout: headerMs,
      requestTimeout: headerMs,
      keepAliveTimeout: headerMs,
      connectionsCheckingInterval: Math.ceil(headerMs / 4),
    })
    this.#server.maxConnections = LIMITS.connections
    this.#server.on('connection', (socket) => {
      socket.setTimeout(answerMs, () => socket.destroy())
    })
    this.#server.on('clientError', (error, socket) => this.#onClientError(error, socket))
    this.#server.on('request', (request, response) => {
      response.on('error', () => {})
      const timer = setTimeout(() => request.socket.destroy(), answerMs)
      this.#answering.add(request.socket)
      response.once('close', () => {
        clearTimeout(timer)
        this.#answering.delete(request.socket)
      })
      void this.#answer(request, response, timer)
    })
    this.#ticker = setInterval(() => this.#tick(), TICK_MS)
  }

  /** Rejects if it cannot listen, with an error that names the option. */
  static async listen(setup: ServerSetup): Promise<UiServer> {
    const ui = new UiServer(setup)
    const server = ui.#server
    const { host, port } = setup
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(
        { port, ...(host === '*' ? {} : { host: host.replace(/^\[|\]$/g, '') }) },
        () => {
          server.off('error', reject)
          resolve()
        },
      )
    }).catch((error: unknown) => {
      clearInterval(ui.#ticker)
      throw listenError(error, setup)
    })
    server.on('error', (error) => ui.#onError(error))
    return ui
  }

  /** `http://host:port/`, with the actual port. */
  get url(): string {
    const { family, address, port } = this.#server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`
  }

  /** Closes all connections. */
  close(): Promise<void> {
    clearInterval(this.#ticker)
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    // While there is an answer to another request, this one would be taken for a part of it.
    if (this.#answering.has(socket) || !socket.writable) return void socket.destroy()
    refuseRequest(socket, error)
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    timer: NodeJS.Timeout,
  ): Promise<void> {
    for (const [name, value] of Object.entries(SECURITY)) response.setHeader(name, value)
    const [path = '', search = ''] = splitOnce(request.url ?? '', '?')
    try {
      const refusal = refusalOf(askerOf(request, path === '/'), this.#names)
      // Load balancers may name no host where they only ask whether this is alive.
      const isProbe = path === '/healthz' && request.headers.host === undefined
      if (refusal !== undefined && !(isProbe && refusal.status === 403)) {
        if (refusal.status === 405) response.setHeader('allow', 'GET, HEAD')
        // A body may follow, which is not read.
        response.setHeader('connection', 'close')
        const { status, text } = refusal
        if (path.startsWith('/api/')) sendJson(response, status, { error: text })
        else sendText(response, status, text)
        return
      }
      const file = this.#files.get(path)
      if (file !== undefined) {
        response.setHeader('cache-control', file.cache)
        response.setHeader('content-type', file.type)
        response.end(file.body)
      } else if (path === '/api/events') {
        this.#openFeed(request, response, new URLSearchParams(search), timer)
      } else if (path.startsWith('/api/')) {
        const answer = await this.#api(path.slice('/api/'.length), new URLSearchParams(search))
        await sendLong(request, response, jsonText(answer))
      } else if (path === '/healthz') sendText(response, 200, 'ok')
      else if (path === '/metrics') {
        response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8')
        response.setHeader('cache-control', 'no-store')
        response.end(uiMetrics(this.#setup.board, Date.now()))
      } else if (path === '/favicon.ico') response.writeHead(204).end()
      else sendText(response, 404, 'no such path')
    } catch (error) {
      if (!(error instanceof RequestError)) this.#onError(error)
      const isTheirs = error instanceof RequestError
      const text = isTheirs ? error.message : 'internal error'
      if (response.headersSent) response.destroy()
      else sendJson(response, isTheirs ? error.status : 500, { error: text })
    }
  }

  async #api(path: string, given: URLSearchParams): Promise<object> {
    const { board } = this.#setup
    const [, table, id, about] = /^(tasks|workers)\/([^/]+)(?:\/(stack|logs))?$/.exec(path) ?? []
    if (table === 'tasks' && id !== undefined && about !== 'logs') {
      checkParameters(given, [])
      return this.#task(decoded(id).toLowerCase(), about === undefined ? 'explain' : 'stack')
    }
    if (table === 'workers' && id !== undefined && about !== undefined) {
      checkParameters(given, [])
      const action = about === 'stack' ? 'stack' : 'logs'
      return this.#inquire({ action, worker: decoded(id), lines: 200 })
    }
    return answerOf(board, path, given, Date.now())
  }

  async #task(id: string, action: 'explain' | 'stack'): Promise<object> {
    if (!/^[\da-f]{4,64}$/.test(id)) {
      throw new RequestError(400, 'a task is named by its id: 4 to 64 hexadecimal digits')
    }
    const { board } = this.#setup
    if (action === 'stack') return this.#inquire({ action, task: id })
    const known = { ...board.freshness(Date.now()), ...knownTask(board, id) }
    try {
      const { outcome, note, tasks } = await this.#inquiries.ask({ action, task: id }, Date.now())
      if (outcome === 'unknown' && known.task === null) throw new RequestError(404, 'no such task')
      const [explanation = null] = tasks
      const client = knownClient(board, explanation?.client ?? known.task?.client)
      return { ...known, outcome, note, explanation, client }
    } catch (error) {
      if (!(error instanceof RequestError) || error.status !== 503) throw error
      if (known.task === null) throw error
      const client = knownClient(board, known.task.client)
      return { ...known, outcome: null, note: error.message, explanation: null, client }
    }
  }

  async #inquire(question: OperatorQuestion): Promise<object> {
    const { outcome, note, tasks, stack, lines } = await this.#inquiries.ask(question, Date.now())
    if (outcome === 'unknown') throw new RequestError(404, note === '' ? 'not known' : note)
    return { ...this.#setup.board.freshness(Date.now()), outcome, note, tasks, stack, lines }
  }

  #openFeed(
    request: IncomingMessage,
    response: ServerResponse,
    given: URLSearchParams,
    timer: NodeJS.Timeout,
  ): void {
    const { board } = this.#setup
    checkParameters(given, ['view', ...ROWS])
    const view = given.get('view')
    const query = rowsQuery(given)
    const reader = rowsReader(view ?? '', {
      ...query,
      limit: Math.min(query.limit, LIMITS.feedRows),
    })
    if (view !== null && reader === undefined) {
      throw new RequestError(400, `parameter view: expected one of ${TABLES.join(', ')}`)
    }
    if (this.#feeds.size >= LIMITS.feeds) throw new RequestError(503, 'too many pages are open')
    clearTimeout(timer)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    if (request.method === 'HEAD') {
      response.end()
      return
    }
    const feed = new PageFeed(response, () => {
      return { overview: overviewOf(board, Date.now()), table: reader?.(board) }
    })
    this.#feeds.add(feed)
    response.once('close', () => this.#feeds.delete(feed))
    response.flushHeaders()
    feed.tick(performance.now())
  }

  #tick(): void {
    const now = performance.now()
    for (const feed of this.#feeds) feed.tick(now)
  }

  #onError(error: unknown): void {
    const count = this.#errors.note(performance.now())
    if (count > 0)
      this.#setup.logger.error('the web server has failed', { error: String(error), count })
  }
}

function listenError(error: unknown, { host, port }: ServerSetup): Error {
  const { code, message } = error as NodeJS.ErrnoException
  const option = code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' ? 'host' : 'port'
  const what: Readonly<Record<string, string>> = {
    EADDRNOTAVAIL: `this machine has no address ${host}`,
    ENOTFOUND: `the name ${host} does not resolve`,
    EADDRINUSE: `another program is listening on port ${port}; use another one, or 0 for any`,
    EACCES: `no permission to listen on port ${port}`,
  }
  return new Error(`option ${option}: ${what[code ?? ''] ?? message}`, { cause: error })
}

function askerOf({ method, headers, socket }: IncomingMessage, isPage: boolean): Asker {
  const site = headers['sec-fetch-site']
  return {
    method,
    host: headers.host,
    origin: headers.origin,
    fetchSite: typeof site === 'string' ? site : undefined,
    localAddress: socket.localAddress,
    isPage,
  }
}

/** Files are named by their contents: a page never gets those of another version. */
function filesOf({ html, css, js }: PageFiles): ReadonlyMap<string, File> {
  const nameOf = (text: string, end: string): string => {
    return `/page.${createHash('sha256').update(text).digest('hex').slice(0, 16)}.${end}`
  }
  const [cssName, jsName] = [nameOf(css, 'css'), nameOf(js, 'js')]
  const page = html.replace('/page.css', cssName).replace('/page.js', jsName)
  return new Map([
    ['/', { type: 'text/html; charset=utf-8', body: page, cache: 'no-cache' }],
    [cssName, { type: 'text/css; charset=utf-8', body: css, cache: FOREVER }],
    [jsName, { type: 'text/javascript; charset=utf-8', body: js, cache: FOREVER }],
  ])
}

function sendJson(response: ServerResponse, status: number, value: object): void {
  setJsonHeaders(response)
  response.statusCode = status
  response.end(jsonText(value))
}

/** Timelines have hundreds of bars that are nearly alike. */
async function sendLong(
  { headers }: IncomingMessage,
  response: ServerResponse,
  text: string,
): Promise<void> {
  setJsonHeaders(response)
  const accepted = String(headers['accept-encoding'] ?? '')
  if (text.length < LONG || !/\bgzip\b(?!;q=0)/.test(accepted)) {
    response.end(text)
    return
  }
  const body = await promisify(gzip)(text, { level: 1 })
  response.setHeader('content-encoding', 'gzip')
  response.end(body)
}

function setJsonHeaders(response: ServerResponse): void {
  response.setHeader('cache-control', 'no-store')
  response.setHeader('content-type', 'application/json; charset=utf-8')
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.setHeader('cache-control', 'no-store')
  response.setHeader('content-type', 'text/plain; charset=utf-8')
  response.statusCode = status
  response.end(`${text}\n`)
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)]
}

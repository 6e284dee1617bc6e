// The HTTP listener for metrics and probes. It shares the scheduler's event loop, therefore
// connections are limited in number, size and time, and each answers one request.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Recurrence } from '../base/recurrence.js'
import { refuseRequest } from '../runtime/http-refusal.js'
import { packageVersion } from '../runtime/process-statistics.js'
import { DescriptorUsage, ProcessUsage } from '../runtime/process-usage.js'
import { bindError, isLoopback } from '../transport/address.js'
import type { DescriptorRoom } from '../transport/descriptor-room.js'
import { type MetricsSnapshot, metricsText, type MetricsFormat } from './metrics-text.js'
import { parseMetricsAddress } from './scheduler-options.js'

/** Limits against slow, many and oversized requests. */
const LIMITS = { connections: 64, headerBytes: 8_192 } as const

/** A connection is closed after this time, whatever it does. */
const CONNECTION_MS = 10_000

/** Minimum interval between reports of errors. */
const TELL_INTERVAL_MS = 60_000

/** Scrapes within this time get the same text: many of them must not occupy the scheduler. */
const SHARED_FOR_MS = 100

const TYPES: Readonly<Record<MetricsFormat, string>> = {
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  plain: 'text/plain; version=0.0.4; charset=utf-8',
}

/** Of all other answers. */
const TEXT = 'text/plain; charset=utf-8'

/** Where the answers come from. */
interface MetricsSource {
  readonly snapshot: () => MetricsSnapshot
  /** Whether the scheduler accepts peers. */
  readonly isReady: () => boolean
  /** The listener continues after an error. Called at most once a minute; `count`: errors since. */
  readonly onError: (text: string, count: number) => void
  /** Connections are closed before those of peers if file descriptors run out. */
  readonly descriptorRoom: DescriptorRoom
}

interface SharedText {
  readonly body: Promise<string>
  readonly begunAt: number
}

/** Serves `/metrics`, `/healthz` and `/readyz`. */
export class MetricsServer {
  readonly #server: Server
  readonly #source: MetricsSource
  readonly #version = packageVersion()
  readonly #usage = new ProcessUsage()
  readonly #descriptors = new DescriptorUsage()
  readonly #texts = new Map<MetricsFormat, SharedText>()
  readonly #errors = new Recurrence(TELL_INTERVAL_MS)
  /** Open connections, the oldest first. */
  readonly #open = new Set<Duplex>()
  /** Those that have not sent a complete request. */
  readonly #idle = new Set<Duplex>()
  /** The host at which it listens, if that is on the loopback. */
  #ownHost: string | undefined

  private constructor(server: Server, source: MetricsSource) {
    this.#server = server
    this.#source = source
  }

  /** Rejects with an error that names the option if it cannot listen at `address`, `host:port`. */
  static async listen(
    address: string,
    source: MetricsSource,
    connectionMs: number = CONNECTION_MS,
  ): Promise<MetricsServer> {
    const { host, port } = parseMetricsAddress(address)
    // Loaded here, because most schedulers serve no metrics. Not imported: that reads all exports,
    // including those for which Node loads `fetch`.
    const { createServer } = process.getBuiltinModule('node:http')
    const server = createServer({ maxHeaderSize: LIMITS.headerBytes })
    const metrics = new MetricsServer(server, source)
    server.maxRequestsPerSocket = 1
    server.on('connection', (socket) => metrics.#onConnection(socket, connectionMs))
    server.on('clientError', (error, socket) => metrics.#onClientError(error, socket))
    server.on('request', (request, response) => {
      metrics.#idle.delete(request.socket)
      metrics.#answer(request, response)
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen({ port, ...(host === '*' ? {} : { host }) }, () => {
        server.off('error', reject)
        resolve()
      })
    }).catch((error: unknown) => {
      throw listenError(address, error)
    })
    // For example, no file descriptor is left for another connection.
    server.on('error', (error) => metrics.#onError(error))
    const bound = server.address()
    const isOnLoopback = bound !== null && typeof bound !== 'string' && isLoopback(bound.address)
    if (isOnLoopback) metrics.#ownHost = host.toLowerCase()
    return metrics
  }

  /** `host:port`, with the actual port. */
  get address(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') return ''
    const { family, address: host, port } = address
    return family === 'IPv6' ? `[${host}]:${port}` : `${host}:${port}`
  }

  /** Closes all connections. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  /** There is always room for another connection, so that probes get through. */
  #onConnection(socket: Socket, connectionMs: number): void {
    if (this.#open.size >= LIMITS.connections) {
      const [oldest] = this.#idle.size > 0 ? this.#idle : this.#open
      oldest?.destroy()
    }
    const connection = { close: () => void socket.destroy() }
    const timer = setTimeout(connection.close, connectionMs)
    this.#open.add(socket)
    this.#idle.add(socket)
    this.#source.descriptorRoom.onAccepted(connection)
    socket.once('close', () => {
      clearTimeout(timer)
      this.#open.delete(socket)
      this.#idle.delete(socket)
      this.#source.descriptorRoom.onSpoken(connection)
    })
  }

  /** A request that cannot be read, or is too long. */
  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    // After a request that was read, this answer would be taken for the one to that.
    if (!this.#idle.has(socket) || !socket.writable) return void socket.destroy()
    refuseRequest(socket, error)
  }

  /** On the loopback, web pages of others could ask under names of their own (DNS rebinding). */
  #isAllowedHost(host: string | undefined): boolean {
    if (host === undefined || this.#ownHost === undefined) return true
    const name = host
      .toLowerCase()
      .replace(/:\d{1,5}$/, '')
      .replace(/^\[(.*)\]$/, '$1')
    return name === this.#ownHost || isLoopback(name)
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader('connection', 'close')
    response.setHeader('content-type', TEXT)
    if (!this.#isAllowedHost(request.headers.host)) {
      response.writeHead(403).end('unknown host: ask for localhost, or listen at another address\n')
      return
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end('only GET and HEAD\n')
      return
    }
    switch (request.url?.split('?', 1)[0]) {
      case '/metrics':
        void this.#metrics(request, response)
        break
      case '/healthz':
        response.end('ok\n')
        break
      case '/readyz':
        response.statusCode = this.#source.isReady() ? 200 : 503
        response.end(response.statusCode === 200 ? 'ready\n' : 'not ready\n')
        break
      default:
        response.writeHead(404).end('not found: there are /metrics, /healthz and /readyz\n')
    }
  }

  async #metrics({ headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    const format = formatFor(headers.accept ?? '')
    try {
      const body = await this.#text(format)
      response.setHeader('content-type', TYPES[format])
      response.end(body)
    } catch (error) {
      this.#onError(error)
      response.writeHead(500).end()
    }
  }

  #onError(error: unknown): void {
    const count = this.#errors.note(performance.now())
    if (count > 0) this.#source.onError(String(error), count)
  }

  #text(format: MetricsFormat): Promise<string> {
    const now = performance.now()
    const shared = this.#texts.get(format)
    if (shared !== undefined && now - shared.begunAt < SHARED_FOR_MS) return shared.body
    const body = this.#newText(format)
    this.#texts.set(format, { body, begunAt: now })
    return body
  }

  async #newText(format: MetricsFormat): Promise<string> {
    const { open: openDescriptors, max: maxDescriptors } = await this.#descriptors.read()
    const { cpuMs, rssBytes: residentBytes } = this.#usage
    const facts = {
      cpuSeconds: cpuMs / 1_000,
      residentBytes,
      openDescriptors,
      maxDescriptors,
      startedAtSeconds: performance.timeOrigin / 1_000,
      version: this.#version,
      node: process.versions.node,
    }
    return metricsText(this.#source.snapshot(), facts, format)
  }
}

/** OpenMetrics, unless the reader prefers text: older readers of metrics do, and browsers. */
function formatFor(accept: string): MetricsFormat {
  let plain = 0
  let open: number | undefined
  for (const range of accept.toLowerCase().split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim())
    const valueOf = (name: string): string | undefined =>
      parameters.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1)
    const weight = Number(valueOf('q') ?? 1)
    const version = valueOf('version') ?? '1.0.0'
    if (type === 'application/openmetrics-text' && version === '1.0.0') {
      open = Math.max(open ?? 0, weight)
    } else if (type?.startsWith('text/') === true) plain = Math.max(plain, weight)
  }
  return open === 0 || plain > (open ?? 0) ? 'plain' : 'openmetrics'
}

function listenError(address: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const told = bindError(address, error)
  told.message = `option metricsAddress: ${told.message}`
  return told
}

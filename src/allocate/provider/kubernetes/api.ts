// Requests to the API server of a Kubernetes cluster. What is lost on the way, or refused only for
// now, is sent again. The client library knows how to log in, and nothing else is left to it: its
// typed calls would drop the fields of a pod template that they do not know.

import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { setTimeout } from 'node:timers/promises'
import { ScalerError } from '../../../base/errors.js'
import { messageOf } from '../../../base/text.js'

/** How often a request is sent at most. */
const ATTEMPTS = 5
/** The pause before the second attempt; it doubles. */
const FIRST_PAUSE_MS = 250
/** A server that asks for a longer pause is asked again later, by a new request. */
const MAX_PAUSE_MS = 10_000
/** An attempt that has no answer by then has failed. */
const TIMEOUT_MS = 20_000
/** After this long, a request is not sent again. */
const PATIENCE_MS = 30_000
/** After this long without data, the system asks whether the server is still there. */
const KEEP_ALIVE_MS = 10_000
/** How many objects a page of a list has. */
const PAGE_SIZE = 500

/** Where the server is, and how to log in there. */
export interface ApiAccess {
  /** `https://host:port`, possibly with a path. */
  readonly server: string
  readonly namespace: string
  /** Adds to a request what it is authenticated with: certificates, headers. */
  prepare(options: RequestOptions): Promise<void>
}

/** What to ask for. */
interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

/** A refusal of the server. */
export class ApiError extends ScalerError {
  /** The status of HTTP. */
  readonly status: number
  /** The server's word for it: `AlreadyExists`, `NotFound`, `Forbidden`. */
  readonly reason: string
  /** How often the request was sent: an earlier attempt may have been carried out. */
  readonly attempts: number

  constructor(answer: Answer, attempts: number) {
    const { reason, message } = statusIn(answer.text)
    const word = reason === '' ? '' : ` ${reason}`
    super('ERR_SCALER_PROVIDER', `the API server answered ${answer.status}${word}: ${message}`)
    this.status = answer.status
    this.reason = reason
    this.attempts = attempts
  }
}

interface Answer {
  readonly status: number
  readonly retryAfter: string | undefined
  readonly text: string
}

/** A list, or one page of it. */
interface List<Item> {
  readonly items?: readonly Item[]
  readonly metadata?: { readonly continue?: string; readonly resourceVersion?: string }
}

/** All objects that match. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  /** The version from which a watch continues; '' if the server gives none. */
  readonly version: string
}

/** The API server. */
export class KubernetesApi {
  readonly #access: ApiAccess

  constructor(access: ApiAccess) {
    this.#access = access
  }

  /** The path of a collection in the namespace: `jobs` of `/apis/batch/v1`. */
  pathOf(group: string, ...names: readonly string[]): string {
    return [group, 'namespaces', this.#access.namespace, ...names].join('/')
  }

  /**
   * Resolves with the text of the answer. Rejects with `ApiError` if the server refuses, and with
   * another `ScalerError` (`ERR_SCALER_PROVIDER`) if it cannot be reached.
   */
  async send(request: ApiRequest): Promise<string> {
    const end = performance.now() + PATIENCE_MS
    for (let attempt = 1; ; attempt += 1) {
      let answer: Answer | undefined
      let problem: unknown
      try {
        answer = await this.#sendOnce(request)
      } catch (error) {
        problem = error
      }
      if (answer !== undefined && answer.status < 300) return answer.text
      const pauseMs = pauseAfter(answer, attempt)
      const mayWait = pauseMs <= MAX_PAUSE_MS && performance.now() + pauseMs < end
      if (attempt < ATTEMPTS && mayWait) {
        await setTimeout(pauseMs)
        continue
      }
      if (answer !== undefined) throw new ApiError(answer, attempt)
      const text = `cannot reach the API server ${this.#access.server}: ${messageOf(problem)}`
      throw new ScalerError('ERR_SCALER_PROVIDER', text, { cause: problem })
    }
  }

  /** All objects that match, page by page; a list that changes too much meanwhile starts over. */
  async list<Item>(path: string, query: Readonly<Record<string, string>>): Promise<Listed<Item>> {
    const items: Item[] = []
    let next = ''
    for (;;) {
      const more: Readonly<Record<string, string>> = next === '' ? {} : { continue: next }
      const page = { ...query, limit: String(PAGE_SIZE), ...more }
      try {
        const text = await this.send({ method: 'GET', path, query: page })
        const list = JSON.parse(text) as List<Item>
        items.push(...(list.items ?? []))
        next = list.metadata?.continue ?? ''
        if (next === '') return { items, version: list.metadata?.resourceVersion ?? '' }
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 410 || next === '') throw error
        items.length = 0
        next = ''
      }
    }
  }

  /**
   * Watches the objects that match, from the `resourceVersion` of the query on. Resolves with the
   * stream of events once the server accepts. Rejects with `ApiError` if it refuses. Sends nothing
   * again; `signal` ends it.
   */
  async watch(
    path: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>> {
    const more = { ...query, watch: '1', allowWatchBookmarks: 'true' }
    const response = await this.#open({ method: 'GET', path, query: more }, signal)
    if (response.statusCode === 200) return response
    throw new ApiError(answerOf(response, await textOf(response)), 1)
  }

  async #sendOnce(request: ApiRequest): Promise<Answer> {
    const response = await this.#open(request, AbortSignal.timeout(TIMEOUT_MS))
    return answerOf(response, await textOf(response))
  }

  /** Resolves when the server begins to answer. */
  async #open(
    { method, path, query = {}, body }: ApiRequest,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const url = new URL(`${this.#access.server.replace(/\/$/, '')}${path}`)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const content = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      accept: 'application/json',
      'user-agent': 'scaler-allocate',
      ...(content === undefined ? {} : { 'content-type': 'application/json' }),
    }
    const options: RequestOptions = { method, headers, signal }
    await this.#access.prepare(options)
    const start = url.protocol === 'http:' ? httpRequest : httpsRequest
    return new Promise((resolve, reject) => {
      const sent = start(url, options, resolve)
      // A watch that is quiet may be one whose server is gone.
      sent.setSocketKeepAlive(true, KEEP_ALIVE_MS)
      sent.on('error', reject)
      sent.end(content)
    })
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

function answerOf({ statusCode = 0, headers }: IncomingMessage, text: string): Answer {
  return { status: statusCode, retryAfter: headers['retry-after'], text }
}

/** How long to wait before the next attempt; Infinity: the answer would be the same. */
function pauseAfter(answer: Answer | undefined, attempt: number): number {
  const pauseMs = FIRST_PAUSE_MS * 2 ** (attempt - 1)
  if (answer === undefined) return pauseMs
  const { status, retryAfter, text } = answer
  // Of two changes to the same quota at a time, one is refused.
  const isConflict = status === 409 && statusIn(text).reason === 'Conflict'
  if (status !== 429 && status < 500 && !isConflict) return Infinity
  const seconds = Number(retryAfter)
  return retryAfter === undefined || Number.isNaN(seconds) ? pauseMs : seconds * 1_000
}

/** What a refusal says: a `Status`, or any text, for example of a proxy. */
function statusIn(text: string): { readonly reason: string; readonly message: string } {
  try {
    const { reason, message } = JSON.parse(text) as Readonly<Record<string, unknown>>
    if (typeof message === 'string') {
      return { reason: typeof reason === 'string' ? reason : '', message }
    }
  } catch {
    // See above.
  }
  return { reason: '', message: text.trim().slice(0, 200) }
}

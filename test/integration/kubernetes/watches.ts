// The watches of the stand-in: each change has a version, from which a watch continues. Streams are
// cut into chunks anywhere, also within a character, and end or fail on demand.

import type { ServerResponse } from 'node:http'
import type { Job, Pod } from './objects.js'

const CHUNK_BYTES = 97

/** In each event: longer than a chunk, so that a border is among its characters. */
const NOTE = '€'.repeat(CHUNK_BYTES)

interface Change {
  readonly version: number
  readonly kind: string
  readonly object: Job | Pod
  readonly line: string
}

interface Watch {
  readonly kind: string
  readonly query: Readonly<Record<string, string>>
  /** Whether the selectors of the query match. */
  readonly matches: (object: Job | Pod) => boolean
}

/** All changes, and who watches them. */
export class Watches {
  readonly #changes: Change[] = []
  readonly #streams = new Map<ServerResponse, Watch>()
  #version = 1_000
  /** Older versions are gone. */
  #oldest = 1_000

  /** Of a list that is made now. */
  get version(): string {
    return String(this.#version)
  }

  /** How many watches of a kind are open. */
  count(kind: string): number {
    return [...this.#streams.values()].filter((watch) => watch.kind === kind).length
  }

  /** An object has changed. */
  record(kind: string, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Job | Pod): void {
    this.#version += 1
    object.metadata.resourceVersion = this.version
    const line = lineOf(type, { ...object, note: NOTE })
    const change = { version: this.#version, kind, object, line }
    this.#changes.push(change)
    for (const [stream, watch] of this.#streams) this.#send(stream, watch, change)
  }

  /** Answers a request for a watch. */
  open(response: ServerResponse, watch: Watch): void {
    const { resourceVersion = '', timeoutSeconds = '' } = watch.query
    response.writeHead(200, { 'content-type': 'application/json' }).flushHeaders()
    const from = Number(resourceVersion)
    if (from < this.#oldest) {
      writeInChunks(response, EXPIRED)
      response.end()
      return
    }
    for (const change of this.#changes) {
      if (change.version > from) this.#send(response, watch, change)
    }
    const timer = setTimeout(() => response.end(), Number(timeoutSeconds) * 1_000)
    this.#streams.set(response, watch)
    response.once('close', () => {
      clearTimeout(timer)
      this.#streams.delete(response)
    })
    if (watch.query['allowWatchBookmarks'] !== 'true') return
    const metadata = { resourceVersion: this.version }
    writeInChunks(response, lineOf('BOOKMARK', { metadata, note: NOTE }))
  }

  /** Breaks all connections of watches. */
  drop(): void {
    for (const stream of this.#streams.keys()) stream.destroy()
  }

  /** Forgets what has changed so far: watches end with 410. */
  expire(): void {
    this.#version += 1
    this.#oldest = this.#version
    this.send(EXPIRED)
  }

  /** Sends a line of any text to all watches. */
  send(line: string): void {
    for (const stream of this.#streams.keys()) writeInChunks(stream, line)
  }

  #send(stream: ServerResponse, { kind, matches }: Watch, change: Change): void {
    if (change.kind === kind && matches(change.object)) writeInChunks(stream, change.line)
  }
}

const EXPIRED = lineOf('ERROR', {
  kind: 'Status',
  status: 'Failure',
  reason: 'Expired',
  code: 410,
  message: 'too old resource version',
})

function lineOf(type: string, object: object): string {
  return `${JSON.stringify({ type, object })}\n`
}

function writeInChunks(stream: ServerResponse, text: string): void {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    stream.write(bytes.subarray(at, at + CHUNK_BYTES))
  }
}

// Keeps one open page up to date with server-sent events: at most one per second and 50 KB per
// second. A page that does not read what it gets is dropped; browsers connect again on their own.

import { Buffer } from 'node:buffer'
import { jsonText } from '../../base/text.js'

/** At most this many bytes per second. */
const BYTES_PER_S = 50_000
/** Limits on unread data, in bytes and milliseconds; a page that exceeds one is dropped. */
const MAX_UNREAD_BYTES = 262_144
const MAX_UNREAD_MS = 15_000

/** Where the messages go. */
interface FeedTarget {
  /** What has not been sent to the operating system, in bytes. */
  readonly writableLength: number
  write(text: string): boolean
  destroy(): void
}

/** One open page. Times are milliseconds of any clock. */
export class PageFeed {
  readonly #target: FeedTarget
  readonly #look: () => Visible
  readonly #maker = new DeltaMaker()
  #dueAt = Number.NEGATIVE_INFINITY
  #unreadSince: number | undefined

  constructor(target: FeedTarget, look: () => Visible) {
    this.#target = target
    this.#look = look
  }

  /** Called about once per second. */
  tick(nowMs: number): void {
    const { writableLength } = this.#target
    if (writableLength > 0) {
      this.#unreadSince ??= nowMs
      const isSlow = nowMs - this.#unreadSince >= MAX_UNREAD_MS
      if (isSlow || writableLength > MAX_UNREAD_BYTES) this.#target.destroy()
      return
    }
    this.#unreadSince = undefined
    if (nowMs < this.#dueAt) return
    const text = this.#maker.next(this.#look())
    if (text === undefined) return
    const message = `data: ${text}\n\n`
    this.#dueAt = nowMs + (Buffer.byteLength(message) / BYTES_PER_S) * 1_000
    this.#target.write(message)
  }
}

// What has changed since the last message to a page: the parts of the overview, and the visible
// rows by their ids.

/** Something that a page shows, at one moment. */
interface Visible {
  readonly overview: object
  /** The rows of the table that it shows, if any, with their ids. */
  readonly table?:
    | { readonly total: number; readonly ids: readonly string[]; readonly rows: readonly object[] }
    | undefined
}

/** The fields of an object as JSON. */
type Fields = Map<string, string>

/** Remembers what one page has, and makes messages for it. */
export class DeltaMaker {
  readonly #parts: Fields = new Map()
  #rows = new Map<string, Fields>()
  #ids = ''
  #total = -1

  /**
   * The next message as JSON: `{overview: {…}, table: {total, ids, rows: {id: {…}}}}`, each only as
   * far as it has changed: of a row, the changed fields. Undefined if nothing has.
   */
  next({ overview, table }: Visible): string | undefined {
    const parts = [this.#overview(overview), ...(table === undefined ? [] : [this.#table(table)])]
    const changed = parts.filter((part) => part !== '')
    return changed.length === 0 ? undefined : `{${changed.join(',')}}`
  }

  #overview(overview: object): string {
    const changed = changedFields(overview, this.#parts)
    return changed === '' ? '' : `"overview":{${changed}}`
  }

  #table({ total, ids, rows }: NonNullable<Visible['table']>): string {
    const next = new Map<string, Fields>()
    const changed: string[] = []
    for (const [at, row] of rows.entries()) {
      const id = ids[at] ?? ''
      const known: Fields = this.#rows.get(id) ?? new Map()
      const text = changedFields(row, known)
      next.set(id, known)
      if (text !== '') changed.push(`${JSON.stringify(id)}:{${text}}`)
    }
    const parts: string[] = []
    const order = JSON.stringify(ids)
    if (total !== this.#total) parts.push(`"total":${total}`)
    if (order !== this.#ids) parts.push(`"ids":${order}`)
    if (changed.length > 0) parts.push(`"rows":{${changed.join(',')}}`)
    this.#rows = next
    this.#ids = order
    this.#total = total
    return parts.length === 0 ? '' : `"table":{${parts.join(',')}}`
  }
}

/** The fields that are not what is known, as the inside of a JSON object. Notes them as known. */
function changedFields(value: object, known: Fields): string {
  const changed: string[] = []
  for (const [name, field] of Object.entries(value)) {
    const text = jsonText(field ?? null)
    if (known.get(name) === text) continue
    known.set(name, text)
    changed.push(`${JSON.stringify(name)}:${text}`)
  }
  return changed.join(',')
}

// What has changed since the last message to a page: the parts of the overview, and the visible
// rows by their ids.

import { jsonText } from '../../base/text.js'

/** Something that a page shows, at one moment. */
export interface Visible {
  readonly overview: object
  /** The rows of the table that it shows, if any, with their ids. */
  readonly table?:
    | { readonly total: number; readonly ids: readonly string[]; readonly rows: readonly object[] }
    | undefined
}

/** Remembers what one page has, and makes messages for it. */
export class DeltaMaker {
  readonly #parts = new Map<string, string>()
  #rows = new Map<string, string>()
  #ids = ''
  #total = -1

  /**
   * The next message as JSON: `{overview: {…}, table: {total, ids, rows: {id: row}}}`, each only as
   * far as it has changed. Undefined if nothing has.
   */
  next({ overview, table }: Visible): string | undefined {
    const parts = [this.#overview(overview), ...(table === undefined ? [] : [this.#table(table)])]
    const changed = parts.filter((part) => part !== '')
    return changed.length === 0 ? undefined : `{${changed.join(',')}}`
  }

  #overview(overview: object): string {
    const changed: string[] = []
    for (const [name, value] of Object.entries(overview)) {
      const text = jsonText(value ?? null)
      if (this.#parts.get(name) === text) continue
      this.#parts.set(name, text)
      changed.push(`${JSON.stringify(name)}:${text}`)
    }
    return changed.length === 0 ? '' : `"overview":{${changed.join(',')}}`
  }

  #table({ total, ids, rows }: NonNullable<Visible['table']>): string {
    const next = new Map<string, string>()
    const changed: string[] = []
    for (const [at, row] of rows.entries()) {
      const id = ids[at] ?? ''
      const text = jsonText(row)
      next.set(id, text)
      if (this.#rows.get(id) !== text) changed.push(`${JSON.stringify(id)}:${text}`)
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

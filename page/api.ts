// What the server says: its answers, and the stream of what changes.

import type { Overview } from '../src/cli/ui/answers.js'
import type { SeriesAnswer } from '../src/cli/ui/history.js'

/** A value after a journey as JSON. */
export type Json<T> = T extends Date
  ? string
  : T extends undefined
    ? null
    : T extends readonly (infer Item)[]
      ? readonly Json<Item>[]
      : T extends object
        ? { readonly [Name in keyof T]: Json<T[Name]> }
        : T

/** The overview as the page has it. */
export type OverviewJson = Json<Overview>
/** The past. */
export type SeriesJson = SeriesAnswer

/** The rows that a view shows. */
export interface TableState {
  readonly total: number
  /** In order. */
  readonly ids: readonly string[]
  readonly rows: ReadonlyMap<string, object | undefined>
}

/** What the page knows. */
export interface PageState {
  readonly overview: OverviewJson | undefined
  readonly table: TableState
}

/** The time by the clock of the server, in milliseconds since 1970. */
export function nowOf(overview: OverviewJson | undefined): number {
  const time = overview?.time ?? null
  return time === null ? Date.now() : Date.parse(time) + (overview?.ageMs ?? 0)
}

/** Asks the server once. Rejects with an error for people. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await fetch(`/api/${path}`, { signal: signal ?? null })
  const answer = (await response.json()) as T & { readonly error?: string }
  if (!response.ok) throw new Error(answer.error ?? `status ${response.status}`)
  return answer
}

interface Message {
  readonly overview?: Partial<OverviewJson>
  readonly table?: {
    readonly total?: number
    readonly ids?: readonly string[]
    /** The changed fields of each. */
    readonly rows?: Readonly<Record<string, object>>
  }
}

const NO_ROWS: TableState = { total: 0, ids: [], rows: new Map() }

/** The stream of changes for one view. */
export class Live {
  readonly #source: EventSource
  #state: PageState = { overview: undefined, table: NO_ROWS }

  /** `query`: that of `/api/events`. `onLoss`: the server does not answer; it is tried again. */
  constructor(query: string, onState: (state: PageState) => void, onLoss: () => void) {
    this.#source = new EventSource(`/api/events${query}`)
    // A new connection starts from the beginning.
    this.#source.addEventListener('open', () => {
      this.#state = { ...this.#state, table: NO_ROWS }
    })
    this.#source.addEventListener('error', onLoss)
    this.#source.addEventListener('message', ({ data }: MessageEvent<string>) => {
      this.#state = merged(this.#state, JSON.parse(data) as Message)
      onState(this.#state)
    })
  }

  close(): void {
    this.#source.close()
  }
}

function merged({ overview, table }: PageState, message: Message): PageState {
  const ids = message.table?.ids ?? table.ids
  const changed = new Map(Object.entries(message.table?.rows ?? {}))
  const rows = new Map(
    ids.map((id) => {
      const fields = changed.get(id)
      const row = table.rows.get(id)
      return [id, fields === undefined ? row : { ...row, ...fields }]
    }),
  )
  return {
    overview: { ...overview, ...message.overview } as OverviewJson,
    table: { total: message.table?.total ?? table.total, ids, rows },
  }
}

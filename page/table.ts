// A table of rows that change: sorted, filtered and cut by the server. Rows keep their elements, so
// that nothing jumps and the focus stays.

import { nowOf, type OverviewJson, type PageState } from './api.js'
import { make, scrollable, setText, type Child, button } from './dom.js'
import { count } from './format.js'

/** A column. */
export interface TableColumn<Row> {
  readonly title: string
  /** Its name in `sort` of the API; undefined: it cannot be sorted. */
  readonly sort?: string
  /** `now`: by the clock of the server, in milliseconds since 1970. */
  readonly cell: (row: Row, now: number) => Child
  readonly isNumber?: boolean
  /** Left out on narrow screens. */
  readonly isExtra?: boolean
  /** Marks a cell: `good`, `bad`, `wrap`. */
  readonly mark?: (row: Row) => string
}

/** How a table begins. */
export interface TableSetup<Row> {
  readonly caption: string
  readonly columns: readonly TableColumn<Row>[]
  /** The order at the beginning: `-cpu`. */
  readonly sort?: string
  /** The column that the search looks through; undefined: there is no search. */
  readonly search?: { readonly column: string; readonly label: string }
  /** A choice that filters: the column and its values. */
  readonly choice?: { readonly column: string; readonly values: readonly string[] }
  /** Whether a row changes with the time alone. */
  readonly isLive?: (row: Row) => boolean
  /** Whether the scheduler reports such rows at all. */
  readonly isReported?: (overview: OverviewJson) => boolean
  /** What is searched for at the beginning. */
  readonly searched?: string | undefined
  /** Said below the table. */
  readonly note?: string
}

const PAGE_ROWS = 50

interface RowElements {
  readonly element: HTMLTableRowElement
  readonly cells: readonly HTMLTableCellElement[]
  row: unknown
}

/** The table, with its controls. */
export class DataTable<Row> {
  readonly element: HTMLElement
  readonly #setup: TableSetup<Row>
  readonly #onQuery: () => void
  readonly #body: HTMLElement = make('tbody')
  readonly #count: HTMLElement = make('span', { class: 'count', role: 'status' })
  readonly #heads = new Map<string, HTMLElement>()
  readonly #back: HTMLButtonElement
  readonly #next: HTMLButtonElement
  #rows = new Map<string, RowElements>()
  #sort: string
  #search = ''
  #choice = ''
  #offset = 0

  /** `onQuery`: other rows are wanted. */
  constructor(setup: TableSetup<Row>, onQuery: () => void) {
    this.#setup = setup
    this.#onQuery = onQuery
    this.#sort = setup.sort ?? ''
    this.#search = setup.searched ?? ''
    this.#back = button('‹', () => this.#move(-PAGE_ROWS), 'Previous rows')
    this.#next = button('›', () => this.#move(PAGE_ROWS), 'Next rows')
    const heads = setup.columns.map((column) => this.#head(column))
    const table = make(
      'table',
      { 'aria-label': setup.caption },
      make('thead', {}, make('tr', {}, ...heads)),
      this.#body,
    )
    const note = setup.note === undefined ? undefined : make('p', { class: 'count' }, setup.note)
    this.element = make('div', {}, this.#controls(), scrollable(setup.caption, table), note)
    this.#showSort()
  }

  /** The parameters of the API for what is shown. */
  get query(): string {
    const { search, choice } = this.#setup
    const given = new URLSearchParams({ offset: String(this.#offset), limit: String(PAGE_ROWS) })
    if (this.#sort !== '') given.set('sort', this.#sort)
    if (search !== undefined && this.#search !== '') {
      given.append('filter', `${search.column}~${this.#search}`)
    }
    if (choice !== undefined && this.#choice !== '') {
      given.append('filter', `${choice.column}=${this.#choice}`)
    }
    return given.toString()
  }

  /** Shows rows. */
  show({ overview, table: { total, ids, rows } }: PageState): void {
    const now = nowOf(overview)
    const kept = new Map<string, RowElements>()
    for (const id of ids) {
      const row = rows.get(id)
      if (row === undefined) continue
      const elements = this.#rows.get(id) ?? this.#rowElements()
      const isLive = this.#setup.isLive?.(row as Row) === true
      if (elements.row !== row || isLive) this.#fill(elements, row as Row, now)
      elements.row = row
      kept.set(id, elements)
    }
    for (const [id, { element }] of this.#rows) if (!kept.has(id)) element.remove()
    let at = this.#body.firstElementChild
    for (const { element } of kept.values()) {
      if (at === element) at = at.nextElementSibling
      else this.#body.insertBefore(element, at)
    }
    this.#rows = kept
    const last = this.#offset + kept.size
    const none = this.#noneText(overview)
    setText(
      this.#count,
      total === 0 ? none : `${count(this.#offset + 1)} to ${count(last)} of ${count(total)}`,
    )
    this.#back.disabled = this.#offset === 0
    this.#next.disabled = last >= total
  }

  #noneText(overview: OverviewJson | undefined): string {
    if (overview === undefined || overview.time === null) return 'no data yet'
    const isReported = this.#setup.isReported?.(overview) ?? true
    return isReported ? 'none' : 'this scheduler does not report them'
  }

  #controls(): HTMLElement {
    const { search, choice } = this.#setup
    const bar = make('div', { class: 'bar' })
    if (search !== undefined) {
      const input = make('input', { type: 'search', autocomplete: 'off', spellcheck: 'false' })
      input.value = this.#search
      let timer: ReturnType<typeof setTimeout> | undefined
      input.addEventListener('input', () => {
        clearTimeout(timer)
        timer = setTimeout(() => {
          this.#search = input.value.trim()
          this.#restart()
        }, 250)
      })
      bar.append(make('label', {}, search.label, input))
    }
    if (choice !== undefined) {
      const options = choice.values.map((value) => make('option', { value }, value))
      const select = make('select', {}, make('option', { value: '' }, 'all'), ...options)
      select.addEventListener('change', () => {
        this.#choice = select.value
        this.#restart()
      })
      bar.append(make('label', {}, choice.column, select))
    }
    bar.append(this.#back, this.#next, this.#count)
    return bar
  }

  #head({ title, sort, isNumber, isExtra }: TableColumn<Row>): HTMLElement {
    const kind = `${isNumber === true ? 'number' : ''} ${isExtra === true ? 'extra' : ''}`.trim()
    const head = make('th', { scope: 'col', class: kind || undefined })
    if (sort === undefined) {
      head.append(title)
      return head
    }
    head.append(
      button(title, () => {
        this.#sort = this.#sort === `-${sort}` ? sort : `-${sort}`
        this.#showSort()
        this.#restart()
      }),
    )
    this.#heads.set(sort, head)
    return head
  }

  #showSort(): void {
    for (const [name, head] of this.#heads) {
      const isDown = this.#sort === `-${name}`
      const state = isDown ? 'descending' : this.#sort === name ? 'ascending' : 'none'
      head.setAttribute('aria-sort', state)
      const [label] = head.children
      if (!(label instanceof HTMLElement)) continue
      const plain = (label.textContent ?? '').replace(/ [▲▼]$/u, '')
      setText(label, state === 'none' ? plain : `${plain} ${isDown ? '▼' : '▲'}`)
    }
  }

  #restart(): void {
    this.#offset = 0
    this.#onQuery()
  }

  #move(by: number): void {
    this.#offset = Math.max(0, this.#offset + by)
    this.#onQuery()
  }

  #rowElements(): RowElements {
    const cells = this.#setup.columns.map(() => make('td'))
    return { element: make('tr', {}, ...cells), cells, row: undefined }
  }

  #fill({ cells }: RowElements, row: Row, now: number): void {
    for (const [at, { cell, mark, isNumber, isExtra }] of this.#setup.columns.entries()) {
      const element = cells[at]
      if (element === undefined) continue
      const kinds = [isNumber === true && 'number', isExtra === true && 'extra', mark?.(row)]
      element.className = kinds.filter((kind) => typeof kind === 'string').join(' ')
      const child = cell(row, now) ?? ''
      if (typeof child === 'string') {
        setText(element, child)
        element.title = child
      } else if (!isSame(element.firstChild, child)) element.replaceChildren(child)
    }
  }
}

/** A link that is there already stays, with the focus that it may have. */
function isSame(old: ChildNode | null, next: Node): boolean {
  return old?.isEqualNode(next) === true
}

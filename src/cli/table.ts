// Tables on terminals: `scaler status` prints several, and each listing command one, of which the
// rows can be sorted and filtered by any column. A table fits into the width that it gets: its
// first column takes the room that the others leave, and those that do not fit are left out.

import { ConfigError } from '../base/errors.js'
import { fitText, textWidth } from '../runtime/progress/line.js'

/** One column. */
export interface Column<Row> {
  /** Its header, and its name in `--sort` and `--filter`: one word. */
  readonly name: string
  readonly cell: (row: Row) => string
  /**
   * What rows are sorted and filtered by: seconds, bytes or percent for quantities. Default: the
   * cell.
   */
  readonly value?: (row: Row) => string | number | undefined
  /** What else `--filter` takes for the value: a name where the cell has an id. */
  readonly aliases?: (row: Row) => readonly (string | undefined)[]
  /** Text; numbers are aligned to the right. The first column always is text. */
  readonly isText?: boolean
  /** Shown only where the first column is not cut because of it. */
  readonly isExtra?: boolean
  /** Shorter cells for where there is no room for the whole ones, which may still be cut then. */
  readonly shorten?: (cells: readonly string[]) => readonly string[]
  /** Only for sorting and filtering: another column contains it. */
  readonly isHidden?: boolean
}

/** What is not known. */
export const UNKNOWN = '–'

/** How tables look. */
export interface TableStyle {
  /** Columns of the terminal. */
  readonly width: number
  readonly color: boolean
}

/** Columns where there is no terminal. */
const DEFAULT_WIDTH = 80

/** The width for what is printed to a stream. A terminal that does not know its size says 0. */
export function printWidth({ isTTY, columns }: NodeJS.WriteStream): number {
  return isTTY && columns > 0 ? columns : DEFAULT_WIDTH
}

/** One table of `tableLines`. */
interface Table<Row> {
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** The header of the first column; default: its name. */
  readonly title?: string
  /** How many further rows there are, and where: `(--json has all)`. */
  readonly hidden?: { readonly count: number; readonly hint: string }
}

const BOLD = '\u001b[1m'
const PLAIN = '\u001b[0m'

/** The lines of a table; none if it has no rows. */
export function tableLines<Row>(table: Table<Row>, style: TableStyle): readonly string[] {
  const { rows, hidden } = table
  if (rows.length === 0) return []
  const [key, ...others] = table.columns.filter(({ isHidden }) => isHidden !== true)
  if (key === undefined) return []
  const title = table.title ?? key.name
  const firsts = rows.map((row) => plainText(key.cell(row)))
  const widest = Math.max(textWidth(title), ...firsts.map(textWidth))
  const columns = fitted(others, rows, { all: style.width, first: widest })
  const used = columns.reduce((sum, { width }) => sum + width + GAP, 0)
  const firstWidth = Math.min(style.width - used, widest)
  const line = (first: string, cells: readonly string[]): string => {
    const padded = columns.map(({ width, isText }, at) => pad(cells[at] ?? '', width, isText))
    return [pad(fitText(first, firstWidth, '…'), firstWidth, true), ...padded].join('  ').trimEnd()
  }
  const header = line(
    title,
    columns.map(({ name }) => name),
  )
  const more = hidden === undefined || hidden.count === 0 ? [] : [moreLine(hidden)]
  return [
    style.color ? `${BOLD}${header}${PLAIN}` : header,
    ...firsts.map((first, row) => {
      return line(
        first,
        columns.map(({ cells }) => cells[row] ?? ''),
      )
    }),
    ...more,
  ]
}

function moreLine({ count, hint }: { readonly count: number; readonly hint: string }): string {
  return `… ${grouped(count)} more (${hint})`
}

/** A column that is shown. */
interface FittedColumn {
  readonly name: string
  readonly isText: boolean
  readonly cells: readonly string[]
  readonly width: number
}

/** Between two columns. */
const GAP = 2

/** The columns for which there is room: the first one keeps a third of the width. */
function fitted<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  widths: { readonly all: number; readonly first: number },
): readonly FittedColumn[] {
  const kept: FittedColumn[] = []
  let used = 0
  for (const { name, cell, shorten, isText = false, isExtra = false } of columns) {
    let cells: readonly string[] = rows.map((row) => plainText(cell(row)))
    if (cells.every((text) => text === '')) continue
    const wantedWidth = (): number => Math.max(textWidth(name), ...cells.map(textWidth))
    const first = isExtra ? widths.first : Math.min(widths.first, Math.floor(widths.all / 3))
    const room = widths.all - first - used - GAP
    if (shorten !== undefined && wantedWidth() > room) {
      cells = shorten(cells).map((text) => middleCut(text, Math.max(room, MIN_SHORT)))
    }
    const wanted = wantedWidth()
    if (wanted > room) {
      if (isExtra || shorten !== undefined) continue
      break
    }
    used += wanted + GAP
    kept.push({ name, isText, cells, width: wanted })
  }
  return kept
}

/** A column is not cut to less than this. */
const MIN_SHORT = 8

/** The beginning and the end of a text that is too wide: texts often differ at their end. */
export function middleCut(text: string, width: number): string {
  if (textWidth(text) <= width) return text
  const letters = Array.from(text)
  const tail = letters.slice(-Math.floor(width / 2)).join('')
  return fitText(fitText(text, width - textWidth(tail) - 1, '') + '…' + tail, width, '…')
}

function pad(text: string, width: number, isText: boolean): string {
  const space = ' '.repeat(Math.max(0, width - textWidth(text)))
  return isText ? text + space : space + text
}

/** Names come from programs anywhere: nothing in them may control the terminal. */
export function plainText(text: string): string {
  return text.replaceAll(/\p{Cc}|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '?')
}

/** `4,000`, whatever the language of the machine. */
export function grouped(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/gu, ',')
}

/** `1 worker`, `4,000 workers`. */
export function countText(count: number, thing: string): string {
  return `${grouped(count)} ${thing}${count === 1 ? '' : 's'}`
}

// Sorting and filtering, as given on the command line.

/** Puts rows into the order of `--sort`. */
type Order<Row> = (rows: readonly Row[]) => readonly Row[]

/**
 * The order given by names of columns, the most important first; `-` before a name: from the
 * largest to the smallest. Unknown values come last. Throws `ConfigError` for an unknown column.
 */
export function readOrder<Row>(
  columns: readonly Column<Row>[],
  names: readonly string[],
): Order<Row> {
  const keys = names.map((given) => {
    const isDown = given.startsWith('-')
    if (given === '-') throw new ConfigError('option sort: expected a column after -')
    const column = columnNamed(columns, isDown ? given.slice(1) : given, 'sort')
    return { value: valueOf(column), sign: isDown ? -1 : 1 }
  })
  return (rows) => {
    return rows.toSorted((a, b) => {
      for (const { value, sign } of keys) {
        const order = compare(value(a), value(b), sign)
        if (order !== 0) return order
      }
      return 0
    })
  }
}

type Value = string | number | undefined

function compare(a: Value, b: Value, sign: number): number {
  if (a === b) return 0
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1
  if (typeof a === 'number' && typeof b === 'number') return sign * (a - b)
  return sign * (String(a) < String(b) ? -1 : 1)
}

/**
 * Whether a row satisfies one `--filter`: `COLUMN=VALUE` and `COLUMN!=VALUE` (the whole value),
 * `COLUMN~TEXT` (a part of it), `COLUMN>N`, `>=`, `<`, `<=`; a word alone is a part of any column.
 * Upper and lower case are the same; numbers may have units. Throws `ConfigError` if it cannot be
 * read.
 */
export function readFilter<Row>(
  columns: readonly Column<Row>[],
  text: string,
): (row: Row) => boolean {
  if (/^[\w.-]+$/.test(text)) {
    const contains = columns.map((column) => containing(column, text))
    return (row) => contains.some((isIn) => isIn(row))
  }
  const [, name = '', sign = '', operand = ''] =
    /^([\w-]+)(!=|>=|<=|==?|[~<>])(.*)$/s.exec(text) ?? []
  if (sign === '') {
    const forms = 'COLUMN=VALUE, COLUMN!=VALUE, COLUMN~TEXT, COLUMN>N, COLUMN<N or a word'
    throw new ConfigError(`option filter: expected ${forms}, got ${JSON.stringify(text)}`)
  }
  const column = columnNamed(columns, name, 'filter')
  const value = valueOf(column)
  const number = numberOf(operand)
  const isWord = number === undefined && !/^\s*[\d–]|^\s*$/.test(operand)
  if (isWord && isNumeric(columns, column) && sign !== '~') throw noNumber(name + sign, operand)
  const lower = operand.toLowerCase()
  const isEqual = (row: Row): boolean => {
    const own = value(row)
    if (typeof own === 'number' && number !== undefined) return own === number
    const texts = [String(own ?? ''), column.cell(row), ...(column.aliases?.(row) ?? [])]
    return texts.some((text) => text?.toLowerCase() === lower)
  }
  if (sign === '=' || sign === '==') return isEqual
  if (sign === '!=') return (row) => !isEqual(row)
  if (sign === '~') return containing(column, operand)
  if (!isNumeric(columns, column)) {
    throw new ConfigError(`option filter: ${name} is text; use =, != or ~ instead of ${sign}`)
  }
  if (number === undefined) throw noNumber(name + sign, operand)
  return (row) => {
    const own = value(row)
    if (typeof own !== 'number') return false
    if (own === number) return sign.endsWith('=')
    return sign.startsWith('>') ? own > number : own < number
  }
}

/** Whether a cell contains a text, in any case. */
function containing<Row>(column: Column<Row>, text: string): (row: Row) => boolean {
  const value = valueOf(column)
  const lower = text.toLowerCase()
  return (row) => {
    const texts = [value(row), column.cell(row), ...(column.aliases?.(row) ?? [])]
    return texts.join('\n').toLowerCase().includes(lower)
  }
}

function noNumber(before: string, operand: string): ConfigError {
  const got = JSON.stringify(operand)
  return new ConfigError(`option filter: expected a number after ${before}, got ${got}`)
}

/** Whether the values of a column are numbers; the first column always has text. */
function isNumeric<Row>(columns: readonly Column<Row>[], column: Column<Row>): boolean {
  return column.value !== undefined && column.isText !== true && column !== columns[0]
}

function valueOf<Row>(column: Column<Row>): (row: Row) => Value {
  return column.value ?? column.cell
}

function columnNamed<Row>(
  columns: readonly Column<Row>[],
  name: string,
  option: string,
): Column<Row> {
  const found = columns.find((column) => column.name === name.toLowerCase())
  if (found !== undefined) return found
  const names = columns.map((column) => column.name).join(', ')
  throw new ConfigError(
    `option ${option}: unknown column ${JSON.stringify(name)}; there are ${names}`,
  )
}

const UNITS: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['%', 1],
  ['ms', 0.001],
  ['s', 1],
  ['min', 60],
  ['h', 3_600],
  ['d', 86_400],
  ['b', 1],
  ['kb', 1e3],
  ['mb', 1e6],
  ['gb', 1e9],
  ['tb', 1e12],
])

/** `1.5 GB` -> 1.5e9; undefined for anything else than a number with a known unit. */
function numberOf(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^\s*(-?\d+(?:\.\d+)?)\s*([%a-z]*)\s*$/i.exec(text) ?? []
  const factor = UNITS.get(unit.toLowerCase())
  return digits === '' || factor === undefined ? undefined : Number(digits) * factor
}

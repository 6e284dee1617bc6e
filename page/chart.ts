// A chart of series over time, on a canvas: axes with units, the values at the pointer.

import { colorOf, make, setText } from './dom.js'
import { clock, tickTime, ticks, timeTicks, UNKNOWN } from './format.js'
import type { SeriesJson } from './api.js'

/** A line of a chart. */
export interface ChartLine {
  /** In the history. */
  readonly series: string
  readonly label: string
  /** A colour of the style sheet. */
  readonly color: string
}

/** What a chart shows. */
export interface ChartSetup {
  readonly title: string
  /** What the numbers of the axis are: `tasks per second`. */
  readonly unit: string
  readonly lines: readonly ChartLine[]
  readonly format: (value: number) => string
}

const LEFT = 64
const BOTTOM = 20
const TOP = 8
const RIGHT = 8
const FONT = '12px system-ui, sans-serif'

/** One chart. */
export class Chart {
  readonly element: HTMLElement
  readonly #setup: ChartSetup
  readonly #canvas = make('canvas', { class: 'chart', role: 'img' })
  readonly #values = new Map<string, HTMLElement>()
  readonly #resize: ResizeObserver
  #shown: SeriesJson = { times: [], stepMs: 1_000, series: {} }
  #pointer: number | undefined

  constructor(setup: ChartSetup) {
    this.#setup = setup
    const legend = setup.lines.map(({ series, label, color }) => {
      const swatch = make('i')
      swatch.style.background = `var(--${color})`
      const value = make('span')
      this.#values.set(series, value)
      return make('span', { class: 'legend' }, swatch, `${label} `, value)
    })
    const title = make('span', {}, `${setup.title} (${setup.unit})`)
    this.element = make('figure', {}, make('figcaption', {}, title, ...legend), this.#canvas)
    this.#canvas.addEventListener('pointermove', ({ offsetX }) => this.#point(offsetX))
    this.#canvas.addEventListener('pointerleave', () => this.#point(undefined))
    this.#resize = new ResizeObserver(() => this.draw())
    this.#resize.observe(this.#canvas)
  }

  show(history: SeriesJson): void {
    this.#shown = history
    this.draw()
  }

  close(): void {
    this.#resize.disconnect()
  }

  /** Also when the colours have changed. */
  draw(): void {
    const { width, height, context } = prepared(this.#canvas)
    const { times, stepMs } = this.#shown
    if (context === undefined || width < LEFT + 20) return
    const lines = this.#setup.lines.map((line) => ({
      ...line,
      values: withoutShortGaps(this.#shown.series[line.series] ?? [], stepMs),
    }))
    const top = Math.max(0, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)))
    const marks = ticks(top)
    const max = marks.at(-1) ?? 1
    const from = times[0] ?? 0
    const to = (times.at(-1) ?? 0) + stepMs
    const x = (time: number): number =>
      LEFT + ((time - from) / (to - from)) * (width - LEFT - RIGHT)
    const y = (value: number): number => TOP + (1 - value / max) * (height - TOP - BOTTOM)
    context.font = FONT
    drawAxes(context, { marks, from, to, width, height, x, y, format: this.#setup.format })
    for (const { values, color } of lines) {
      drawLine(context, colorOf(color), times, (at) => {
        const value = values[at] ?? null
        return value === null ? undefined : { x: x((times[at] ?? 0) + stepMs / 2), y: y(value) }
      })
    }
    this.#legend(lines, x)
  }

  #point(offset: number | undefined): void {
    this.#pointer = offset
    this.draw()
  }

  /** The last values, or those at the pointer. */
  #legend(
    lines: readonly (ChartLine & { readonly values: readonly (number | null)[] })[],
    x: (time: number) => number,
  ): void {
    const { times } = this.#shown
    const pointer = this.#pointer
    let at = lines.reduce((last, { values }) => {
      return Math.max(
        last,
        values.findLastIndex((value) => value !== null),
      )
    }, -1)
    if (pointer !== undefined) at = times.findLastIndex((time) => x(time) <= pointer)
    const texts = lines.map(({ series, label, values }) => {
      const value = values[at] ?? null
      const text = value === null ? UNKNOWN : this.#setup.format(value)
      const shown = this.#values.get(series)
      if (shown !== undefined) setText(shown, text)
      return `${label} ${text}`
    })
    const when = at >= 0 ? clock(times[at]) : ''
    this.#canvas.setAttribute(
      'aria-label',
      `${this.#setup.title}, ${this.#setup.unit}, at ${when}: ${texts.join(', ')}`,
    )
    this.#canvas.title = when
  }
}

/** Samples come about once per second, and later from a busy machine. */
const GAP_MS = 5_000

/** A value holds until the next one, unless that comes more than five seconds later. */
export function withoutShortGaps(
  values: readonly (number | null)[],
  stepMs: number,
): readonly (number | null)[] {
  const filled = [...values]
  let last = -1
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    const isShort = last >= 0 && (at - last - 1) * stepMs < GAP_MS
    if (isShort) filled.fill(values[last] ?? null, last + 1, at)
    last = at
  }
  return filled
}

/** A canvas with a clean drawing area in pixels of the page. */
export function prepared(canvas: HTMLCanvasElement): {
  readonly width: number
  readonly height: number
  readonly context: CanvasRenderingContext2D | undefined
} {
  const { clientWidth: width, clientHeight: height } = canvas
  const scale = window.devicePixelRatio || 1
  const [wide, high] = [Math.round(width * scale), Math.round(height * scale)]
  if (canvas.width !== wide) canvas.width = wide
  if (canvas.height !== high) canvas.height = high
  const context = canvas.getContext('2d') ?? undefined
  context?.setTransform(scale, 0, 0, scale, 0, 0)
  context?.clearRect(0, 0, width, height)
  return { width, height, context }
}

interface Axes {
  readonly marks: readonly number[]
  readonly from: number
  readonly to: number
  readonly width: number
  readonly height: number
  readonly x: (time: number) => number
  readonly y: (value: number) => number
  readonly format: (value: number) => string
}

function drawAxes(context: CanvasRenderingContext2D, axes: Axes): void {
  const { marks, from, to, width, height, x, y, format } = axes
  context.strokeStyle = colorOf('line')
  context.fillStyle = colorOf('soft')
  context.lineWidth = 1
  context.textAlign = 'right'
  context.textBaseline = 'middle'
  for (const mark of marks) {
    const at = Math.round(y(mark)) + 0.5
    line(context, LEFT, at, width - RIGHT, at)
    context.fillText(format(mark), LEFT - 6, at)
  }
  context.textAlign = 'center'
  context.textBaseline = 'top'
  for (const time of timeTicks(from, to, Math.max(2, (width - LEFT) / 90))) {
    const at = Math.round(x(time)) + 0.5
    if (at > width - 24) continue
    line(context, at, height - BOTTOM, at, height - BOTTOM + 4)
    context.fillText(tickTime(time, to - from), at, height - BOTTOM + 6)
  }
}

function line(
  context: CanvasRenderingContext2D,
  ...points: readonly [number, number, number, number]
): void {
  context.beginPath()
  context.moveTo(points[0], points[1])
  context.lineTo(points[2], points[3])
  context.stroke()
}

function drawLine(
  context: CanvasRenderingContext2D,
  color: string,
  times: readonly number[],
  pointAt: (at: number) => { readonly x: number; readonly y: number } | undefined,
): void {
  context.strokeStyle = color
  context.lineWidth = 1.6
  context.beginPath()
  let isDown = false
  for (let at = 0; at < times.length; at += 1) {
    const point = pointAt(at)
    if (point === undefined) {
      isDown = false
      continue
    }
    if (isDown) context.lineTo(point.x, point.y)
    else {
      context.moveTo(point.x - 0.5, point.y)
      context.lineTo(point.x, point.y)
    }
    isDown = true
  }
  context.stroke()
}

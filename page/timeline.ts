// The timeline: one row per worker, a bar per task, coloured by function, failures marked. The
// server sends what is visible, as fine as the canvas can show it.

import { get } from './api.js'
import { prepared } from './chart.js'
import { button, colorOf, make, setText } from './dom.js'
import { clock, count, counted, functionName, nameIn, tickTime, timeTicks } from './format.js'
import {
  type Bar,
  barsOf,
  drawStripes,
  emptyText,
  fitted,
  legendItem,
  type TimelineAnswer,
  tipText,
} from './timeline-bar.js'
import type { View } from './view.js'

/** What was read last. */
interface Loaded {
  readonly from: number
  readonly to: number
  readonly spanMs: number
  readonly offset: number
  /** What was before this time does not change any more. */
  readonly atMs: number
}

/** The ends of tasks are known after this time. */
const SETTLED_MS = 2_000
const ROW = 22
const TOP = 26
const LEFT = 150
const MIN_SPAN_MS = 20
const MAX_SPAN_MS = 86_400_000
const ROWS = 40
/** Functions in the legend. */
const MAX_LEGEND = 12
const FONT = '12px system-ui, sans-serif'

/** The timeline. */
export class TimelineView implements View {
  readonly title = 'Timeline'
  readonly element: HTMLElement
  readonly #canvas = make('canvas', { class: 'timeline', tabindex: '0', role: 'img' })
  readonly #legend = make('p', { class: 'legends' })
  readonly #tip = make('p', { class: 'tip', role: 'status' }, ' ')
  readonly #count = make('span', { class: 'count' })
  readonly #empty = make('p', { class: 'empty', hidden: true })
  readonly #live = button('Follow', () => this.#toggle(), 'Follow the present')
  readonly #resize = new ResizeObserver(() => this.#changed())
  #spanMs = 60_000
  /** The right edge; undefined: now. */
  #end: number | undefined
  #offset = 0
  #total = 0
  #lastEnd: number | null = null
  #bars: readonly Bar[] = []
  #labels: readonly string[] = []
  #selected: Bar | undefined
  #legendKey = ''
  #timer: ReturnType<typeof setTimeout> | undefined
  #loaded: Loaded | undefined
  #frame: number | undefined
  #isReading = false
  #isClosed = false

  constructor() {
    const controls = make(
      'div',
      { class: 'bar' },
      button('+', () => this.#zoom(0.5, 0.5), 'Zoom in'),
      button('−', () => this.#zoom(2, 0.5), 'Zoom out'),
      button('←', () => this.#pan(-0.25), 'Earlier'),
      button('→', () => this.#pan(0.25), 'Later'),
      this.#live,
      button('‹', () => this.#move(-ROWS), 'Previous workers'),
      button('›', () => this.#move(ROWS), 'Next workers'),
      this.#count,
    )
    const help =
      'One row per worker; the colour is the function. ' +
      'Keys: + and − zoom, arrows move, Home follows the present, N and P select a bar, ' +
      'Enter opens it.'
    this.element = make(
      'div',
      {},
      make('h1', {}, 'Timeline'),
      controls,
      this.#legend,
      this.#empty,
      this.#canvas,
      this.#tip,
      make('p', { class: 'count' }, help),
    )
    this.#listen()
    this.#resize.observe(this.#canvas)
    void this.#read()
  }

  stream(): string {
    return ''
  }

  update(): void {
    if (this.#end === undefined) this.#changed()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    cancelAnimationFrame(this.#frame ?? 0)
    this.#resize.disconnect()
  }

  get #window(): { readonly from: number; readonly to: number } {
    const to = this.#end ?? Date.now()
    return { from: to - this.#spanMs, to }
  }

  /** Follows the present, or stays where it is. */
  #toggle(): void {
    this.#end = this.#end === undefined ? Date.now() : undefined
    this.#changed()
  }

  #follow(): void {
    this.#end = undefined
    this.#changed()
  }

  #move(rows: number): void {
    const last = Math.max(0, this.#total - 1)
    const wanted = this.#offset + rows
    if (wanted > last) return
    this.#offset = Math.max(0, wanted)
    this.#changed()
  }

  /** `at`: what stays where it is, from 0 (the left edge) to 1. */
  #zoom(factor: number, at: number): void {
    const { from, to } = this.#window
    const span = Math.min(MAX_SPAN_MS, Math.max(MIN_SPAN_MS, this.#spanMs * factor))
    if (this.#end !== undefined || at < 0.9) {
      const fixed = from + (to - from) * at
      this.#moveTo(fixed + span * (1 - at))
    }
    this.#spanMs = span
    this.#changed()
  }

  #pan(part: number): void {
    this.#moveTo(this.#window.to + part * this.#spanMs)
    this.#changed()
  }

  /** At the present, it follows it. */
  #moveTo(end: number): void {
    this.#end = end >= Date.now() ? undefined : end
  }

  /** Draws what is there at once, and asks for what is visible now. */
  #changed(): void {
    this.#draw()
    // Further changes do not delay it: the view must also be filled while someone keeps panning.
    if (this.#isReading || this.#timer !== undefined || this.#hasAll) return
    this.#timer = setTimeout(() => void this.#read(), 120)
  }

  /** Whether what is visible is there, and is not going to change. */
  get #hasAll(): boolean {
    const { from, to } = this.#window
    const loaded = this.#loaded
    if (loaded === undefined || loaded.offset !== this.#offset) return false
    return (
      from >= loaded.from && to <= loaded.to && to < loaded.atMs && this.#spanMs === loaded.spanMs
    )
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#isReading || this.#isClosed) return
    this.#isReading = true
    const { from, to } = this.#window
    const width = Math.min(4_000, Math.max(100, this.#canvas.clientWidth - LEFT))
    // A little more than is visible, for panning.
    const margin = (to - from) / 4
    const query = `from=${Math.round(from - margin)}&to=${Math.round(to + margin)}`
    const wanted = {
      from: from - margin,
      to: to + margin,
      spanMs: this.#spanMs,
      offset: this.#offset,
    }
    try {
      const rows = `offset=${this.#offset}&limit=${ROWS}`
      this.#take(await get<TimelineAnswer>(`timeline?${query}&width=${width}&${rows}`))
      this.#loaded = { ...wanted, atMs: Date.now() - SETTLED_MS }
    } catch {
      // The header says that the server does not answer; the next change asks again.
    }
    this.#isReading = false
    if (this.#isClosed) return
    this.#draw()
    const now = this.#window
    if (now.from !== from && this.#end !== undefined) this.#changed()
  }

  #take(answer: TimelineAnswer): void {
    const { workers, total, offset, lastEnd } = answer
    this.#total = total
    this.#lastEnd = lastEnd
    this.#labels = workers.map(({ id, name, isConnected }) => {
      return `${name || nameIn(id)}${isConnected ? '' : ' (left)'}`
    })
    this.#bars = barsOf(answer)
    const selected = this.#selected
    const again = this.#bars.find(({ task }) => task !== null && task === selected?.task)
    // One that is not in this answer stays selected: its text still stands there.
    if (again !== undefined) this.#select(again)
    const last = offset + workers.length
    setText(
      this.#count,
      total === 0
        ? 'no workers'
        : `workers ${count(offset + 1)} to ${count(last)} of ${count(total)}`,
    )
    this.#canvas.style.height = `${TOP + Math.max(1, workers.length) * ROW}px`
  }

  /** At most once per frame, however often something changes. */
  #draw(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined
      this.#drawNow()
    })
  }

  #drawNow(): void {
    const { width, height, context } = prepared(this.#canvas)
    if (context === undefined || width <= LEFT) return
    const { from, to } = this.#window
    const x = (time: number): number => LEFT + ((time - from) / (to - from)) * (width - LEFT)
    context.font = FONT
    this.#drawFrame(context, { width, height, x })
    context.save()
    context.beginPath()
    context.rect(LEFT, TOP, width - LEFT, height - TOP)
    context.clip()
    const now = Date.now()
    let isEmpty = true
    for (const bar of this.#bars) {
      const end = Math.min(bar.to, now)
      if (end < from || bar.from > to) continue
      isEmpty = false
      this.#drawBar(context, bar, x(bar.from), Math.max(1, x(end) - x(bar.from)))
    }
    context.restore()
    this.#showLegend()
    this.#live.setAttribute('aria-pressed', String(this.#end === undefined))
    this.#empty.hidden = !isEmpty || this.#loaded === undefined
    if (!this.#empty.hidden) setText(this.#empty, emptyText({ from, to }, this.#lastEnd))
    const what = `${counted(this.#labels.length, 'worker')} from ${clock(from)} to ${clock(to)}`
    this.#canvas.setAttribute('aria-label', `Timeline of ${what}`)
  }

  /** The functions that take the most time in the window. */
  #showLegend(): void {
    const { from, to } = this.#window
    const times = new Map<string, number>()
    const colors = new Map(this.#bars.map(({ name, color }) => [name, color]))
    for (const bar of this.#bars) {
      const ms = Math.min(bar.to, to) - Math.max(bar.from, from)
      if (ms >= 0) times.set(bar.name, (times.get(bar.name) ?? 0) + ms)
    }
    const names = [...times].sort((a, b) => b[1] - a[1]).map(([name]) => name)
    const shown = names.slice(0, MAX_LEGEND).sort()
    const key = JSON.stringify([shown.map((name) => [name, colors.get(name)]), names.length])
    if (key === this.#legendKey) return
    this.#legendKey = key
    const others = names.length - shown.length
    this.#legend.replaceChildren(
      ...shown.map((name) => legendItem(functionName(name), '', colors.get(name))),
      others === 0 ? '' : make('span', { class: 'legend' }, `${counted(others, 'other function')}`),
      legendItem('running', 'running-bar'),
      legendItem('failed', 'failed-bar'),
      legendItem('its worker was lost', 'killed-bar'),
    )
  }

  #drawFrame(
    context: CanvasRenderingContext2D,
    { width, height, x }: { width: number; height: number; x: (time: number) => number },
  ): void {
    const { from, to } = this.#window
    context.strokeStyle = colorOf('line')
    context.fillStyle = colorOf('soft')
    context.textBaseline = 'middle'
    context.textAlign = 'left'
    context.fillText('local time', 4, TOP / 2)
    context.textAlign = 'center'
    for (const time of timeTicks(from, to, Math.max(2, (width - LEFT) / 100))) {
      const at = Math.round(x(time)) + 0.5
      context.beginPath()
      context.moveTo(at, TOP - 6)
      context.lineTo(at, height)
      context.stroke()
      if (at > LEFT + 30 && at < width - 30) {
        context.fillText(tickTime(time, to - from), at, TOP / 2 - 2)
      }
    }
    context.textAlign = 'left'
    context.fillStyle = colorOf('text')
    for (const [row, label] of this.#labels.entries()) {
      context.fillText(fitted(context, label, LEFT - 10), 4, TOP + row * ROW + ROW / 2)
    }
  }

  #drawBar(context: CanvasRenderingContext2D, bar: Bar, left: number, width: number): void {
    const top = TOP + bar.row * ROW + 3
    context.fillStyle = bar.color
    context.globalAlpha = bar.isRunning ? 0.55 : 1
    context.fillRect(left, top, width, ROW - 6)
    context.globalAlpha = 1
    if (bar.failed > 0) {
      context.fillStyle = colorOf('bad')
      context.fillRect(left, top + ROW - 9, Math.max(2, width), 3)
      context.fillRect(left, top, 2, ROW - 6)
    }
    if (bar.killed > 0) {
      const box = { left, top, width: Math.max(4, width), height: ROW - 6 }
      drawStripes(context, box, colorOf('text'))
    }
    if (bar === this.#selected) {
      context.strokeStyle = colorOf('text')
      context.lineWidth = 2
      context.strokeRect(left - 1, top - 1, width + 2, ROW - 4)
      context.lineWidth = 1
    }
  }

  #listen(): void {
    const canvas = this.#canvas
    let drag: { x: number; readonly startX: number } | undefined
    canvas.addEventListener('pointerdown', (event) => {
      drag = { x: event.offsetX, startX: event.offsetX }
      canvas.setPointerCapture(event.pointerId)
    })
    canvas.addEventListener('pointermove', (event) => {
      if (drag === undefined) this.#select(this.#barAt(event.offsetX, event.offsetY))
      else {
        const part = (drag.x - event.offsetX) / Math.max(1, canvas.clientWidth - LEFT)
        drag.x = event.offsetX
        if (part !== 0) this.#pan(part)
      }
    })
    canvas.addEventListener('pointerup', (event) => {
      const isClick = drag !== undefined && Math.abs(drag.startX - event.offsetX) < 3
      drag = undefined
      if (isClick) this.#open(this.#barAt(event.offsetX, event.offsetY))
    })
    canvas.addEventListener('pointercancel', () => (drag = undefined))
    canvas.addEventListener(
      'wheel',
      (event) => {
        event.preventDefault()
        const at = (event.offsetX - LEFT) / Math.max(1, canvas.clientWidth - LEFT)
        if (event.shiftKey) this.#pan(Math.sign(event.deltaY + event.deltaX) * 0.1)
        else this.#zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, at)))
      },
      { passive: false },
    )
    canvas.addEventListener('keydown', (event) => {
      if (this.#onKey(event.key)) event.preventDefault()
    })
  }

  /** Whether the key means something here. */
  #onKey(key: string): boolean {
    switch (key) {
      case '+':
      case '=':
        this.#zoom(0.5, 0.5)
        return true
      case '-':
        this.#zoom(2, 0.5)
        return true
      case 'ArrowLeft':
        this.#pan(-0.1)
        return true
      case 'ArrowRight':
        this.#pan(0.1)
        return true
      case 'Home':
        this.#follow()
        return true
      case 'n':
      case 'p':
        this.#step(key === 'n' ? 1 : -1)
        return true
      case 'Enter':
        this.#open(this.#selected)
        return true
      default:
        return false
    }
  }

  /** Selects the next of the visible bars, by row and time. */
  #step(by: number): void {
    const { from, to } = this.#window
    const visible = this.#bars
      .filter((bar) => bar.to >= from && bar.from <= to)
      .sort((a, b) => a.row - b.row || a.from - b.from)
    const at = this.#selected === undefined ? -1 : visible.indexOf(this.#selected)
    this.#select(visible[(at + by + visible.length) % visible.length])
  }

  #barAt(offsetX: number, offsetY: number): Bar | undefined {
    const { from, to } = this.#window
    const row = Math.floor((offsetY - TOP) / ROW)
    const perPixel = (to - from) / Math.max(1, this.#canvas.clientWidth - LEFT)
    const time = from + (offsetX - LEFT) * perPixel
    return this.#bars.find((bar) => {
      return bar.row === row && bar.from <= time + perPixel && bar.to >= time - perPixel
    })
  }

  #select(bar: Bar | undefined): void {
    if (bar === this.#selected) return
    this.#selected = bar
    setText(this.#tip, bar === undefined ? ' ' : tipText(bar, this.#labels[bar.row] ?? ''))
    this.#draw()
  }

  /** The page of its task; of several, a closer look at them. */
  #open(bar: Bar | undefined): void {
    if (bar === undefined) return
    if (bar.task !== null) {
      window.location.hash = `#/tasks/${encodeURIComponent(bar.task)}`
      return
    }
    const margin = Math.max(MIN_SPAN_MS, bar.to - bar.from) / 4
    this.#spanMs = bar.to - bar.from + 2 * margin
    this.#moveTo(bar.to + margin)
    this.#changed()
  }
}

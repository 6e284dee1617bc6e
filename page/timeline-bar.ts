// What the timeline draws: bars, their colours and texts.

import type { WorkerInfo } from '../src/client/monitor/cluster-info.js'
import type { TimelineBar } from '../src/cli/ui/recent-tasks.js'
import type { Json } from './api.js'
import { functionColors } from './colors.js'
import { make } from './dom.js'
import { clock, count, counted, duration, functionName } from './format.js'

/** The answer of the server. */
export interface TimelineAnswer {
  readonly from: number
  readonly to: number
  readonly total: number
  readonly offset: number
  readonly limit: number
  readonly workers: readonly {
    readonly id: string
    readonly name: string
    readonly host: string
    readonly isConnected: boolean
    readonly running: Json<WorkerInfo['running']>
  }[]
  readonly bars: readonly TimelineBar[]
  readonly functions: readonly string[]
  /** Of the last state, by which running tasks are drawn. */
  readonly time: number | null
  /** When the last of all runs ended; null: none has. */
  readonly lastEnd: number | null
}

/** A run, or several that are too short to be drawn one by one. Times as in the API. */
export interface Bar {
  readonly row: number
  readonly from: number
  readonly to: number
  readonly name: string
  readonly color: string
  readonly count: number
  readonly failed: number
  readonly killed: number
  readonly task: string | null
  readonly isRunning: boolean
}

/** What runs, then what has ended. */
export function barsOf({ workers, bars, functions, time }: TimelineAnswer): readonly Bar[] {
  const names = workers.flatMap(({ running: runs }) => runs.map(({ name }) => name))
  const colors = functionColors(functions, names)
  const running = workers.flatMap(({ running: runs }, row) => {
    return runs.map(({ task, name, sinceMs }): Bar => {
      const from = (time ?? Date.now()) - sinceMs
      const counts = { count: 1, failed: 0, killed: 0 }
      const color = colors.get(name) ?? ''
      const to = Number.POSITIVE_INFINITY
      return { row, from, to, name, color, ...counts, task, isRunning: true }
    })
  })
  const ended = bars.map((bar): Bar => {
    const name = functions[bar.function] ?? ''
    return { ...bar, name, color: colors.get(name) ?? '', isRunning: false }
  })
  return [...running, ...ended]
}

/** No screen is wider. */
const MAX_STRIPED = 8_000

interface Box {
  readonly left: number
  readonly top: number
  readonly width: number
  readonly height: number
}

/** A run that was cut off: stripes, and an edge at its end. */
export function drawStripes(
  context: CanvasRenderingContext2D,
  { left, top, width, height }: Box,
  color: string,
): void {
  context.save()
  context.beginPath()
  context.rect(left, top, width, height)
  context.clip()
  context.strokeStyle = color
  context.beginPath()
  // From where it is visible: a bar may be a million pixels wide.
  const first = Math.max(left - height, 0)
  const last = Math.min(left + width, first + MAX_STRIPED)
  for (let x = first; x < last; x += 6) {
    context.moveTo(x, top + height)
    context.lineTo(x + height, top)
  }
  context.stroke()
  context.fillStyle = color
  context.fillRect(left + width - 3, top, 3, height)
  context.restore()
}

/** An entry of the legend: a swatch of a class or a colour. */
export function legendItem(text: string, kind: string, color?: string): HTMLElement {
  const swatch = make('i', { class: `swatch ${kind}`.trim() })
  if (color !== undefined) swatch.style.background = color
  return make('span', { class: 'legend' }, swatch, text)
}

/** What is said of a bar. */
export function tipText(bar: Bar, worker: string): string {
  const { name, count: tasks, failed, killed, from, to, isRunning } = bar
  const took = isRunning
    ? `running since ${clock(from)}`
    : `${duration(to - from)} from ${clock(from)}`
  const lost =
    killed === 0
      ? ''
      : tasks === 1
        ? ', its worker was lost'
        : `, ${count(killed)} lost their worker`
  const many = tasks === 1 ? '' : `${counted(tasks, 'run')}, `
  const bad = failed === 0 ? '' : tasks === 1 ? ', failed' : `, ${count(failed)} failed`
  return `${functionName(name)} on ${worker}: ${many}${took}${bad}${lost}`
}

/** What is said of a window in which nothing ran. */
export function emptyText(
  { from, to }: { readonly from: number; readonly to: number },
  lastEnd: number | null,
): string {
  const what = `Nothing ran from ${clock(from)} to ${clock(to)}.`
  if (lastEnd === null) return `${what} No task has ended since this server has been watching.`
  const ago =
    lastEnd < to ? ` (${duration(Math.round((to - lastEnd) / 1_000) * 1_000)} before)` : ''
  return `${what} The last task ended at ${clock(lastEnd)}${ago}.`
}

/** As much of a text as fits. */
export function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text
  let short = text
  while (short.length > 1 && context.measureText(`${short}…`).width > width)
    short = short.slice(0, -1)
  return `${short}…`
}

// Small drawings without time axes: how durations are distributed, and the course of one value.

import type { DurationBar } from '../src/cli/ui/board.js'
import { draw, scrollable, make } from './dom.js'
import { count, counted, duration, ticks } from './format.js'

const SIZE = { width: 640, height: 220, left: 64, right: 12, top: 24, bottom: 40 } as const
const LABELS = 8

/** How many tasks took how long: bars over an axis on which each step is as many times as long. */
export function distribution(bars: readonly DurationBar[]): HTMLElement {
  const { width, height, left, right, top, bottom } = SIZE
  const marks = ticks(Math.max(...bars.map((bar) => bar.count)))
  const most = marks.at(-1) ?? 1
  const barWidth = Math.min(40, (width - left - right) / bars.length)
  const y = (value: number): number => top + (1 - value / most) * (height - top - bottom)
  const axis = marks.flatMap((mark) => [
    draw('line', { class: 'axis', x1: left, x2: width - right, y1: y(mark), y2: y(mark) }),
    draw('text', { x: left - 6, y: y(mark) + 4, 'text-anchor': 'end' }, count(mark)),
  ])
  const every = Math.ceil((bars.length + 1) / LABELS)
  const edges = [...bars.map(({ from }) => from), bars.at(-1)?.to ?? 0]
  const labels = edges.flatMap((edge, at) => {
    if (at % every !== 0) return []
    const place = { x: left + at * barWidth, y: height - bottom + 16, 'text-anchor': 'middle' }
    return [draw('text', place, rounded(edge))]
  })
  const columns = bars.map((bar, at) => {
    const box = { x: left + at * barWidth + 0.5, y: y(bar.count), width: barWidth - 1 }
    const { from, to } = bar
    const text = `${rounded(from)} to ${rounded(to)}`
    return draw(
      'rect',
      { class: 'column', ...box, height: height - bottom - y(bar.count) },
      draw('title', {}, `${text}: ${counted(bar.count, 'task')}`),
    )
  })
  const total = bars.reduce((sum, bar) => sum + bar.count, 0)
  const label = `How long ${counted(total, 'task')} took`
  const drawing = draw(
    'svg',
    { class: 'drawing', width, height, role: 'img', 'aria-label': label },
    draw('text', { x: 4, y: 12 }, 'tasks'),
    draw(
      'text',
      { x: width - right, y: height - 4, 'text-anchor': 'end' },
      'duration (each bar 1.46 times the one before)',
    ),
    ...axis,
    ...columns,
    ...labels,
  )
  return make('figure', {}, make('figcaption', {}, label), scrollable(label, drawing))
}

function rounded(ms: number): string {
  return duration(Number(ms.toPrecision(2)))
}

const LINE = { width: 90, height: 20, values: 30 } as const

/** The course of a value as a line, from 0 to at least `top`; the last value is at the right. */
export function sparkline(
  values: readonly (number | null)[],
  top: number,
  format: (value: number) => string,
): SVGElement {
  const { width, height } = LINE
  const known = values.filter((value) => value !== null)
  const most = Math.max(top, ...known)
  const step = width / LINE.values
  const first = LINE.values - values.length
  let path = ''
  for (const [at, value] of values.entries()) {
    if (value === null) continue
    const y = (1 - value / most) * (height - 2) + 1
    const isStart = path === '' || values[at - 1] === null
    path += `${isStart ? 'M' : 'L'}${(first + at) * step} ${y.toFixed(1)}h${step}`
  }
  const last = known.at(-1)
  const range =
    last === undefined
      ? 'nothing is known'
      : `now ${format(last)}, most ${format(Math.max(...known))}`
  return draw(
    'svg',
    { class: 'spark', width, height, role: 'img', 'aria-label': range },
    draw('title', {}, `${range} (0 to ${format(most)})`),
    draw('line', { class: 'axis', x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }),
    draw('path', { d: path }),
  )
}

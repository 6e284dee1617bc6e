// The first view: is the cluster well, what does it do, what waits and why.

import type { OverviewJson, PageState, SeriesJson } from './api.js'
import { get } from './api.js'
import { Chart } from './chart.js'
import { facts, make, putChildren, scrollable } from './dom.js'
import {
  bytes,
  count,
  countAndBytes,
  counted,
  duration,
  functionName,
  percent,
  UNKNOWN,
} from './format.js'
import type { View } from './view.js'

/** Ranges of the charts, and how often they are read again. */
const RANGES = [
  { label: 'last 5 minutes', spanMs: 300_000, everyMs: 2_000 },
  { label: 'last hour', spanMs: 3_600_000, everyMs: 10_000 },
  { label: 'last day', spanMs: 86_400_000, everyMs: 60_000 },
] as const

const REASONS = [
  ['no-worker', 'no worker'],
  ['no-runtime', 'no worker of their language'],
  ['no-capability', 'no worker offers what they need'],
  ['all-busy', 'all workers are busy'],
  ['limit', 'the queue is full'],
  ['dependency', 'another task'],
] as const

/** The overview. */
export class OverviewView implements View {
  readonly title = 'Overview'
  readonly element: HTMLElement
  readonly #health: HTMLElement = make('div', { role: 'status' })
  readonly #facts: HTMLElement = make('div')
  readonly #waiting: HTMLElement = make('div')
  readonly #hosts: HTMLElement = make('div')
  readonly #allocators: HTMLElement = make('div')
  readonly #charts = charts()
  readonly #scheme = window.matchMedia('(prefers-color-scheme: dark)')
  readonly #redraw = (): void => {
    for (const chart of this.#charts) chart.draw()
  }
  #range: (typeof RANGES)[number] = RANGES[0]
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false

  constructor() {
    const select = make('select')
    for (const [at, { label }] of RANGES.entries()) {
      select.append(make('option', { value: String(at) }, label))
    }
    select.addEventListener('change', () => {
      this.#range = RANGES[Number(select.value)] ?? RANGES[0]
      void this.#read()
    })
    this.element = make(
      'div',
      {},
      make('h1', {}, 'Overview'),
      this.#health,
      this.#facts,
      make('div', { class: 'bar' }, make('label', {}, 'charts', select)),
      make('div', { class: 'charts' }, ...this.#charts.map(({ element }) => element)),
      make('h2', {}, 'Waiting'),
      this.#waiting,
      make('h2', {}, 'Hosts'),
      this.#hosts,
      this.#allocators,
    )
    this.#scheme.addEventListener('change', this.#redraw)
    void this.#read()
  }

  stream(): string {
    return ''
  }

  update({ overview }: PageState): void {
    if (overview === undefined) return
    putChildren(this.#health, healthOf(overview))
    const isEmpty = overview.time === null
    replace(this.#facts, isEmpty ? make('p', {}, 'No data yet.') : factsOf(overview))
    replace(this.#waiting, isEmpty ? make('p', {}, 'No data yet.') : waitingOf(overview))
    replace(this.#hosts, isEmpty ? make('p', {}, 'No data yet.') : hostsOf(overview))
    replace(this.#allocators, allocatorsOf(overview))
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#scheme.removeEventListener('change', this.#redraw)
    for (const chart of this.#charts) chart.close()
  }

  async #read(): Promise<void> {
    clearTimeout(this.#timer)
    const range = this.#range
    try {
      const { history } = await get<{ readonly history: SeriesJson }>(
        `overview?from=-${range.spanMs}&width=400`,
      )
      if (range === this.#range) for (const chart of this.#charts) chart.show(history)
    } catch {
      // The header says that the server does not answer; this is tried again.
    }
    if (this.#isClosed || range !== this.#range) return
    this.#timer = setTimeout(() => void this.#read(), range.everyMs)
  }
}

/** Leaves what has not changed, with the selection and the focus that it may have. */
function replace(parent: HTMLElement, child: HTMLElement): void {
  if (parent.firstChild?.isEqualNode(child) !== true) parent.replaceChildren(child)
}

/** A paragraph per problem, with its advice. */
function healthOf({ health, problems, problemCount, stale }: OverviewJson): readonly HTMLElement[] {
  const { isWell, text } = health
  if (isWell) return [make('p', { class: 'health' }, `Well: ${text}`)]
  const bad = (...parts: readonly string[]): HTMLElement => {
    return make('p', { class: 'health bad' }, `Attention: ${parts.join('; ')}`)
  }
  // Old problems may be gone.
  if (stale || problems.length === 0) return [bad(text)]
  const others = problemCount - problems.length
  const more = others === 0 ? [] : [bad(`${counted(others, 'other problem')}`)]
  return [...problems.map(({ what, advice }) => bad(what, advice)), ...more]
}

/** In the colour of failures while tasks fail. */
function failedOf({ tasks, rates }: OverviewJson): HTMLElement {
  const now = rates?.failed ?? 0
  const text = `${count(tasks?.failed)}${now > 0 ? ` (${count(Math.max(1, now))} / s)` : ''}`
  return make('span', { class: now > 0 ? 'bad' : undefined }, text)
}

function charts(): readonly Chart[] {
  const line = (series: string, label: string, color: number): object => {
    return { series, label, color: `series-${color}` }
  }
  const setups = [
    {
      title: 'Throughput',
      unit: 'tasks per second',
      lines: [line('submitted', 'submitted', 1), line('ended', 'ended', 2)],
      format: count,
    },
    {
      title: 'Failures',
      unit: 'tasks per second',
      lines: [line('failed', 'failed', 3)],
      format: (value: number) => String(Number(value.toPrecision(3))),
    },
    { title: 'Running', unit: 'tasks', lines: [line('running', 'running', 1)], format: count },
    {
      title: 'Waiting, by reason',
      unit: 'tasks',
      lines: REASONS.map(([reason], at) => line(`waiting:${reason}`, reason, at + 1)),
      format: count,
    },
    {
      title: 'CPU of the workers',
      unit: '% of one core',
      lines: [line('cpu', 'cpu', 4)],
      format: percent,
    },
    {
      title: 'Memory of the workers',
      unit: 'bytes',
      lines: [line('memory', 'memory', 5)],
      format: bytes,
    },
  ]
  return setups.map((setup) => new Chart(setup as ConstructorParameters<typeof Chart>[0]))
}

function factsOf(overview: OverviewJson): HTMLElement {
  const { tasks, rates, workers, scheduler, objects } = overview
  const all = workers.busy + workers.idle + workers.starting + workers.leaving
  const rate = rates === null || rates === undefined ? UNKNOWN : `${count(rates.ended)} / s`
  return facts([
    ['tasks ended', rate],
    ['running', count(tasks?.running)],
    ['waiting', count(tasks?.waiting)],
    ['succeeded', count(tasks?.success)],
    ['failed', failedOf(overview)],
    ['cancelled', count(tasks?.canceled)],
    ['workers', `${count(all)} (${count(workers.busy)} busy)`],
    ['workers lost (10 minutes)', count(overview.lost?.count)],
    ['clients', count(overview.clients)],
    ['graphs', count(overview.graphs)],
    ['cpu of the workers', percent(overview.cpu)],
    ['memory of the workers', bytes(overview.memory)],
    ['stored objects', countAndBytes(objects?.count, objects?.bytes)],
    ['scheduler', `${percent(scheduler?.cpu)} cpu, turns ${duration(scheduler?.turnP99Ms)}`],
    ['scheduler up', duration(secondsToMs(scheduler?.uptimeS))],
    ['version', scheduler?.version ?? UNKNOWN],
  ])
}

function secondsToMs(seconds: number | null | undefined): number | undefined {
  return seconds === null || seconds === undefined ? undefined : seconds * 1_000
}

function waitingOf({ waiting, tasks }: OverviewJson): HTMLElement {
  if (waiting.length === 0) {
    const all = tasks?.waiting ?? 0
    const why = `${counted(all, 'task')} waiting; this scheduler does not tell why.`
    return make('p', {}, all === 0 ? 'No task waits.' : why)
  }
  const rows = waiting.map((each) => {
    const text = REASONS.find(([reason]) => reason === each.reason)?.[1] ?? each.reason
    return [
      functionName(each.function),
      `${text}${each.requirement === '' ? '' : ` (${each.requirement})`}`,
      count(each.count),
      duration(each.seconds * 1_000),
    ]
  })
  return plainTable('Waiting tasks', ['function', 'they wait for', 'tasks', 'for'], rows)
}

function hostsOf({ hosts }: OverviewJson): HTMLElement {
  if (hosts.length === 0) return make('p', {}, 'No host has workers.')
  const rows = hosts.map(({ host, workers, cpu, freeBytes }) => {
    return [host, counted(workers, 'worker'), percent(cpu), bytes(freeBytes)]
  })
  return plainTable('Hosts', ['host', 'workers', 'cpu', 'free memory'], rows)
}

/** Most clusters have none. */
function allocatorsOf({ allocators }: OverviewJson): HTMLElement {
  if (allocators === null || allocators.length === 0) return make('div')
  const rows = allocators.map((allocator) => {
    const { name, provider, running, pending, room } = allocator
    const numbers = [running, pending, room].map(count)
    return [`${name} (${provider})`, decisionOf(allocator), ...numbers]
  })
  const titles = ['allocator', 'last decision', 'running', 'on their way', 'room']
  const table = plainTable('Allocators', titles, rows)
  return make('div', {}, make('h2', {}, 'Allocators'), table)
}

type Allocator = NonNullable<OverviewJson['allocators']>[number]

function decisionOf({ paused, action, reason, problem }: Allocator): string {
  const parts = [paused ? 'paused' : `${action}: ${reason}`]
  return [...parts, ...(problem === '' ? [] : [`last start failed: ${problem}`])].join('; ')
}

/** A small table that is not sorted; all columns but the first two are numbers. */
export function plainTable(
  caption: string,
  titles: readonly string[],
  rows: readonly (readonly (string | Node)[])[],
): HTMLElement {
  const kind = (at: number): string | undefined => (at > 1 ? 'number' : undefined)
  const head = titles.map((title, at) => make('th', { scope: 'col', class: kind(at) }, title))
  const body = rows.map((cells) => {
    return make('tr', {}, ...cells.map((cell, at) => make('td', { class: kind(at) }, cell)))
  })
  const table = make(
    'table',
    { 'aria-label': caption },
    make('thead', {}, make('tr', {}, ...head)),
    make('tbody', {}, ...body),
  )
  return scrollable(caption, table)
}

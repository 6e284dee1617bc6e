// The pages of one worker and of one task, read again every two seconds.

import type { FunctionInfo } from '../src/client/monitor/cluster-info.js'
import type { OperatorReply } from '../src/client/monitor/operator-reply.js'
import type { DurationBar } from '../src/cli/ui/durations.js'
import type { TaskEntry } from '../src/cli/ui/rows.js'
import type { WorkerEntry } from '../src/cli/ui/worker-entries.js'
import { get, type Json, nowOf, type OverviewJson, type PageState } from './api.js'
import { distribution, sparkline } from './distribution.js'
import { button, type Child, facts, make, setText, viewLink } from './dom.js'
import {
  bytes,
  clock,
  count,
  duration,
  functionName,
  percent,
  shortId,
  shortWorker,
  UNKNOWN,
} from './format.js'
import { capabilitiesText, since, stateMark, TASK_COLUMNS } from './lists.js'
import { plainTable } from './overview.js'
import type { View } from './view.js'

const EVERY_MS = 2_000

interface WorkerAnswer {
  readonly id: string
  readonly host: string | null
  readonly worker: Json<WorkerEntry> | null
  readonly tasks: readonly Json<TaskEntry>[]
}

interface TaskAnswer {
  readonly task: Json<TaskEntry> | null
  readonly error: ErrorText | null
  readonly note: string
  readonly explanation: Json<OperatorReply['tasks'][number]> | null
}

interface ErrorText {
  readonly name: string
  readonly message: string
  readonly stack: string
}

/** What is read, and how it is shown. */
interface DetailSetup<Answer> {
  readonly title: string
  /** Of the API. */
  readonly path: string
  /** `now`: by the clock of the server. */
  readonly show: (answer: Answer, now: number) => readonly Child[]
  /** Whether the worker can be asked for more. */
  readonly hasLookUps: boolean
}

/** A page that is read again and again. */
class DetailView<Answer> implements View {
  readonly title: string
  readonly element: HTMLElement
  readonly #setup: DetailSetup<Answer>
  readonly #content: HTMLElement = make('div')
  readonly #error: HTMLElement = make('p', { class: 'error', role: 'status' })
  readonly #stop = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined
  #last = ''
  #overview: OverviewJson | undefined

  constructor(setup: DetailSetup<Answer>) {
    const { title, path, hasLookUps } = setup
    this.title = title
    this.#setup = setup
    const more = hasLookUps ? lookUps(path) : undefined
    const parts = [make('h1', {}, title), this.#error, more, this.#content]
    this.element = make('div', {}, ...parts)
    void this.#read()
  }

  stream(): string {
    return ''
  }

  update({ overview }: PageState): void {
    this.#overview = overview
  }

  close(): void {
    this.#stop.abort()
    clearTimeout(this.#timer)
  }

  async #read(): Promise<void> {
    try {
      const answer = await get<Answer>(this.#setup.path, this.#stop.signal)
      const next = make('div', {}, ...this.#setup.show(answer, nowOf(this.#overview)))
      // What has not changed keeps its selection and focus.
      const text = next.textContent ?? ''
      if (text !== this.#last) this.#content.replaceChildren(next)
      this.#last = text
      setText(this.#error, '')
    } catch (error) {
      if (this.#stop.signal.aborted) return
      setText(this.#error, error instanceof Error ? error.message : String(error))
    }
    this.#timer = setTimeout(() => void this.#read(), EVERY_MS)
  }
}

/** The page of a worker. */
export function workerView(id: string): View {
  const path = `workers/${encodeURIComponent(id)}`
  return new DetailView<WorkerAnswer>({
    title: `Worker ${id}`,
    path,
    show: workerParts,
    hasLookUps: true,
  })
}

function workerParts({ host, worker, tasks }: WorkerAnswer, now: number): readonly Child[] {
  const running = (worker?.running ?? []).map(({ task, name, since: from }) => {
    return [viewLink(shortId(task), 'tasks', task), functionName(name), since(from, now)]
  })
  return [
    worker === null
      ? make('p', { class: 'error' }, 'This worker has left.')
      : facts([
          ['host', host ?? UNKNOWN],
          ['name', worker.name || UNKNOWN],
          ['state', worker.state],
          [
            'last heartbeat',
            worker.silentSince === null
              ? 'in time'
              : make('span', { class: 'bad' }, `${since(worker.silentSince, now)} ago`),
          ],
          ['queued', count(worker.queued)],
          ['cpu', percent(worker.cpu)],
          ['cpu, last 5 min (0 to 100 %)', sparkline(worker.past, 100, percent)],
          ['memory', bytes(worker.rssBytes)],
          ['lag', duration(worker.lagMs)],
          ['version', worker.version ?? UNKNOWN],
          ['capabilities', capabilitiesText(worker.capabilities) || 'none'],
        ]),
    make('h2', {}, 'Runs'),
    running.length === 0
      ? make('p', {}, 'Nothing, as of its last heartbeat.')
      : plainTable('What it runs', ['task', 'name', 'for'], running),
    make('h2', {}, 'Last tasks'),
    tasks.length === 0 ? make('p', {}, 'None are known.') : tasksTable(tasks),
  ]
}

function tasksTable(tasks: readonly Json<TaskEntry>[]): HTMLElement {
  const columns = TASK_COLUMNS.filter(({ title }) => title !== 'worker')
  const titles = columns.map(({ title }) => title)
  const rows = tasks.map((task) => columns.map(({ cell }) => cell(task, 0) ?? ''))
  return plainTable('Its last tasks', titles, rows)
}

interface FunctionAnswer {
  readonly function: Json<FunctionInfo>
  readonly durations: readonly DurationBar[]
}

/** The page of a function. */
export function functionView(name: string): View {
  const path = `functions/${encodeURIComponent(name)}`
  const title = `Function ${functionName(name)}`
  return new DetailView<FunctionAnswer>({ title, path, show: functionParts, hasLookUps: false })
}

function functionParts({ function: found, durations }: FunctionAnswer): readonly Child[] {
  const measured = durations.length === 0
  return [
    facts([
      ['ended', count(found.count)],
      ['failed', count(found.failed)],
      ['mean', duration(found.meanMs)],
      ['half took at most', duration(found.p50Ms)],
      ['90 % took at most', duration(found.p90Ms)],
      ['99 % took at most', duration(found.p99Ms)],
      ['longest', duration(found.maxMs)],
      ['memory', bytes(found.peakBytes)],
    ]),
    make('h2', {}, 'Durations'),
    measured
      ? make('p', {}, 'No measured task has ended since this server has been watching.')
      : distribution(durations),
    measured
      ? undefined
      : make(
          'p',
          { class: 'count' },
          'Of the tasks whose ends were reported since this server has been watching.',
        ),
  ]
}

/** The page of a task. */
export function taskView(id: string): View {
  const path = `tasks/${encodeURIComponent(id)}`
  return new DetailView<TaskAnswer>({
    title: `Task ${id}`,
    path,
    show: taskParts,
    hasLookUps: true,
  })
}

function taskParts({ task, error, note, explanation }: TaskAnswer): readonly Child[] {
  const state = explanation?.state ?? task?.state ?? UNKNOWN
  const shown = make('span', { class: stateMark(state) || undefined }, state)
  const worker = task?.worker ?? explanation?.attempts.at(-1)?.worker
  const of = explanation?.function || task?.function || ''
  const failure = explanation?.error ?? error
  return [
    facts([
      ['name', functionName(explanation?.name || task?.name || of)],
      ['function', functionName(of)],
      ['state', shown],
      ['waits for', waitText(explanation)],
      ['client', shortWorker(explanation?.client ?? task?.client ?? UNKNOWN)],
      ['worker', worker === undefined ? UNKNOWN : viewLink(shortWorker(worker), 'workers', worker)],
      ['took', duration(task?.durationMs)],
      ['waited', duration(task?.queuedMs)],
      ['ended', clock(task?.ended)],
      ['attempts', count(explanation?.attemptCount ?? task?.attempts)],
    ]),
    note === '' ? undefined : make('p', {}, note),
    ...attemptsOf(explanation),
    ...(failure === null
      ? []
      : [
          make('h2', {}, 'Error'),
          make('pre', { tabindex: '0' }, failure.stack || `${failure.name}: ${failure.message}`),
        ]),
  ]
}

function waitText(explanation: TaskAnswer['explanation']): string {
  if (explanation === null || explanation.reason === null) return UNKNOWN
  const { reason, requirement, dependsOn } = explanation
  const others = dependsOn.map(({ task, name }) => name ?? shortId(task)).join(', ')
  return [reason, requirement ?? '', others].filter((part) => part !== '').join(' ')
}

function attemptsOf(explanation: TaskAnswer['explanation']): readonly Child[] {
  if (explanation === null || explanation.attempts.length === 0) return []
  const rows = explanation.attempts.map(({ worker, outcome, startedAt }) => {
    return [viewLink(shortWorker(worker), 'workers', worker), outcome, clock(startedAt)]
  })
  return [make('h2', {}, 'Attempts'), plainTable('Attempts', ['worker', 'outcome', 'began'], rows)]
}

/** What the worker is asked for: only on demand, because that interrupts it for a moment. */
function lookUps(path: string): HTMLElement {
  const result = make('div', { role: 'status' })
  const ask = async (about: 'stack' | 'logs'): Promise<void> => {
    result.replaceChildren('asking the worker …')
    try {
      const reply = await get<Json<OperatorReply>>(`${path}/${about}`)
      const text = about === 'stack' ? stackText(reply) : linesText(reply)
      result.replaceChildren(make('pre', { tabindex: '0' }, text))
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      result.replaceChildren(make('p', { class: 'error' }, text))
    }
  }
  const stack = button('Show the stack', () => void ask('stack'))
  const logs = path.startsWith('workers/')
    ? button('Show the last lines', () => void ask('logs'))
    : undefined
  return make('div', {}, make('div', { class: 'bar' }, stack, logs), result)
}

function stackText({ outcome, note, stack }: Json<OperatorReply>): string {
  if (stack.length === 0) return note || `no stack (${outcome})`
  return stack
    .map(
      (frame) =>
        `at ${frame.function || '(anonymous)'} (${frame.file}:${frame.line}:${frame.column})`,
    )
    .join('\n')
}

function linesText({ outcome, note, lines }: Json<OperatorReply>): string {
  if (lines.length === 0) return note || `no lines (${outcome})`
  return lines.map(({ time, source, text }) => `${clock(time)} ${source}: ${text}`).join('\n')
}

// The pages of one worker and of one task, read again every two seconds.

import type { FunctionInfo } from '../src/client/monitor/cluster-info.js'
import type { OperatorReply } from '../src/client/monitor/operator-reply.js'
import type { DurationBar } from '../src/cli/ui/board.js'
import type { KnownClient } from '../src/cli/ui/answers.js'
import type { TaskEntry } from '../src/cli/ui/rows.js'
import type { WorkerEntry } from '../src/cli/ui/worker-entries.js'
import { get, type Json, nowOf, type OverviewJson, type PageState } from './api.js'
import { distribution, sparkline } from './distribution.js'
import { button, type Child, facts, make, putChildren, setText, viewLink } from './dom.js'
import {
  bytes,
  clock,
  count,
  duration,
  errorText,
  functionName,
  nameIn,
  peerName,
  percent,
  secondsAgo,
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
  /** How long ago its last heartbeat was, in full seconds. */
  readonly heartbeatS: number | null
  readonly tasks: readonly Json<TaskEntry>[]
}

interface TaskAnswer {
  readonly task: Json<TaskEntry> | null
  readonly error: ErrorText | null
  readonly note: string
  readonly explanation: Json<OperatorReply['tasks'][number]> | null
  readonly client: Json<KnownClient> | null
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
  /** Whether a worker can be asked for more; undefined: never. */
  readonly canAsk?: (answer: Answer) => boolean
}

/** A page that is read again and again. */
class DetailView<Answer> implements View {
  readonly title: string
  readonly element: HTMLElement
  readonly #setup: DetailSetup<Answer>
  readonly #content: HTMLElement = make('div')
  readonly #error: HTMLElement = make('p', { class: 'error', role: 'status' })
  readonly #stop = new AbortController()
  readonly #asking: HTMLElement | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #overview: OverviewJson | undefined

  constructor(setup: DetailSetup<Answer>) {
    const { title, path, canAsk } = setup
    this.title = title
    this.#setup = setup
    const more = canAsk === undefined ? undefined : lookUps(path)
    this.#asking = more?.controls
    const heading = make('h1', {}, title)
    const parts = [heading, this.#error, more?.controls, more?.result, this.#content]
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
      putChildren(this.#content, this.#setup.show(answer, nowOf(this.#overview)))
      if (this.#asking !== undefined) this.#asking.hidden = this.#setup.canAsk?.(answer) !== true
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
    canAsk: ({ worker }) => worker !== null,
  })
}

function workerParts(
  { host, worker, heartbeatS, tasks }: WorkerAnswer,
  now: number,
): readonly Child[] {
  const heartbeat = heartbeatS === null ? UNKNOWN : secondsAgo(heartbeatS)
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
            make('span', { class: worker.silentSince === null ? undefined : 'bad' }, heartbeat),
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
    make(
      'p',
      { class: 'count' },
      `${running.length === 0 ? 'Nothing, as' : 'As'} of its last heartbeat, ${heartbeat}.`,
    ),
    running.length === 0 ? undefined : plainTable('What it runs', ['task', 'name', 'for'], running),
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
  return new DetailView<FunctionAnswer>({ title, path, show: functionParts })
}

/** Percentiles of up to 20 durations are exact. */
function percentile(ms: number | null, tasks: number): string {
  return ms === null || tasks <= 20 ? duration(ms) : `about ${duration(ms)}`
}

function functionParts({ function: found, durations }: FunctionAnswer): readonly Child[] {
  const measured = durations.length === 0
  return [
    facts([
      ['ended', count(found.count)],
      ['failed', count(found.failed)],
      ['mean', duration(found.meanMs)],
      ['half took at most', percentile(found.p50Ms, found.count)],
      ['90 % took at most', percentile(found.p90Ms, found.count)],
      ['99 % took at most', percentile(found.p99Ms, found.count)],
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
    canAsk: isOnWorker,
  })
}

/** Only what runs has a stack. */
function isOnWorker({ task, explanation }: TaskAnswer): boolean {
  const state = explanation?.state ?? task?.state
  return state === 'running' || state === 'canceling'
}

/** A link to the client among the others, while it is one of them. */
function clientOf({ client }: TaskAnswer): Child {
  if (client === null) return UNKNOWN
  const { id, name, host, isConnected } = client
  if (!isConnected) return `${peerName(id, name, host)} (left)`
  return viewLink(peerName(id, name, host), 'clients', id)
}

function taskParts(answer: TaskAnswer): readonly Child[] {
  const { task, error, note, explanation } = answer
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
      ['client', clientOf(answer)],
      ['worker', worker === undefined ? UNKNOWN : viewLink(nameIn(worker), 'workers', worker)],
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
          make('pre', { tabindex: '0' }, failure.stack || errorText(failure.name, failure.message)),
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
function lookUps(path: string): { readonly controls: HTMLElement; readonly result: HTMLElement } {
  const parts = { stack: make('div'), logs: make('div') }
  const result = make('div', { role: 'status' }, parts.stack, parts.logs)
  const ask = async (about: 'stack' | 'logs'): Promise<void> => {
    const title = about === 'stack' ? 'Stack' : 'Last lines'
    const show = (child: HTMLElement): void => {
      parts[about].replaceChildren(make('h2', {}, `${title}, at ${clock(Date.now())}`), child)
    }
    show(make('p', {}, 'asking the worker …'))
    try {
      const reply = await get<Json<OperatorReply>>(`${path}/${about}`)
      const text = about === 'stack' ? stackText(reply) : linesText(reply)
      show(make('pre', { tabindex: '0' }, text))
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error)
      show(make('p', { class: 'error' }, text))
    }
  }
  const stack = button('Show the stack', () => void ask('stack'))
  const logs = path.startsWith('workers/')
    ? button('Show the last lines', () => void ask('logs'))
    : undefined
  return { controls: make('div', { class: 'bar', hidden: true }, stack, logs), result }
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

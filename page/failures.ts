// Failures, those with the same cause together, with message and stack.

import type { NamedCount } from '../src/cli/ui/peer-names.js'
import type { FailureEntry } from '../src/cli/ui/rows.js'
import type { Json, OverviewJson, PageState } from './api.js'
import { make, setText, viewLink } from './dom.js'
import { clock, count, counted, errorText, functionName, peerName, shortId } from './format.js'
import type { View } from './view.js'

type Group = Json<FailureEntry>

interface GroupElements {
  readonly element: HTMLDetailsElement
  readonly summary: HTMLElement
  readonly content: HTMLElement
  group: Group | undefined
}

/** The failures. */
export class FailuresView implements View {
  readonly title = 'Failures'
  readonly element: HTMLElement
  readonly #none: HTMLElement = make('p')
  readonly #list: HTMLElement = make('div')
  /** They stay open while their numbers change. */
  readonly #groups = new Map<string, GroupElements>()

  constructor() {
    this.element = make('div', {}, make('h1', {}, 'Failures'), this.#none, this.#list)
  }

  stream(): string {
    return '?view=failures&limit=100'
  }

  update({ overview, table: { ids, rows } }: PageState): void {
    setText(this.#none, ids.length > 0 ? '' : noneText(overview))
    for (const [id, { element }] of this.#groups) {
      if (ids.includes(id)) continue
      element.remove()
      this.#groups.delete(id)
    }
    for (const [at, id] of ids.entries()) {
      const group = rows.get(id) as Group | undefined
      if (group === undefined) continue
      const elements = this.#groups.get(id) ?? newGroup()
      this.#groups.set(id, elements)
      if (elements.group !== group) fill(elements, group)
      const there = this.#list.children[at]
      if (there !== elements.element) this.#list.insertBefore(elements.element, there ?? null)
    }
  }

  close(): void {}
}

function noneText(overview: OverviewJson | undefined): string {
  const tasks = overview?.tasks ?? null
  if (tasks === null) return 'No data yet.'
  if (tasks.failed === 0) return 'No failures.'
  return `${counted(tasks.failed, 'task')} failed, but this scheduler does not tell which.`
}

function newGroup(): GroupElements {
  const [summary, content] = [make('summary'), make('div')]
  return { element: make('details', {}, summary, content), summary, content, group: undefined }
}

function fill(elements: GroupElements, group: Group): void {
  elements.group = group
  const { errorName, message, count: total, first, last } = group
  const [line = ''] = message.split('\n', 1)
  const what = `${functionName(group.function)}: ${errorText(errorName, line)}`
  setText(elements.summary, `${counted(total, 'time')}, last at ${clock(last)}: ${what}`)
  elements.content.replaceChildren(
    make('p', {}, `${counted(total, 'failure')} in total, from ${clock(first)} to ${clock(last)}.`),
    make('pre', { tabindex: '0' }, group.stack || errorText(errorName, message)),
    make('strong', {}, 'Last tasks'),
    make('p', {}, ...group.tasks.flatMap((id) => [viewLink(shortId(id), 'tasks', id), ' '])),
    make('strong', {}, 'Clients'),
    peers('clients', group.clients, total),
    make('strong', {}, 'Workers'),
    peers('workers', group.workers, total),
  )
}

/** How many of the failures concern whom. */
function peers(
  view: 'clients' | 'workers',
  known: readonly Json<NamedCount>[],
  total: number,
): HTMLElement {
  const items = known.map(({ id, name, host, count: times }) => {
    return make('li', {}, viewLink(peerName(id, name, host), view, id), `: ${count(times)}`)
  })
  const others = total - known.reduce((sum, { count: times }) => sum + times, 0)
  const more = others <= 0 ? undefined : make('li', {}, `others, or not known: ${count(others)}`)
  return make('ul', {}, ...items, more)
}

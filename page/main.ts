// The page of `scaler ui`: the frame around the views, the stream of changes, and how fresh it is.

import { Live, type OverviewJson, type PageState } from './api.js'
import { make, setText } from './dom.js'
import { functionView, taskView, workerView } from './details.js'
import { FailuresView } from './failures.js'
import { duration } from './format.js'
import { GraphView } from './graph.js'
import { listView } from './lists.js'
import { OverviewView } from './overview.js'
import { TimelineView } from './timeline.js'
import type { View, ViewHost } from './view.js'

const VIEWS = [
  ['overview', 'Overview'],
  ['workers', 'Workers'],
  ['tasks', 'Tasks'],
  ['timeline', 'Timeline'],
  ['functions', 'Functions'],
  ['clients', 'Clients'],
  ['graphs', 'Graphs'],
  ['failures', 'Failures'],
  ['log', 'Log'],
] as const

/** After this time without news, the page says so. */
const STALE_MS = 3_000

class Page implements ViewHost {
  readonly #main = make('main', { id: 'main', tabindex: '-1' })
  readonly #cluster = make('span', { class: 'cluster' })
  readonly #fresh = make('span', { class: 'fresh' })
  readonly #banner = make('div', { class: 'banner', role: 'alert', hidden: true })
  readonly #links = new Map<string, HTMLAnchorElement>()
  #view: View | undefined
  #live: Live | undefined
  #overview: OverviewJson | undefined
  #heardAt: number | undefined
  #isLost = false

  constructor() {
    const links = VIEWS.map(([name, title]) => {
      const link = make('a', { href: `#/${name}` }, title)
      this.#links.set(name, link)
      return link
    })
    const skip = make('a', { class: 'skip', href: '#main' }, 'Skip to the content')
    skip.addEventListener('click', (event) => {
      event.preventDefault()
      this.#main.focus()
    })
    const note = 'Read-only. There is no login: whoever reaches this page sees the cluster.'
    document.body.replaceChildren(
      skip,
      make(
        'header',
        {},
        make('strong', {}, 'Scaler'),
        this.#cluster,
        make('nav', { 'aria-label': 'Views' }, ...links),
        this.#fresh,
      ),
      this.#banner,
      this.#main,
      make('footer', {}, note),
    )
  }

  /** From now on, it follows its address and the cluster. */
  start(): void {
    window.addEventListener('hashchange', () => this.#open(true))
    setInterval(() => this.#showFreshness(), 500)
    this.#open(false)
  }

  reopen(): void {
    const view = this.#view
    this.#live?.close()
    if (view === undefined) return
    this.#live = new Live(
      view.stream(),
      (state) => this.#onState(state),
      () => {
        this.#isLost = true
        this.#showFreshness()
      },
    )
  }

  #open(isMove: boolean): void {
    const path = window.location.hash.replace(/^#\/?/, '')
    const [name = '', id] = path.split('/').map(decoded)
    const view = this.#viewOf(name === '' ? 'overview' : name, id)
    this.#view?.close()
    this.#view = view
    this.#showCluster()
    for (const [each, link] of this.#links) {
      if (each === (name || 'overview')) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
    }
    this.#main.replaceChildren(view.element)
    if (isMove) {
      this.#main.focus({ preventScroll: true })
      window.scrollTo(0, 0)
    }
    this.reopen()
  }

  #viewOf(name: string, id: string | undefined): View {
    if (name === 'workers' && id !== undefined) return workerView(id)
    if (name === 'tasks' && id !== undefined) return taskView(id)
    if (name === 'functions' && id !== undefined) return functionView(id)
    if (name === 'graphs' && id !== undefined) return new GraphView(id)
    if (name === 'timeline') return new TimelineView()
    if (name === 'failures') return new FailuresView()
    return listView(name, this, id) ?? new OverviewView()
  }

  #onState(state: PageState): void {
    this.#overview = state.overview
    this.#heardAt = performance.now()
    this.#isLost = false
    this.#view?.update(state)
    this.#showCluster()
    this.#showFreshness()
  }

  /** Which cluster this is: several pages may be open. */
  #showCluster(): void {
    const cluster = this.#overview?.cluster ?? ''
    setText(this.#cluster, cluster)
    const parts = [this.#view?.title ?? '', cluster, 'Scaler'].filter((part) => part !== '')
    const title = parts.join(' – ')
    if (document.title !== title) document.title = title
  }

  #showFreshness(): void {
    const age = this.#ageMs
    const isOld = age === undefined || age >= STALE_MS
    setText(this.#fresh, ageText(age))
    const text = isOld ? this.#lossText(age) : ''
    setText(this.#banner, text)
    this.#banner.hidden = text === ''
  }

  /** How old what is shown is; undefined: there is nothing. */
  get #ageMs(): number | undefined {
    const { ageMs } = this.#overview ?? {}
    if (this.#heardAt === undefined || ageMs === null || ageMs === undefined) return undefined
    return ageMs + performance.now() - this.#heardAt
  }

  #lossText(age: number | undefined): string {
    if (this.#isLost) return 'scaler ui does not answer: what is shown is old. Trying again …'
    if (this.#overview === undefined) return ''
    if (age === undefined) return `No news of the cluster yet: ${this.#overview.health.text}`
    const seconds = duration(Math.round(age / 1_000) * 1_000)
    return `The scheduler has not reported for ${seconds}: what is shown is old.`
  }
}

function ageText(age: number | undefined): string {
  if (age === undefined) return 'no news yet'
  return age < STALE_MS ? 'up to date' : `${duration(Math.round(age / 1_000) * 1_000)} old`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

new Page().start()

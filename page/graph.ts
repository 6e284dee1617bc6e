// The page of one graph: its progress by layer, and if it is small, a drawing of its nodes and what
// they need. The drawing stays while states change.

import type { GraphInfo, GraphNodeInfo, NodeCounts } from '../src/client/monitor/graph-info.js'
import { get, type Json, nowOf, type OverviewJson, type PageState } from './api.js'
import { draw, facts, make, scrollable, setText, viewPath } from './dom.js'
import { clock, count, duration, functionName, percent, shortWorker, UNKNOWN } from './format.js'
import { stateMark } from './lists.js'
import type { View } from './view.js'

type Graph = Json<GraphInfo>

interface GraphAnswer {
  readonly graph: Graph
  readonly clientName: string
}

const EVERY_MS = 1_000
const STATES = ['succeeded', 'running', 'ready', 'waiting', 'failed', 'dropped'] as const
const BAR = { width: 240, height: 14 } as const

/** Sizes of the drawing in pixels: a column for each layer. */
const NODE = { width: 132, height: 26 } as const
const STEP = { x: 184, y: 36 } as const
const MARGIN = 12
/** Names are cut after this many characters. */
const MAX_NAME = 17
/** How often the order in the layers is improved. */
const SWEEPS = 6

/** The page of a graph. */
export class GraphView implements View {
  readonly title: string
  readonly element: HTMLElement
  readonly #path: string
  readonly #error: HTMLElement = make('p', { class: 'error', role: 'status' })
  readonly #facts: HTMLElement = make('div')
  readonly #layers: HTMLElement = make('div')
  readonly #drawing: HTMLElement = make('div')
  readonly #stop = new AbortController()
  /** The nodes of the drawing, by task. */
  #nodes = new Map<string, SVGElement>()
  #overview: OverviewJson | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(id: string) {
    this.title = `Graph ${id}`
    this.#path = `graphs/${encodeURIComponent(id)}`
    this.element = make(
      'div',
      {},
      make('h1', {}, this.title),
      this.#error,
      this.#facts,
      make('h2', {}, 'Nodes'),
      legend(),
      this.#drawing,
      make('h2', {}, 'Progress by layer'),
      this.#layers,
    )
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
      const { graph, clientName } = await get<GraphAnswer>(this.#path, this.#stop.signal)
      setText(this.#error, '')
      this.#show(graph, clientName || shortWorker(graph.client))
    } catch (error) {
      if (this.#stop.signal.aborted) return
      setText(this.#error, error instanceof Error ? error.message : String(error))
    }
    this.#timer = setTimeout(() => void this.#read(), EVERY_MS)
  }

  #show(graph: Graph, client: string): void {
    const { status, begun, ended, counts, layers, nodes } = graph
    const end = ended === null ? nowOf(this.#overview) : Date.parse(ended)
    const total = totalOf(counts)
    const seconds = Math.floor(Math.max(0, end - Date.parse(begun)) / 1_000)
    const took = ended === null ? seconds * 1_000 : end - Date.parse(begun)
    this.#facts.replaceChildren(
      facts([
        ['state', make('span', { class: stateMark(status) || undefined }, status)],
        ['nodes', count(total)],
        ...STATES.map((state) => [state, count(counts[state])] as const),
        ['client', client],
        ['began', clock(begun)],
        ['takes', duration(took)],
      ]),
    )
    this.#layers.replaceChildren(layers.length === 0 ? noLayers(total) : layersTable(layers))
    if (nodes.length === 0) {
      const why = 'Only graphs with at most 200 nodes are drawn.'
      this.#drawing.replaceChildren(make('p', {}, total > 200 ? why : 'Its nodes are not known.'))
      return
    }
    if (!nodes.every(({ task }) => this.#nodes.has(task)) || nodes.length !== this.#nodes.size) {
      const made = drawingOf(graph)
      this.#nodes = new Map(made.nodes)
      this.#drawing.replaceChildren(scrollable('The nodes of the graph', made.element))
    }
    for (const node of nodes) {
      const element = this.#nodes.get(node.task)
      if (element?.getAttribute('class') === `node ${node.state}`) continue
      element?.setAttribute('class', `node ${node.state}`)
      const title = element?.querySelector('title')
      if (title) title.textContent = titleOf(node)
    }
  }
}

function noLayers(total: number): HTMLElement {
  const text =
    total > 200
      ? 'Not known: the graph began before it was watched, or has more than 100,000 nodes.'
      : 'Not known.'
  return make('p', {}, text)
}

function totalOf(counts: NodeCounts): number {
  return STATES.reduce((sum, state) => sum + counts[state], 0)
}

function legend(): HTMLElement {
  const items = STATES.map((state) => {
    return make('span', { class: 'legend' }, make('i', { class: `swatch ${state}` }), state)
  })
  return make('p', { class: 'legends' }, ...items)
}

/** One row per layer, with a bar whose length is the number of its nodes. */
function layersTable(layers: Graph['layers']): HTMLElement {
  const most = Math.max(1, ...layers.map(totalOf))
  let first = 0
  const rows = layers.map((layer) => {
    const total = totalOf(layer)
    const last = first + layer.layers - 1
    const name = last === first ? String(first) : `${first} to ${last}`
    first = last + 1
    const done = total === 0 ? UNKNOWN : percent((100 * layer.succeeded) / total)
    const cells = [count(total), done, count(layer.running), count(layer.failed)]
    return make(
      'tr',
      {},
      make('td', {}, name),
      make('td', {}, layerBar(layer, total, most)),
      ...cells.map((cell) => make('td', { class: 'number' }, cell)),
    )
  })
  const titles = ['layer', `0 to ${count(most)} nodes`, 'nodes', 'succeeded', 'running', 'failed']
  const heads = titles.map((title, at) => {
    return make('th', { scope: 'col', class: at > 1 ? 'number' : undefined }, title)
  })
  const caption = 'Progress by layer'
  const table = make(
    'table',
    { 'aria-label': caption },
    make('thead', {}, make('tr', {}, ...heads)),
    make('tbody', {}, ...rows),
  )
  return scrollable(caption, table)
}

function layerBar(layer: NodeCounts, total: number, most: number): SVGElement {
  let x = 0
  const parts = STATES.filter((state) => layer[state] > 0).map((state) => {
    const width = (BAR.width * layer[state]) / most
    x += width
    return draw('rect', { class: state, x: x - width, y: 0, width, height: BAR.height })
  })
  const label = `${count(layer.succeeded)} of ${count(total)} succeeded`
  return draw('svg', { class: 'layer', ...BAR, role: 'img', 'aria-label': label }, ...parts)
}

function titleOf({ function: name, state }: Json<GraphNodeInfo>): string {
  return `${functionName(name)}: ${state}`
}

interface Drawing {
  readonly element: SVGElement
  readonly nodes: readonly (readonly [task: string, element: SVGElement])[]
}

function drawingOf({ nodes, edges }: Graph): Drawing {
  const columns = columnsOf(nodes, edges)
  const highest = Math.max(...columns.map((column) => column.length))
  const width = columns.length * STEP.x - (STEP.x - NODE.width) + 2 * MARGIN
  const height = highest * STEP.y - (STEP.y - NODE.height) + 2 * MARGIN
  const places = new Map<number, { readonly x: number; readonly y: number }>()
  for (const [layer, column] of columns.entries()) {
    const top = ((highest - column.length) * STEP.y) / 2
    for (const [at, node] of column.entries()) {
      places.set(node, { x: MARGIN + layer * STEP.x, y: MARGIN + top + at * STEP.y })
    }
  }
  const lines = edges.flatMap(([input = 0, node = 0]) => {
    const [from, to] = [places.get(input), places.get(node)]
    if (from === undefined || to === undefined) return []
    const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2]
    const [x2, y2] = [to.x, to.y + NODE.height / 2]
    const bend = Math.max(20, (x2 - x1) / 2)
    return [
      draw('path', {
        class: 'edge',
        d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
      }),
    ]
  })
  const boxes = nodes.map((node, at) => {
    const { x = 0, y = 0 } = places.get(at) ?? {}
    return [node.task, nodeBox(node, x, y)] as const
  })
  const label =
    'Arrows of time run to the right: each node needs those to its left that it is linked with'
  const size = { class: 'drawing', width, height, role: 'group', 'aria-label': label }
  return { element: draw('svg', size, ...lines, ...boxes.map(([, box]) => box)), nodes: boxes }
}

function nodeBox(node: Json<GraphNodeInfo>, x: number, y: number): SVGElement {
  const name = functionName(node.function)
  const short = name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name
  const middle = { x: x + NODE.width / 2, y: y + NODE.height / 2 + 4, 'text-anchor': 'middle' }
  return draw(
    'a',
    { class: `node ${node.state}`, href: viewPath('tasks', node.task) },
    draw('title', {}, titleOf(node)),
    draw('rect', { x, y, ...NODE, rx: 5 }),
    draw('text', middle, short),
  )
}

/** The nodes of each layer, near what they are linked with: few edges cross. */
function columnsOf(
  nodes: readonly Json<GraphNodeInfo>[],
  edges: Graph['edges'],
): readonly (readonly number[])[] {
  const columns: number[][] = []
  for (const [at, { layer }] of nodes.entries()) (columns[layer] ??= []).push(at)
  for (let layer = 0; layer < columns.length; layer += 1) columns[layer] ??= []
  const links = nodes.map((): number[] => [])
  for (const [input = 0, node = 0] of edges) {
    links[input]?.push(node)
    links[node]?.push(input)
  }
  const places = new Map<number, number>()
  const place = (column: readonly number[]): void => {
    for (const [at, node] of column.entries()) places.set(node, at - column.length / 2)
  }
  for (const column of columns) place(column)
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const column of sweep % 2 === 0 ? columns : columns.toReversed()) {
      const wish = new Map(column.map((node) => [node, meanOf(links[node] ?? [], places, node)]))
      column.sort((a, b) => (wish.get(a) ?? 0) - (wish.get(b) ?? 0))
      place(column)
    }
  }
  return columns
}

function meanOf(
  links: readonly number[],
  places: ReadonlyMap<number, number>,
  node: number,
): number {
  if (links.length === 0) return places.get(node) ?? 0
  return links.reduce((sum, each) => sum + (places.get(each) ?? 0), 0) / links.length
}

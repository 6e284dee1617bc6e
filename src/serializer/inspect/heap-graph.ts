// The part of a heap snapshot that tells which variables functions share. A closure points to its
// context, the storage of the variables around it; that one to the context around it (`previous`)
// and to the names of its variables (`scope_info`):
//
//   function ──context──> Context ──previous──> Context ──previous──> NativeContext
//                            └─scope_info──> ScopeInfo ──0, 1, …──> names

import type { SnapshotMeta, SnapshotSink } from './heap-text.js'
import { IntegerList } from './integer-list.js'

/** The storage of one scope's variables. */
export interface HeapContext {
  /** The same for the same context, within one graph. */
  readonly node: number
  /** What V8 stores there, in its order; see `readings` for the last. Undefined: many. */
  readonly names: readonly string[] | undefined
  /** Where further variables are: in a module, or in an object of a `with` or sloppy `eval`. */
  readonly extension: 'none' | 'module' | 'object' | 'other'
}

/** The chain of contexts of a function, the innermost first. */
export interface ContextChain {
  readonly contexts: readonly HeapContext[]
  /** Stands for the variables that all scripts share. */
  readonly root: number
}

/** How many objects are looked at, at most, when the contexts of some functions are followed. */
const MAX_NEAR = 200_000

/** Map, length, scope info and previous context, in words; the variables follow. */
const CONTEXT_HEAD_WORDS = 4

/** Of the snapshot, what belongs to functions and contexts. Fed by a `HeapTextReader`. */
export class HeapGraph implements SnapshotSink {
  readonly #listId: number
  readonly #wordBytes: number
  readonly #texts = new Map<number, string>()
  readonly #wanted = new Set<number>()
  #layout: Layout | undefined
  /** By node. */
  #types = new Uint8Array(0)
  #nameIndexes = new Uint32Array(0)
  #sizes = new Uint32Array(0)
  #edgeCounts = new Uint32Array(0)
  /** Where the kept edges of the node begin. */
  #starts = new Uint32Array(0)
  nodeCount = 0
  #listNode = -1
  /** Edges that are kept: their names or indexes, and the nodes to which they lead. */
  readonly #edgeNames = new IntegerList()
  readonly #edgeTargets = new IntegerList()
  #source = -1
  #edgesLeft = 0

  /** `listId` is V8's id of an array that has the functions. */
  constructor(listId: number, wordBytes: number) {
    this.#listId = listId
    this.#wordBytes = wordBytes
  }

  onHead(meta: SnapshotMeta, nodeCount: number): void {
    this.#layout = layoutOf(meta)
    this.#types = new Uint8Array(nodeCount)
    this.#nameIndexes = new Uint32Array(nodeCount)
    this.#sizes = new Uint32Array(nodeCount)
    this.#edgeCounts = new Uint32Array(nodeCount)
    this.#starts = new Uint32Array(nodeCount + 1)
  }

  onNode(fields: Readonly<Float64Array>): void {
    const { node } = this.#known
    const at = this.nodeCount
    this.#types[at] = fields[node.type] ?? 0
    this.#nameIndexes[at] = fields[node.name] ?? 0
    this.#sizes[at] = fields[node.size] ?? 0
    this.#edgeCounts[at] = fields[node.edgeCount] ?? 0
    if (fields[node.id] === this.#listId) this.#listNode = at
    this.nodeCount += 1
  }

  onEdge(fields: Readonly<Float64Array>): void {
    const { edge, node, edgeType } = this.#known
    while (this.#edgesLeft === 0) this.#nextSource()
    this.#edgesLeft -= 1
    if (!this.#isKept(fields[edge.type] ?? 0)) return
    const type = fields[edge.type]
    // Names are numbers of strings, indexes are numbers of places: told apart by the lowest bit.
    const isIndex = type === edgeType.hidden || type === edgeType.element
    this.#edgeNames.push((fields[edge.name] ?? 0) * 2 + (isIndex ? 1 : 0))
    this.#edgeTargets.push((fields[edge.target] ?? 0) / node.width)
  }

  wantedStrings(): ReadonlySet<number> {
    while (this.#source < this.nodeCount) this.#nextSource()
    const near = new Set<number>(this.#edges(this.#listNode).map(({ target }) => target))
    for (const node of near) {
      if (near.size > MAX_NEAR) break
      for (const { name, target } of this.#edges(node)) {
        if (name !== undefined) this.#wanted.add(name)
        this.#wanted.add(this.#nameIndexes[target] ?? 0)
        if (this.#leadsOn(node, target)) near.add(target)
      }
    }
    return this.#wanted
  }

  onString(index: number, text: string): void {
    this.#texts.set(index, text)
  }

  /** The chains of the functions in the list, in their order; undefined where one is not found. */
  chains(): readonly (ContextChain | undefined)[] {
    const elements = this.#edges(this.#listNode).filter(({ index }) => index !== undefined)
    const chains: (ContextChain | undefined)[] = []
    for (const { index, target } of elements) chains[index ?? 0] = this.#chainOf(target)
    return chains
  }

  #chainOf(closure: number): ContextChain | undefined {
    const contexts: HeapContext[] = []
    let node = this.#target(closure, 'context')
    while (node !== undefined && this.#nameOf(node) === 'system / Context') {
      contexts.push(this.#contextAt(node))
      node = this.#target(node, 'previous')
    }
    if (node === undefined || !this.#nameOf(node)?.startsWith('system / NativeContext')) {
      return undefined
    }
    return { contexts, root: node }
  }

  #contextAt(node: number): HeapContext {
    const extension = this.#extensionOf(node)
    const words = (this.#sizes[node] ?? 0) / this.#wordBytes - CONTEXT_HEAD_WORDS
    const count = words - (extension === 'none' ? 0 : 1)
    const info = this.#target(node, 'scope_info')
    return { node, extension, names: info === undefined ? undefined : this.#names(info, count) }
  }

  #extensionOf(context: number): HeapContext['extension'] {
    const extension = this.#target(context, 'extension')
    if (extension === undefined) return 'none'
    if (this.#types[extension] === this.#known.nodeType.object) return 'object'
    return this.#nameOf(extension)?.includes('Module') === true ? 'module' : 'other'
  }

  /** Undefined where V8 keeps them in a table, which it does where they are many. */
  #names(scopeInfo: number, count: number): readonly string[] | undefined {
    const { nodeType } = this.#known
    const names: string[] = []
    for (const { index, target } of this.#edges(scopeInfo)) {
      if (index === undefined || names.length >= count) continue
      if (this.#types[target] !== nodeType.string) return names.length === 0 ? undefined : names
      names.push(this.#nameOf(target) ?? '')
    }
    return names
  }

  #target(node: number, edgeName: string): number | undefined {
    return this.#edges(node).find(
      ({ name }) => name !== undefined && this.#texts.get(name) === edgeName,
    )?.target
  }

  #nameOf(node: number): string | undefined {
    return this.#texts.get(this.#nameIndexes[node] ?? 0)
  }

  #edges(node: number): readonly Edge[] {
    const edges: Edge[] = []
    for (let at = this.#starts[node] ?? 0; at < (this.#starts[node + 1] ?? 0); at += 1) {
      const coded = this.#edgeNames.at(at)
      const number = Math.floor(coded / 2)
      const target = this.#edgeTargets.at(at)
      edges.push(
        coded % 2 === 1
          ? { index: number, name: undefined, target }
          : { index: undefined, name: number, target },
      )
    }
    return edges
  }

  /** Whether what is behind the edge can be a context or tell the names of one. */
  #leadsOn(from: number, target: number): boolean {
    const { nodeType } = this.#known
    const type = this.#types[target]
    if (type === nodeType.object) return this.#types[from] !== nodeType.code
    return type === nodeType.code && this.#types[from] === nodeType.object
  }

  #nextSource(): void {
    this.#source += 1
    this.#starts[this.#source] = this.#edgeNames.length
    this.#edgesLeft = this.#edgeCounts[this.#source] ?? 0
  }

  #isKept(edgeType: number): boolean {
    const { nodeType, edgeType: known } = this.#known
    if (this.#source === this.#listNode) return edgeType === known.element
    const type = this.#types[this.#source]
    if (type === nodeType.closure || type === nodeType.object) return edgeType === known.internal
    return type === nodeType.code && edgeType === known.hidden
  }

  get #known(): Layout {
    if (this.#layout === undefined) throw new Error('the snapshot has no head')
    return this.#layout
  }
}

interface Edge {
  /** The number of a string. */
  readonly name: number | undefined
  readonly index: number | undefined
  readonly target: number
}

/** Where things stand in the records of this V8. */
interface Layout {
  readonly node: Readonly<Record<'type' | 'name' | 'id' | 'size' | 'edgeCount' | 'width', number>>
  readonly edge: Readonly<Record<'type' | 'name' | 'target', number>>
  readonly nodeType: Readonly<Record<'object' | 'closure' | 'code' | 'string', number>>
  readonly edgeType: Readonly<Record<'internal' | 'hidden' | 'element', number>>
}

function layoutOf({ node_fields, edge_fields, node_types, edge_types }: SnapshotMeta): Layout {
  const [nodeTypes] = node_types
  const [edgeTypes] = edge_types
  return {
    node: {
      type: place(node_fields, 'type'),
      name: place(node_fields, 'name'),
      id: place(node_fields, 'id'),
      size: place(node_fields, 'self_size'),
      edgeCount: place(node_fields, 'edge_count'),
      width: node_fields.length,
    },
    edge: {
      type: place(edge_fields, 'type'),
      name: place(edge_fields, 'name_or_index'),
      target: place(edge_fields, 'to_node'),
    },
    nodeType: {
      object: place(nodeTypes, 'object'),
      closure: place(nodeTypes, 'closure'),
      code: place(nodeTypes, 'code'),
      string: place(nodeTypes, 'string'),
    },
    edgeType: {
      internal: place(edgeTypes, 'internal'),
      hidden: place(edgeTypes, 'hidden'),
      element: place(edgeTypes, 'element'),
    },
  }
}

function place(names: readonly string[], name: string): number {
  const at = names.indexOf(name)
  if (at < 0) throw new Error(`heap snapshots have no ${name}`)
  return at
}

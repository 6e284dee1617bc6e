// Finds out which functions share variables, with a heap snapshot: V8 says so nowhere else. It
// stops the program, for 0.2 s in a small one, 3 s and more where the heap has a million objects,
// and takes some 400 bytes for each of them. So it is only for what nothing else can tell.

import type { ScopeView } from './function-view.js'
import { alignContexts } from './context-alignment.js'
import { HeapGraph } from './heap-graph.js'
import { HeapTextReader } from './heap-text.js'
import type { RemoteObjects } from './remote-objects.js'
import type { InspectorSession } from './session.js'

/** Why there was no heap snapshot. */
export interface HeapExcess {
  readonly heapBytes: number
  readonly limitBytes: number
}

/** Where a heap of 128 MiB has nothing but small objects, a snapshot takes 10 s and 1.5 GB. */
const MAX_HEAP_BYTES = 128 * 1024 * 1024

/** The rest may be garbage: tracking begins with its collection, in a tenth of the time. */
const MAX_HEAP_BYTES_WITH_GARBAGE = 4 * MAX_HEAP_BYTES

/** Asks for contexts. */
export class ContextFinder {
  readonly #session: InspectorSession
  readonly #objects: RemoteObjects
  /** Above all numbers that were given out, so that those of two snapshots are never equal. */
  #nextNumber = 1
  /** Why the last question was not answered. */
  excess: HeapExcess | undefined

  constructor(session: InspectorSession, objects: RemoteObjects) {
    this.#session = session
    this.#objects = objects
  }

  /**
   * For each function the numbers of the contexts of its scopes; a function is left out where they
   * are not certain. `functions` has the scopes of each. Undefined if the heap is too large. Throws
   * what V8 says against it. V8 must have been asked for its scripts before: it then knows where
   * their lines end, which some versions otherwise count anew for each function in the heap.
   */
  find<F extends object>(
    functions: ReadonlyMap<F, readonly ScopeView[]>,
  ): ReadonlyMap<F, readonly number[]> | undefined {
    const list = [...functions.keys()]
    const graph = this.#snapshotOf(list)
    if (graph === undefined) return undefined
    const found = new Map<F, readonly number[]>()
    for (const [at, chain] of graph.chains().entries()) {
      const fn = list[at]
      const scopes = fn === undefined ? undefined : functions.get(fn)
      if (fn === undefined || chain === undefined || scopes === undefined) continue
      const nodes = alignContexts(chain, scopes)
      if (nodes === undefined) continue
      found.set(
        fn,
        nodes.map((node) => this.#nextNumber + node),
      )
    }
    this.#nextNumber += graph.nodeCount
    return found
  }

  #snapshotOf(list: readonly object[]): HeapGraph | undefined {
    if (this.#isTooLarge(MAX_HEAP_BYTES_WITH_GARBAGE)) return undefined
    const objectId = this.#objects.idOf(list)
    this.#session.ask('HeapProfiler.enable', {})
    try {
      // Gives each object an id, which it keeps when it is moved, and which the snapshot shows.
      this.#session.ask('HeapProfiler.startTrackingHeapObjects', {})
      if (this.#isTooLarge(MAX_HEAP_BYTES)) {
        return undefined
      }
      const answer = this.#session.ask('HeapProfiler.getHeapObjectId', { objectId })
      return this.#read(new HeapGraph(Number(answer.heapSnapshotObjectId), wordBytes()))
    } finally {
      // Forgets all ids, which take memory and time. A debugger's would be forgotten, too.
      if (!this.#session.isDebuggable) this.#session.ask('HeapProfiler.disable', {})
    }
  }

  #read(graph: HeapGraph): HeapGraph {
    const reader = new HeapTextReader(graph)
    // Unlike `takeHeapSnapshot`, this is done when it returns, in all versions of V8.
    this.#session.listening(
      'HeapProfiler.addHeapSnapshotChunk',
      ({ chunk }) => reader.read(chunk),
      () => this.#session.ask('HeapProfiler.stopTrackingHeapObjects', {}),
    )
    return graph
  }

  #isTooLarge(limitBytes: number): boolean {
    const heapBytes = process.memoryUsage().heapUsed
    this.excess = heapBytes > limitBytes ? { heapBytes, limitBytes } : undefined
    return this.excess !== undefined
  }
}

/** The size of a pointer inside V8's heap. */
function wordBytes(): number {
  const { variables } = process.config as {
    readonly variables: { readonly v8_enable_pointer_compression?: number }
  }
  const isNarrow = /^(?:arm|ia32|mips|mipsel|ppc|s390)$/.test(process.arch)
  return isNarrow || variables.v8_enable_pointer_compression === 1 ? 4 : 8
}

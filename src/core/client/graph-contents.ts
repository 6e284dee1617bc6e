// What a graph is made of: its calls, and the objects that they use, each of them in use once for
// as long as the graph lives.

import { assert } from '../../base/assert.js'
import type { TaskId } from '../../base/ids.js'
import type { InstantMs } from '../../base/machine.js'
import { argumentName } from '../../wire/object-content.js'
import type { ClientCoreOptions } from './events.js'
import type { GraphNodes } from './graph-nodes.js'
import type { GraphSubmission } from './graph-submission.js'
import type { ClientObject, ObjectTable } from './object-table.js'
import type { TaskOptions } from './submission.js'
import { ResultInput } from './task-record.js'

/** What a function of a graph needs: its object, then its attachments. */
export interface FunctionObjects {
  readonly function: ClientObject
  readonly attachments: readonly ClientObject[]
}

/**
 * Results of other tasks that came in messages travel inside of each call that uses them, unless
 * they have more bytes than this.
 */
const MAX_COPIED_BYTES = 256

/** The contents of one graph. */
export class GraphContents<Owner> {
  readonly graphId: TaskId
  readonly options: TaskOptions
  readonly nodes: GraphNodes
  readonly #coreOptions: ClientCoreOptions
  readonly #objects: ObjectTable
  readonly #functions: FunctionObjects[] = []
  /** Undefined: it is not there, and no call that needs it is ever sent. */
  readonly #sources: (ClientObject | ResultInput<Owner> | Uint8Array | undefined)[] = []
  readonly #used: ClientObject[] = []
  #hasResults = false

  constructor(
    submission: GraphSubmission<Owner>,
    coreOptions: ClientCoreOptions,
    objects: ObjectTable,
  ) {
    this.graphId = submission.graphId
    this.options = submission.options
    this.nodes = submission.nodes
    this.#coreOptions = coreOptions
    this.#objects = objects
    for (const { function: fn, attachments } of this.nodes.functions) {
      this.#functions.push({
        function: this.#keep(objects.use(fn, 'function')),
        attachments: attachments.map((value) => this.#keep(objects.use(value, 'attachment'))),
      })
    }
    for (const source of this.nodes.sources) {
      const value = source.type === 'value' ? source.value : undefined
      const pinned = source.type === 'object' ? objects.pinned(source.id)?.value : undefined
      const held = value ?? pinned
      this.#sources.push(held && this.#keep(objects.use(held, 'argument')))
    }
  }

  /** How many uses it makes of objects. For tests. */
  get objectUses(): number {
    return this.#used.length
  }

  /** Whether some source stands for the result of a task outside of the graph. */
  get hasResults(): boolean {
    return this.#hasResults
  }

  /** The result that a source stands for. */
  setResult(source: number, input: ResultInput<Owner>): void {
    this.#hasResults = true
    this.#sources[source] = input
  }

  functionOf(position: number): FunctionObjects {
    const found = this.#functions[this.nodes.functionOf(position)]
    assert(found !== undefined, 'a call of no function')
    return found
  }

  /** A value that is not among the bytes of the nodes: bytes, or the object that has them. */
  sourceAt(number: number): Uint8Array | ClientObject | ResultInput<Owner> {
    const source = this.#sources[number]
    assert(source !== undefined, 'a call was sent that cannot have what it needs')
    if (!(source instanceof ResultInput) || source.content === undefined) return source
    const { content } = source
    const isSmall = content.byteLength <= MAX_COPIED_BYTES
    const settled = isSmall ? content : this.#keep(this.#objectOf(content))
    this.#sources[number] = settled
    return settled
  }

  /** Lets go of all objects. */
  release(now: InstantMs): void {
    for (const object of this.#used) this.#objects.release(object, now)
    this.#used.length = 0
  }

  #keep(object: ClientObject): ClientObject {
    this.#used.push(object)
    return object
  }

  #objectOf(content: Uint8Array): ClientObject {
    const id = this.#coreOptions.objectIdOf(content)
    return this.#objects.use({ id, name: argumentName('', id), content }, 'argument')
  }
}

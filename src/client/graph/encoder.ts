// From a plan to the nodes that travel: functions, values and arguments as they are at this moment.

import { SerializeError } from '../../base/errors.js'
import { GraphNodes } from '../../core/client/graph/nodes.js'
import type { ArgumentSource, StoredValue } from '../../core/client/events.js'
import { inputError } from '../submit/arguments.js'
import type { AnyFunction, FunctionObject } from '../submit/function-objects.js'
import { isCall, plainValue, type CallNode } from './reading.js'
import type { GraphPlan } from './plan.js'

/** How a client serializes. */
export interface GraphCodec {
  /** Throws `SerializeError`. */
  functionObject(fn: AnyFunction): FunctionObject
  /** A value, or its stand-in. Throws the errors of `ArgumentSources`. */
  source(value: unknown): ArgumentSource
  /** Bytes as an object, with a name for people. */
  store(bytes: Uint8Array, name: string): StoredValue
  /** Larger values are objects. */
  readonly inlineLimitBytes: number
}

/** The result of the serialization. */
interface EncodedGraph {
  readonly nodes: GraphNodes
  /**
   * By the number of the node: why it cannot travel. If there are any, `nodes` must not be used.
   */
  readonly failures: ReadonlyMap<number, unknown>
}

/**
 * A value used by many calls is stored once, unless it is as small as a reference to it, or all its
 * copies together are small.
 */
const SMALL_VALUE_BYTES = 256
const FEW_COPIES_BYTES = 64 * 1024
const UNKNOWN = -1
const CALL_IN_CALL =
  'a call inside a call is not computed; make it a node of its own and pass the key of that ' +
  'node, or pass the array as it is with literal([fn, …])'

/** Serializes the nodes that a plan needs. Continues after failures, to find them all. */
export function encodeGraph(plan: GraphPlan, idPrefix: string, codec: GraphCodec): EncodedGraph {
  return new GraphEncoder(plan, idPrefix, codec).encode()
}

class GraphEncoder {
  readonly #plan: GraphPlan
  readonly #codec: GraphCodec
  readonly #nodes: GraphNodes
  readonly #failures = new Map<number, unknown>()
  readonly #functions = new Map<AnyFunction, number>()
  /** Functions that cannot travel, and why. */
  readonly #badFunctions = new Map<AnyFunction, unknown>()
  /** By node: the number of its value, once it is known. */
  readonly #values: Int32Array
  /** By node: how often calls use it. */
  readonly #uses: Int32Array

  constructor(plan: GraphPlan, idPrefix: string, codec: GraphCodec) {
    this.#plan = plan
    this.#codec = codec
    this.#nodes = new GraphNodes(idPrefix)
    this.#values = new Int32Array(plan.nodes.length).fill(UNKNOWN)
    this.#uses = new Int32Array(plan.nodes.length)
    for (const input of plan.inputs) this.#uses[input] = (this.#uses[input] ?? 0) + 1
  }

  encode(): EncodedGraph {
    for (const node of this.#plan.order) {
      try {
        this.#encodeCall(node, this.#plan.nodes[node] as CallNode)
      } catch (error) {
        this.#failures.set(node, inputError(error, nodeTitle(this.#plan.keys[node])))
      }
    }
    this.#nodes.finish()
    return { nodes: this.#nodes, failures: this.#failures }
  }

  #encodeCall(node: number, call: CallNode): void {
    const { starts, inputs, positions } = this.#plan
    this.#nodes.addCall(this.#functionNumber(call[0]))
    let at = starts[node] ?? 0
    const end = starts[node + 1] ?? 0
    for (let index = 1; index < call.length; index += 1) {
      const argument = call[index]
      if (typeof argument !== 'string') {
        this.#nodes.addValueArgument(this.#argumentValue(argument, index))
        continue
      }
      const input = inputs[at] ?? UNKNOWN
      if (at >= end) throw new SerializeError('it was changed while the graph was read')
      at += 1
      const position = positions[input] ?? UNKNOWN
      if (position >= 0) this.#nodes.addCallArgument(position)
      else this.#addNodeValue(input)
    }
  }

  #functionNumber(fn: AnyFunction): number {
    const known = this.#functions.get(fn)
    if (known !== undefined) return known
    if (this.#badFunctions.has(fn)) throw this.#badFunctions.get(fn)
    try {
      const number = this.#nodes.addFunction(this.#codec.functionObject(fn))
      this.#functions.set(fn, number)
      return number
    } catch (error) {
      this.#badFunctions.set(fn, error)
      throw error
    }
  }

  #argumentValue(argument: unknown, index: number): number {
    try {
      if (isCall(argument)) throw new SerializeError(CALL_IN_CALL)
      const source = this.#codec.source(plainValue(argument))
      return this.#addValue(source, this.#codec.inlineLimitBytes, '')
    } catch (error) {
      throw inputError(error, `argument ${index}`)
    }
  }

  /** An argument that is a node with a value. An error of its value is reported once. */
  #addNodeValue(node: number): void {
    if (this.#failures.has(node)) return
    let value = this.#values[node] ?? UNKNOWN
    if (value === UNKNOWN) {
      try {
        value = this.#nodeValue(node)
      } catch (error) {
        this.#failures.set(node, inputError(error, nodeTitle(this.#plan.keys[node])))
        return
      }
      this.#values[node] = value
    }
    this.#nodes.addValueArgument(value)
  }

  #nodeValue(node: number): number {
    const { nodes, keys } = this.#plan
    const source = this.#codec.source(plainValue(nodes[node]))
    const copies = Math.floor(FEW_COPIES_BYTES / (this.#uses[node] ?? 1))
    const limit = Math.min(this.#codec.inlineLimitBytes, Math.max(SMALL_VALUE_BYTES, copies))
    return this.#addValue(source, limit, keys[node] ?? '')
  }

  #addValue(source: ArgumentSource, limit: number, name: string): number {
    const isLarge = source instanceof Uint8Array && source.byteLength > limit
    if (!isLarge) return this.#nodes.addValue(source)
    return this.#nodes.addValue({ type: 'value', value: this.#codec.store(source, name) })
  }
}

function nodeTitle(key: string | undefined): string {
  return `node ${JSON.stringify(key ?? '')}`
}

// The part of a graph that some keys need: each node once, numbered in the order in which it was
// found. Nodes that are not found are never read, so that culling needs no further work.

import { argumentError } from '../../runtime/call-site.js'
import { GraphKeyError } from '../../base/errors.js'
import { IntList } from '../../base/collection/int-list.js'
import type { Future } from '../future/future.js'
import type { AnyFunction } from '../submit/function-objects.js'
import type { ObjectReference } from '../submit/objects.js'

// Checks the arguments of `get`, a graph and a list of keys, and makes records with any keys.

/** Throws `TypeError` unless it is a record of nodes. */
export function checkGraph(graph: unknown): asserts graph is Readonly<Record<string, unknown>> {
  const isRecord = typeof graph === 'object' && graph !== null && !(Symbol.iterator in graph)
  if (!isRecord) throw wrong('an object of nodes', graph)
}

/** The keys, each once. Throws `TypeError` unless it is an array of strings. */
export function checkKeys(keys: unknown): readonly string[] {
  if (!Array.isArray(keys)) throw wrong('an array of keys', keys)
  for (const key of keys as readonly unknown[]) {
    if (typeof key !== 'string') throw wrong('strings as keys', key)
  }
  return [...new Set(keys as readonly string[])]
}

/** An object with these properties, whatever their keys are. */
export function toRecord<T>(keys: readonly string[], values: readonly T[]): Record<string, T> {
  const record: Record<string, T> = {}
  for (const [index, key] of keys.entries()) {
    const value = values[index] as T
    if (key === '__proto__') {
      const attributes = { value, enumerable: true, configurable: true, writable: true }
      Object.defineProperty(record, key, attributes)
    } else {
      record[key] = value
    }
  }
  return record
}

function wrong(expected: string, given: unknown): TypeError {
  return argumentError(`get: expected ${expected}, got ${titleOf(given)}`)
}

function titleOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return typeof value === 'function' ? 'a function' : typeof value
  const [, name = 'object'] = /^\[object (.*)\]$/.exec(Object.prototype.toString.call(value)) ?? []
  return name === 'Object' ? 'an object' : `an object (${name})`
}

// Values that would have another meaning inside a graph: a string argument is a key, an array that
// begins with a function is a call.

/** A value that stands for itself in a graph. Made by `literal`. */
export class Literal<T> {
  /** The value. */
  readonly value: T

  /** Made by `literal`. @internal */
  constructor(value: T) {
    this.value = value
  }
}

/**
 * Passes `value` as it is, as an argument or as a node of a graph: `[shout, literal('text')]`
 * passes the text, where `[shout, 'text']` passes the result of the node `text`. It has no meaning
 * elsewhere.
 */
export function literal<T>(value: T): Literal<T> {
  return new Literal(value)
}

// The meaning of the nodes of a graph: the only code that tells calls from values.

/** A call: the function, then its arguments. */
export type CallNode = readonly [fn: AnyFunction, ...args: readonly unknown[]]

/** Whether a node is a call; otherwise it is a value. */
export function isCall(node: unknown): node is CallNode {
  return Array.isArray(node) && typeof node[0] === 'function'
}

/** The value of a node or an argument: the one given to `literal`, or itself. */
export function plainValue(node: unknown): unknown {
  return node instanceof Literal ? node.value : node
}

/** Nodes of a graph, by their numbers. */
export interface GraphReading {
  readonly keys: readonly string[]
  /** As written in the graph. */
  readonly nodes: readonly unknown[]
  /** The numbers of the requested nodes, each once, in the order of the request. */
  readonly requested: Int32Array
  /**
   * The inputs of node n, one for each string among its arguments, are those from `starts[n]` to
   * before `starts[n + 1]`.
   */
  readonly starts: Int32Array
  readonly inputs: Int32Array
}

/**
 * Reads the nodes that `keys` need. Only a graph's own enumerable properties are nodes. Throws
 * `GraphKeyError` for a missing key, and errors of getters.
 */
export function readGraph(
  graph: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): GraphReading {
  const reader = new GraphReader(graph)
  const requested = new Set<number>()
  for (const key of keys) requested.add(reader.numberOf(key, undefined))
  reader.readAll()
  return reader.finish(Int32Array.from(requested))
}

class GraphReader {
  readonly #graph: Readonly<Record<string, unknown>>
  readonly #numbers = new Map<string, number>()
  readonly #keys: string[] = []
  readonly #nodes: unknown[] = []
  readonly #starts = new IntList()
  readonly #inputs = new IntList()

  constructor(graph: Readonly<Record<string, unknown>>) {
    this.#graph = graph
  }

  /** The number of a node, which is read if it is new. */
  numberOf(key: string, neededBy: string | undefined): number {
    const known = this.#numbers.get(key)
    if (known !== undefined) return known
    if (!Object.prototype.propertyIsEnumerable.call(this.#graph, key)) {
      throw new GraphKeyError(key, neededBy)
    }
    const number = this.#keys.length
    this.#numbers.set(key, number)
    this.#keys.push(key)
    this.#nodes.push(this.#graph[key])
    return number
  }

  /** Reads the inputs of all nodes, including those that this finds. */
  readAll(): void {
    for (let number = 0; number < this.#nodes.length; number += 1) {
      this.#starts.push(this.#inputs.length)
      const node = this.#nodes[number]
      if (isCall(node)) this.#readInputs(node, this.#keys[number])
    }
    this.#starts.push(this.#inputs.length)
  }

  finish(requested: Int32Array): GraphReading {
    return {
      keys: this.#keys,
      nodes: this.#nodes,
      requested,
      starts: this.#starts.toArray(),
      inputs: this.#inputs.toArray(),
    }
  }

  #readInputs(node: readonly unknown[], key: string | undefined): void {
    for (let at = 1; at < node.length; at += 1) {
      const argument = node[at]
      if (typeof argument === 'string') this.#inputs.push(this.numberOf(argument, key))
    }
  }
}

// The types of graphs: which nodes are allowed, and the types of their results.

/**
 * Nodes by their keys. `[fn, ...args]` with a function first is a call of it. A string among its
 * arguments is the key of another node and stands for the result of that; a `Future` or an
 * `ObjectReference` stands for its value; anything else, including values wrapped in `literal`,
 * stands for itself. A `Future` or an `ObjectReference` as a node has its value as the result;
 * every other node, including a function by itself, is a value.
 */
export type Graph = Readonly<Record<string, unknown>>

/**
 * Like `Graph`, with a hint to the compiler to infer tuples from arrays where a graph is written.
 */
export type GraphHint = Readonly<Record<string, readonly [unknown, ...unknown[]] | Anything>>

type Anything = {} | null | undefined

/**
 * The type of a node's result. If the graph was assigned to a variable before, the compiler does
 * not know which element of an array comes first: an array that contains functions counts as a call
 * of any of them.
 */
export type NodeValue<N> =
  N extends Literal<infer T>
    ? T
    : N extends Future<infer T>
      ? T
      : N extends ObjectReference<infer T>
        ? T
        : N extends readonly [infer F, ...unknown[]]
          ? CallValue<F, N>
          : N extends readonly (infer E)[]
            ? CallValue<Extract<E, AnyFunction>, N>
            : N

/** The return type of `F`; `N` if it is not a function. */
type CallValue<F, N> = [F] extends [never]
  ? N
  : F extends (...args: never[]) => infer R
    ? Awaited<R>
    : N

// The part of a graph that some keys need: each node once, numbered in the order in which it was
// met. Culling is this: what is not met is never looked at.

import { GraphKeyError } from '../../base/errors.js'
import { IntList } from '../../base/int-list.js'
import type { Future } from '../future/future.js'
import type { AnyFunction } from '../submit/function-objects.js'
import type { ObjectReference } from '../submit/objects.js'

// What `get` is given and gives: whether it is a graph and a list of keys, and records of any keys.

/** Throws `TypeError` for what is no record of nodes. */
export function checkGraph(graph: unknown): asserts graph is Readonly<Record<string, unknown>> {
  const isRecord = typeof graph === 'object' && graph !== null && !(Symbol.iterator in graph)
  if (!isRecord) throw wrong('an object of nodes', graph)
}

/** The keys, each once. Throws `TypeError` for what is no array of strings. */
export function checkKeys(keys: unknown): readonly string[] {
  if (!Array.isArray(keys)) throw wrong('an array of keys', keys)
  for (const key of keys as readonly unknown[]) {
    if (typeof key !== 'string') throw wrong('strings as keys', key)
  }
  return [...new Set(keys as readonly string[])]
}

/** An object with these entries as its own properties, whatever their keys are. */
export function toRecord<T>(entries: Iterable<readonly [string, T]>): Record<string, T> {
  const record: Record<string, T> = {}
  for (const [key, value] of entries) {
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
  return new TypeError(`get: expected ${expected}, got ${titleOf(given)}`)
}

function titleOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value !== 'object') return typeof value === 'function' ? 'a function' : typeof value
  const [, name = 'object'] = /^\[object (.*)\]$/.exec(Object.prototype.toString.call(value)) ?? []
  return name === 'Object' ? 'an object' : `an object (${name})`
}

// Values that would mean something else inside a graph: a string argument is a key, an array that
// begins with a function is a call.

/** A value that stands for itself in a graph. Made by `literal`. */
export class Literal<T> {
  /** What it stands for. */
  readonly value: T

  /** These are made by `literal`. @internal */
  constructor(value: T) {
    this.value = value
  }
}

/**
 * `value` as it is, as an argument or as a node of a graph: `[shout, literal('text')]` passes the
 * text, where `[shout, 'text']` passes the result of the node `text`. It means nothing elsewhere.
 */
export function literal<T>(value: T): Literal<T> {
  return new Literal(value)
}

// What the nodes of a graph are: the one place that tells calls from values.

/** A call: the function, then its arguments. */
export type CallNode = readonly [fn: AnyFunction, ...args: readonly unknown[]]

/** Whether a node is a call; else it is a value. */
export function isCall(node: unknown): node is CallNode {
  return Array.isArray(node) && typeof node[0] === 'function'
}

/** What a node or an argument stands for: what `literal` was given, or itself. */
export function plainValue(node: unknown): unknown {
  return node instanceof Literal ? node.value : node
}

/** Nodes of a graph, by their numbers. */
export interface GraphReading {
  readonly keys: readonly string[]
  /** As they stand in the graph. */
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
 * Reads what `keys` need. Only a graph's own enumerable properties are nodes. Throws
 * `GraphKeyError` for a key that is not there, and what a getter throws.
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

  /** Reads the inputs of all nodes, those that this finds included. */
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

// What the compiler knows of graphs: which nodes there may be, and what they are worth.

/**
 * Nodes by their keys. `[fn, ...args]` with a function first is a call of it: a string among its
 * arguments is the key of another node and stands for what that is worth, a `Future` or an
 * `ObjectReference` for its value, and anything else for itself, as does what is wrapped in
 * `literal`. A `Future` or an `ObjectReference` as a node is worth its value, everything else
 * itself; a function by itself is a value, too.
 */
export type Graph = Readonly<Record<string, unknown>>

/** As `Graph`, with a hint to the compiler to take arrays for tuples where a graph is written. */
export type GraphHint = Readonly<Record<string, readonly [unknown, ...unknown[]] | Anything>>

type Anything = {} | null | undefined

/**
 * What a node is worth. In a graph that was put into a variable before, the compiler does not know
 * what comes first in an array: one with functions in it counts as a call of any of them.
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

/** What calling `F` gives; `N` if that is no function. */
type CallValue<F, N> = [F] extends [never]
  ? N
  : F extends (...args: never[]) => infer R
    ? Awaited<R>
    : N

// What the compiler knows of graphs: which nodes there may be, and what they are worth.

import type { AnyFunction } from '../function-objects.js'
import type { Future } from '../future.js'
import type { ObjectReference } from '../object-reference.js'
import type { Literal } from './literal.js'

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

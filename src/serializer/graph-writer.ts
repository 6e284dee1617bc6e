// One message: a main unit, and a unit for each anchor. Which objects must be anchors shows only
// while they are written, so a message is written again if something that an anchor needs was
// written as a part of another unit, and once more if the analyst has learned something meanwhile.
//
//   MESSAGE_GRAPH: the binary table, the body and the memories of the main unit
//   MESSAGE_SHIPMENT: Node's major version, count of attachments, for each whether it is only read,
//     whether the function can be made once for all tasks, count of anchors,
//     for each its identity, ANCHOR_CLASS or ANCHOR_OBJECT, and the length of its unit;
//     then the units, the main one last:
//       count of the anchors that it refers to, their identities,
//       the binary table, the body, the entries of private stores (1, store, key, value; …; 0),
//       the memories

import { SerializeError } from '../base/errors.js'
import type { Seeds } from './anchor-table.js'
import { MessageContext } from './message-context.js'
import { messageBytes, PREFIX } from './message-frame.js'
import { ownValue, type AnyFunction } from './native-names.js'
import { reasonOf, serializeErrorAt, textOf } from './path.js'
import { pathTo } from './queue-item.js'
import { Refusal, refuseUnsteady } from './refusal.js'
import { Blame, Stop } from './unit-context.js'
import type { MessageOptions, WriterTools } from './writer-tools.js'

/** So many rounds are taken to find out which objects must be anchors, and no others. */
const PATIENT_ROUNDS = 8
/** A message that needs more rounds than this changes while it is read. */
const MAX_ROUNDS = 200

/** Writes one value at a time. A getter in the value must not lead back to the same instance. */
export class GraphWriter {
  readonly #tools: WriterTools
  readonly #context: MessageContext
  /** What had to be anchors when a function was written last. */
  readonly #seeds = new WeakMap<object, Seeds>()

  constructor(tools: WriterTools) {
    this.#tools = tools
    this.#context = new MessageContext(tools)
  }

  /** What the last message has met. Good until the next one. */
  get last(): MessageContext {
    return this.#context
  }

  /** The value as a message. Throws `SerializeError`. */
  write(value: unknown, options: MessageOptions): Uint8Array {
    this.#tools.natives.refresh()
    const seeds = typeof value === 'function' ? this.#seeds.get(value) : undefined
    if (seeds === undefined) return this.#write(value, options, undefined)
    try {
      return this.#write(value, options, seeds)
    } catch {
      // From the beginning: the path to what was an anchor at once is not known.
      return this.#write(value, options, undefined)
    }
  }

  #write(value: unknown, options: MessageOptions, firstSeeds: Seeds | undefined): Uint8Array {
    let seeds = firstSeeds
    const context = this.#context
    context.begin(options, seeds)
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      if (round > 0) context.beginRound(seeds)
      if (!this.#round(value)) continue
      if (context.isPlain) return messageBytes({ main: context.main.finish() })
      seeds = context.nextSeeds(round >= PATIENT_ROUNDS)
      if (seeds !== undefined) continue
      seeds = context.seeds
      const settled = context.settle()
      if (settled instanceof Refusal) throw serializeErrorAt(rootPath(value), settled.reason)
      if (settled === 'again') continue
      if (seeds.size > 0 && typeof value === 'function') this.#seeds.set(value, seeds)
      return messageBytes(context.finish(value))
    }
    throw serializeErrorAt(rootPath(value), refuseUnsteady().reason)
  }

  /** Returns false if something has to be left out, or is not what it looked like. */
  #round(value: unknown): boolean {
    const context = this.#context
    try {
      if (context.seeds.size > 0) context.writeSeeds()
      const { main } = context
      main.bytes.raw(PREFIX)
      main.value(value, '')
      context.drain()
      return !context.isSurprised
    } catch (error) {
      if (error instanceof Blame && error.fn !== value) {
        context.leaveOut(error.fn as AnyFunction, error.refusal)
        return false
      }
      if (error instanceof Stop && context.remake()) return false
      throw failureAt([...rootPath(value), ...pathTo(context.place)], error, context.notRemade)
    }
  }
}

function failureAt(path: readonly string[], error: unknown, notRemade: string): SerializeError {
  if (error instanceof Stop) return serializeErrorAt(path, error.refusal.reason + notRemade)
  if (error instanceof Blame) return serializeErrorAt(path, error.refusal.reason)
  if (error instanceof SerializeError) {
    return serializeErrorAt([...path, ...error.path], reasonOf(error), error.cause)
  }
  return serializeErrorAt(path, `it cannot be read: ${textOf(error)}`, error)
}

/** A function is its own first step. */
function rootPath(value: unknown): string[] {
  if (typeof value !== 'function') return []
  const name = ownValue(value, 'name')
  return [typeof name === 'string' && name !== '' ? name : 'the function']
}

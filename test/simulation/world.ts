// What all parts of a simulated world share.

import { objectId, type Identity, type ObjectId } from '#src/base/ids.js'
import type { TaskResult } from '#src/wire/message.js'
import { SERIALIZER_SUFFIX } from '#src/wire/object-content.js'
import type { Journal } from './journal.js'
import type { Mutation } from './mutation.js'
import type { Random } from './random.js'
import type { Story } from './story.js'
import type { VirtualClock } from './virtual-clock.js'
import type { VirtualNetwork } from './virtual-network.js'
import { VirtualProcess } from './virtual-process.js'

/** One world. */
export interface World {
  readonly clock: VirtualClock
  readonly random: Random
  readonly network: VirtualNetwork
  readonly story: Story
  /** The recorded events for the checkers. */
  readonly journal: Journal
  /** A deliberate bug, to see whether the checkers notice. */
  readonly mutation: Mutation
  /** The tables of machines are checked each time after this many events. */
  readonly checkEvery: number
  /** The connections of workers, which learn there that a result waits for its content, or left. */
  readonly holds: Map<Identity, (result: TaskResult, isHeld: boolean) => void>
  /** Counts everything that needs a name of its own. */
  nextNumber(): number
}

/** A new process of a world. */
export function newProcess(world: World, name: string): VirtualProcess {
  return new VirtualProcess(name, world.clock, world.random.fork(`process ${name}`))
}

/** The id of the serializer of a client. */
export function serializerIdOf(owner: Identity): ObjectId {
  return objectId(prefixOf(owner) + SERIALIZER_SUFFIX)
}

/** An id of an object of a client: the same for the same text. */
export function objectIdFor(owner: Identity, text: string): ObjectId {
  return objectId(prefixOf(owner) + hash8(text, 1) + hash8(text, 2))
}

/** The first 8 bytes of all ids of a client. */
function prefixOf(owner: Identity): string {
  return hash8(owner, 0)
}

/** 8 bytes that stand for a text. */
function hash8(text: string, salt: number): string {
  let a = 0x811c9dc5 ^ salt
  let b = 0x1b873593 + salt
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b + code, 0x85ebca6b) ^ (b >>> 13)
  }
  const hex = (part: number): string => (part >>> 0).toString(16).padStart(8, '0')
  return Buffer.from(hex(a) + hex(b), 'hex').toString('latin1')
}

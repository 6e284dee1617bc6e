// What a node says beside its inputs: its name, the arguments that are no results of other nodes,
// and where among them those are. Most nodes of most graphs say nothing, and take no room here.

import type { Task, TaskArgument } from '../../wire/message.js'
import { ByteStore } from './graph-bytes.js'

/** The types of arguments by number, in the low bits of the number in front of each. */
const TYPES: readonly TaskArgument['type'][] = [
  'task',
  'objectID',
  'inline',
  'sharedObjectID',
  'sharedInline',
]
const INPUT = 0
const TYPE_BITS = 3

const NUMBER_BYTES = 4

/** Names and arguments of nodes by number. 0 stands for no name and nothing but inputs. */
export class NodeArgumentStore {
  readonly #store = new ByteStore()

  /** Keeps a copy of what `read` gives back. */
  add(task: Task): number {
    const { name, functionArgs } = task
    if (name === '' && functionArgs.every((argument) => argument.type === 'task')) return 0
    const nameBytes = Buffer.byteLength(name)
    let length = NUMBER_BYTES + nameBytes + NUMBER_BYTES * functionArgs.length
    for (const { type, data: bytes } of functionArgs) {
      if (type !== 'task') length += bytes.byteLength
    }
    const handle = this.#store.reserve(length)
    const buffer = this.#store.buffer(handle)
    let at = buffer.writeUInt32LE(nameBytes, this.#store.start(handle))
    at += buffer.write(name, at, 'utf8')
    for (const argument of functionArgs) at = writeArgument(buffer, at, argument)
    return handle
  }

  /** `inputs` gives the arguments that are results of other nodes, `inputCount` of them. */
  read(
    handle: number,
    inputCount: number,
    inputs: (index: number) => TaskArgument,
  ): Pick<Task, 'name' | 'functionArgs'> {
    const functionArgs: TaskArgument[] = []
    if (handle === 0) {
      for (let index = 0; index < inputCount; index += 1) functionArgs.push(inputs(index))
      return { name: '', functionArgs }
    }
    const buffer = this.#store.buffer(handle)
    const start = this.#store.start(handle)
    const end = start + this.#store.length(handle)
    let at = start + NUMBER_BYTES + buffer.readUInt32LE(start)
    const name = buffer.toString('utf8', start + NUMBER_BYTES, at)
    let input = 0
    while (at < end) {
      const head = buffer.readUInt32LE(at)
      at += NUMBER_BYTES
      const type = TYPES[head & ((1 << TYPE_BITS) - 1)]
      const next = at + (head >>> TYPE_BITS)
      if (type === undefined || type === 'task') {
        functionArgs.push(inputs(input))
        input += 1
      } else {
        functionArgs.push({ type, data: buffer.subarray(at, next) })
      }
      at = next
    }
    return { name, functionArgs }
  }

  release(handle: number): void {
    this.#store.release(handle)
  }
}

/** Writes one argument and returns where the next one goes. */
function writeArgument(buffer: Buffer, at: number, argument: TaskArgument): number {
  if (argument.type === 'task') return buffer.writeUInt32LE(INPUT, at)
  const { type, data: bytes } = argument
  const head = bytes.byteLength * 2 ** TYPE_BITS + TYPES.indexOf(type)
  const start = buffer.writeUInt32LE(head, at)
  buffer.set(bytes, start)
  return start + bytes.byteLength
}

// Our bytes, read by capnp-es; its bytes, read by us.

import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import * as es from 'capnp-es'
import fc from 'fast-check'
import { decode, encode, type Message, PLAIN_TASK } from '#src/wire/message.js'
import { loadEsSchema, type EsObject, type EsSchema } from './capnp-es-schema.js'
import { ourSchema, skipWithoutCapnp } from './capnp-tool.js'
import { comparable } from './comparable.js'
import { GOLDEN_MESSAGES } from './golden-messages.js'
import { anyMessage } from './message-arbitrary.js'

const RUNS = { numRuns: 300 }

/** The enumerants of the fields that have them, by their numbers. */
const ENUMERANTS: Readonly<Record<string, readonly string[]>> = {
  status: [
    'success',
    'failed',
    'canceled',
    'notFound',
    'workerDied',
    'noWorker',
    'inactive',
    'running',
    'canceling',
  ],
  type: ['task', 'objectID', 'inline', 'sharedObjectID', 'sharedInline'],
  objectTypes: ['serializer', 'object', 'file', 'refused', 'stored'],
  instructionType: ['create', 'delete', 'clear'],
  requestType: ['get', 'note'],
  responseType: ['content', 'objectNotExist'],
  disconnectType: ['disconnect', 'shutdown'],
  nodeTaskType: ['normal', 'target'],
  update: ['waiting', 'resumed', 'progress', 'running', 'queued'],
  reason: [
    'noScheduler',
    'noWorker',
    'noRuntime',
    'noCapability',
    'allBusy',
    'limit',
    'dependency',
  ],
  output: ['log', 'forward', 'off'],
  state: ['unknown', 'waiting', 'assigned', 'canceling'],
  outcome: ['unfinished', 'running', 'failed', 'workerLost'],
  stream: ['stdout', 'stderr'],
  place: ['memory', 'shm', 'disk', 'server'],
  cause: ['connection', 'silence'],
  nodeState: ['waiting', 'ready', 'running', 'succeeded', 'failed', 'dropped'],
}

/** Those of fields whose names occur in several structs; one of these is meant if it has the value. */
const MORE_ENUMERANTS: Readonly<Record<string, readonly string[]>> = {
  action: ['explain', 'cancel', 'stack', 'logs', 'drain', 'waiting', 'objects', 'pause', 'resume'],
  decision: ['wait', 'start', 'drain', 'backOff'],
  state: ['up', 'away', 'leaving'],
  outcome: ['done', 'unknown', 'ambiguous', 'refused', 'unsupported', 'timedOut', 'busy'],
  source: ['log', 'stdout', 'stderr'],
  type: [
    'publish',
    'restore',
    'find',
    'hold',
    'remove',
    'found',
    'missing',
    'removed',
    'withdrawn',
    'published',
    'unstored',
    'replicate',
    'confirm',
    'claim',
    'copy',
    'source',
  ],
}

/** The enumerants of a field with this value; undefined if it has none. */
function enumerantsOf(name: string, value: unknown): readonly string[] | undefined {
  const more = MORE_ENUMERANTS[name]
  return more?.includes(value as string) === true ? more : ENUMERANTS[name]
}

/** The methods of capnp-es lists and byte strings that are used here. */
interface EsList {
  readonly length: number
  get(index: number): unknown
  set(index: number, value: unknown): void
}
interface EsData {
  toUint8Array(): Uint8Array
  copyBuffer(bytes: Uint8Array): void
}

function fieldsOf(value: object): readonly (readonly [string, unknown])[] {
  return Object.entries(value).filter(([key]) => key !== 'kind' && key !== 'bytes')
}

/** `'TASK_RESULT'` -> `'taskResult'`. */
function camelCase(name: string): string {
  return name.toLowerCase().replaceAll(/_./g, (text) => text.charAt(1).toUpperCase())
}

/** Reads a value of capnp-es in the form of one of ours. */
function fromEs(value: unknown, like: unknown, key: string): unknown {
  const names = enumerantsOf(key, like)
  if (Array.isArray(like)) {
    const list = value as EsList
    return Array.from({ length: list.length }, (_, index) => {
      return fromEs(list.get(index), like[index], key)
    })
  }
  if (names !== undefined) return names[value as number]
  if (typeof value === 'bigint') return Number(value)
  if (typeof like === 'string' && typeof value !== 'string') {
    return Buffer.from((value as EsData).toUint8Array()).toString('latin1')
  }
  if (like instanceof Uint8Array) return (value as EsData).toUint8Array()
  if (typeof like !== 'object' || like === null) return value
  const struct = value as EsObject
  const fields = fieldsOf(like).map(([name, field]) => [name, fromEs(struct[name], field, name)])
  return { ...('kind' in like ? { kind: like.kind } : {}), ...Object.fromEntries(fields) }
}

/** Writes our messages with capnp-es. */
class EsWriter {
  readonly #schema: EsSchema

  constructor(schema: EsSchema) {
    this.#schema = schema
  }

  message(message: Message): Buffer {
    const target = new es.Message()
    const root = this.#root('Message', target)
    this.#fill(this.#init(root, message.kind) as EsObject, message)
    return Buffer.from(target.toArrayBuffer())
  }

  #init(struct: EsObject, name: string, length?: number): unknown {
    const init = `_init${name.charAt(0).toUpperCase()}${name.slice(1)}`
    return (struct[init] as (length?: number) => unknown).call(struct, length)
  }

  #fill(struct: EsObject, value: object): void {
    for (const [name, field] of fieldsOf(value)) this.#field(struct, name, field)
  }

  #field(struct: EsObject, name: string, value: unknown): void {
    const names = enumerantsOf(name, value)
    const isText = typeof value === 'string' && typeof struct[name] === 'string'
    if (Array.isArray(value)) {
      this.#list(this.#init(struct, name, value.length) as EsList, name, value)
    } else if (value instanceof Uint8Array || (typeof value === 'string' && !isText && !names)) {
      const bytes = typeof value === 'string' ? Buffer.from(value, 'latin1') : value
      ;(this.#init(struct, name, bytes.length) as EsData).copyBuffer(bytes)
    } else if (typeof value === 'object' && value !== null) {
      this.#fill(this.#init(struct, name) as EsObject, value)
    } else {
      const number = names === undefined ? value : names.indexOf(value as string)
      const isLong = typeof struct[name] === 'bigint'
      Reflect.set(struct, name, isLong ? BigInt(number as number) : number)
    }
  }

  #list(list: EsList, name: string, values: readonly unknown[]): void {
    const names = ENUMERANTS[name]
    for (const [index, value] of values.entries()) {
      if (names !== undefined) list.set(index, names.indexOf(value as string))
      else if (Array.isArray(value) || value instanceof Uint8Array || typeof value === 'string') {
        list.set(index, this.#apart(value))
      } else this.#fill(list.get(index) as EsObject, value as object)
    }
  }

  /** A byte string, or a list of them, in a message of its own: lists can only be given copies. */
  #apart(value: unknown): unknown {
    if (Array.isArray(value)) {
      const list = this.#init(this.#root('StateBalanceAdvice'), 'taskIds', value.length) as EsList
      this.#list(list, '', value)
      return list
    }
    const struct = this.#root('DisconnectRequest')
    this.#field(struct, 'worker', value)
    return struct['worker']
  }

  #root(name: string, message: es.Message = new es.Message()): EsObject {
    return message.initRoot(this.#schema[name] as never) as unknown as EsObject
  }
}

describe('capnp-es', { skip: skipWithoutCapnp() }, () => {
  let schema: EsSchema
  before(async () => {
    schema = await loadEsSchema(ourSchema())
  })

  function read(frame: Uint8Array, like: Message): unknown {
    const copy = Uint8Array.from(frame)
    const root = new es.Message(copy.buffer, false).getRoot(
      schema['Message'] as never,
    ) as unknown as EsObject & { which(): number }
    const kinds = schema['Message_Which'] as unknown as Readonly<Record<string, number>>
    const entry = Object.entries(kinds).find(([, number]) => number === root.which())
    const kind = camelCase(entry?.[0] ?? '')
    return { ...(fromEs(root[kind], like, kind) as object), kind }
  }

  /**
   * In a list with structs that are shorter than in the schema, capnp-es reads numbers after their
   * end: this happens for our tasks of a graph, unless one of them has a field that 1.9.9 does not
   * have.
   */
  function canRead(message: Message): boolean {
    if (message.kind !== 'graphTask' || message.graph.length === 0) return true
    return message.graph.some((task) =>
      Object.entries(PLAIN_TASK).some(([name, plain]) => {
        const value = task[name as keyof typeof PLAIN_TASK]
        return Array.isArray(value) ? value.length > 0 : value !== plain
      }),
    )
  }

  function assertRead(message: Message): void {
    if (!canRead(message)) return
    assert.deepEqual(comparable(read(encode(message), message) as Message), comparable(message))
  }

  test('reads the golden messages that we write', () => {
    for (const { message } of GOLDEN_MESSAGES) assertRead(message)
  })

  test('reads any message that we write', () => {
    fc.assert(fc.property(anyMessage, assertRead), RUNS)
  })

  test('writes any message in a way that we read', () => {
    const writer = new EsWriter(schema)
    fc.assert(
      fc.property(anyMessage, (message) => {
        assert.deepEqual(comparable(decode(writer.message(message))), comparable(message))
      }),
      RUNS,
    )
  })
})

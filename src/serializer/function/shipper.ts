// A function in the form in which it is stored: its own message, and one for each large captured
// value, so that these are stored and sent once for all functions and tasks that use them. The same
// function gives the same arrays as long as no capture has changed: callers identify it by them.

import { types } from 'node:util'
import { asBuffer, bytesToLatin1 } from '../../base/bytes.js'
import type { AnyFunction } from '../module/native.js'
import type { MessageContext, Sharing } from '../value/context.js'
import type { Attachments, MessageOptions } from '../value/message.js'
import type { UnchangedCheck } from './unchanged.js'

// Which captured values become separate messages: the large ones.

/** A captured value of more bytes becomes a separate message. */
const MAX_INLINE_BYTES = 65_536

/** The attachments of one function, in the order in which they were found. */
class AttachmentTable implements Attachments {
  readonly #numbers = new Map<unknown, number>()
  readonly #excluded: Set<unknown>
  readonly #used = new Set<unknown>()

  /** `values`: the initial attachments. `excluded`: values that must not become attachments. */
  constructor(values: Iterable<unknown>, excluded: Set<unknown>) {
    this.#excluded = excluded
    for (const value of values) if (!excluded.has(value)) this.add(value)
  }

  get size(): number {
    return this.#numbers.size
  }

  /** In the order of their numbers. */
  get values(): readonly unknown[] {
    return [...this.#numbers.keys()]
  }

  /** The values that some function captured. */
  get used(): ReadonlySet<unknown> {
    return this.#used
  }

  add(value: unknown): void {
    this.#numbers.set(value, this.#numbers.size)
  }

  of(value: unknown): number | undefined {
    let number = this.#numbers.get(value)
    if (number === undefined && isSurelyLarge(value) && !this.#excluded.has(value)) {
      number = this.#numbers.size
      this.add(value)
    }
    if (number !== undefined) this.#used.add(value)
    return number
  }
}

/** Each unit, element and entry takes at least one byte. */
function isSurelyLarge(value: unknown): boolean {
  if (typeof value === 'string') return value.length > MAX_INLINE_BYTES
  if (typeof value !== 'object' || value === null) return false
  if (ArrayBuffer.isView(value)) return value.byteLength > MAX_INLINE_BYTES
  return Array.isArray(value) && value.length > MAX_INLINE_BYTES
}

/** A function in the form in which it is stored. The bytes must not be changed. */
export interface FunctionMessages {
  readonly bytes: Uint8Array
  /** Large captured values, each as a separate message. */
  readonly attachments: readonly Uint8Array[]
  /** A value that each task must create again although that takes time. */
  readonly costly?: CostlyCapture | undefined
}

/** A large value that a function captured and may change. */
export interface CostlyCapture {
  /** `rows (captured at app.ts:12)`; undefined if it consists of several small ones. */
  readonly variable: string | undefined
  readonly byteLength: number
}

/** Writes messages. */
interface MessageWriter {
  /** Writes the message. The context is valid until the next call. Throws `SerializeError`. */
  write(value: unknown, options: MessageOptions): Written
  /** Whether it is certain which variables these functions share. */
  areCertain(functions: ReadonlySet<AnyFunction>): boolean
  /** Grows with each registration that may change how a function is written. */
  readonly version: number
}

/** A message. `context`: undefined if it needs none. */
export interface Written {
  readonly bytes: Uint8Array
  readonly context: MessageContext | undefined
}

/** A value that may become an attachment. */
interface Piece {
  readonly bytes: Uint8Array
  readonly objects: ReadonlySet<object>
  readonly functions: ReadonlySet<AnyFunction>
  readonly hasCode: boolean
}

/**
 * How to find out whether a function has changed. `first`: it was written only once, as most
 * functions are; `write`: by writing it again.
 */
type ChangeTest = UnchangedCheck | 'first' | 'write'

/** A function as one message. */
interface KnownWhole {
  readonly bytes: Uint8Array
  readonly test: ChangeTest
}

interface Known {
  readonly messages: FunctionMessages
  readonly test: ChangeTest
  readonly values: readonly unknown[]
  readonly excluded: ReadonlySet<unknown>
  /** The length of the main message when no other captured value was found to be large. */
  readonly checkedBytes: number
}

/**
 * Equal functions are recognised by messages of at most this length; at most this many are cached.
 */
const MAX_ALIKE_BYTES = 4_096
const MAX_ALIKE = 1_000
/** Creating this many bytes again takes some milliseconds: for binary data, */
const COSTLY_MEMORY_BYTES = 16 * 1024 ** 2
/** and for anything else. */
const COSTLY_BYTES = 256 * 1024
/** After this many attempts, everything goes into one message. */
const MAX_ATTEMPTS = 10

/** Writes functions and their attachments. */
export class FunctionShipper {
  readonly #writer: MessageWriter
  readonly #known = new WeakMap<AnyFunction, Known>()
  readonly #whole = new WeakMap<AnyFunction, KnownWhole>()
  /** Short messages by their content. The oldest is removed first. */
  readonly #alike = new Map<string, Uint8Array>()
  /** The bytes of attachments, by value. */
  readonly #pieces = new WeakMap<object, Uint8Array>()

  constructor(writer: MessageWriter) {
    this.#writer = writer
  }

  /**
   * The function as one message; the same array as long as it has not changed. Throws
   * `SerializeError`.
   */
  whole(fn: AnyFunction): Uint8Array {
    const { version } = this.#writer
    const known = this.#whole.get(fn)
    if (known !== undefined && isUnchanged(known.test, version)) return known.bytes
    const { bytes, context } = this.#writer.write(fn, { strictness: 'strict' })
    const same = this.#same(bytes, known?.bytes)
    this.#whole.set(fn, { bytes: same, test: nextTest(known?.test, context, version) })
    return same
  }

  /** The function and its attachments. Throws `SerializeError`. */
  ship(fn: AnyFunction): FunctionMessages {
    const known = this.#known.get(fn)
    if (known !== undefined && isUnchanged(known.test, this.#writer.version)) return known.messages
    const shipment = new Shipment(this.#writer, fn, known)
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const found = shipment.attempt()
      if (found === undefined) continue
      const messages = this.#messages(found, shipment.values, known?.messages)
      const { values, excluded, checkedBytes } = shipment
      this.#known.set(fn, { messages, test: found.test, values, excluded, checkedBytes })
      return messages
    }
    return { bytes: this.whole(fn), attachments: NO_ATTACHMENTS }
  }

  /** The previous objects, if the bytes are the same. */
  #messages(
    { bytes, pieces, costly }: Found,
    values: readonly unknown[],
    last: FunctionMessages | undefined,
  ): FunctionMessages {
    const same = this.#same(bytes, last?.bytes)
    if (pieces.length === 0) {
      return last?.bytes === same && last.attachments.length === 0
        ? last
        : { bytes: same, attachments: NO_ATTACHMENTS, costly }
    }
    const attachments = pieces.map((piece, index) => {
      const value = values[index]
      if (typeof value !== 'object' || value === null)
        return this.#same(piece, last?.attachments[index])
      const kept = this.#same(piece, this.#pieces.get(value))
      this.#pieces.set(value, kept)
      return kept
    })
    return { bytes: same, attachments, costly }
  }

  #same(bytes: Uint8Array, last: Uint8Array | undefined): Uint8Array {
    if (last !== undefined && asBuffer(last).equals(bytes)) return last
    if (bytes.byteLength > MAX_ALIKE_BYTES) return bytes
    const key = bytesToLatin1(bytes)
    const alike = this.#alike.get(key)
    if (alike !== undefined) return alike
    this.#alike.set(key, bytes)
    if (this.#alike.size > MAX_ALIKE) {
      for (const oldest of this.#alike.keys()) {
        this.#alike.delete(oldest)
        break
      }
    }
    return bytes
  }
}

const NO_ATTACHMENTS: readonly Uint8Array[] = []

/** The messages of a function. */
interface Found {
  readonly bytes: Uint8Array
  readonly pieces: readonly Uint8Array[]
  readonly costly: CostlyCapture | undefined
  readonly test: ChangeTest
}

function isUnchanged(test: ChangeTest, version: number): boolean {
  return typeof test === 'object' && test.passes(version)
}

/** `version`: of the registrations before the message was written. */
function nextTest(
  last: ChangeTest | undefined,
  context: MessageContext | undefined,
  version: number,
): ChangeTest {
  if (last === undefined) return 'first'
  return last === 'write' ? last : (context?.unchangedCheck(version) ?? 'write')
}

/** Determines, in several attempts, which captured values can be attachments. */
class Shipment {
  readonly #writer: MessageWriter
  readonly #fn: AnyFunction
  readonly #test: ChangeTest | undefined
  readonly #pieces = new Map<unknown, Piece>()
  /** The values that are written as attachments. */
  values: readonly unknown[]
  readonly excluded: Set<unknown>
  checkedBytes: number

  constructor(writer: MessageWriter, fn: AnyFunction, known: Known | undefined) {
    this.#writer = writer
    this.#fn = fn
    this.#test = known?.test
    this.values = known?.values ?? []
    this.excluded = new Set(known?.excluded)
    this.checkedBytes = known?.checkedBytes ?? 0
  }

  /** The messages, or undefined if another attempt with other values is needed. */
  attempt(): Found | undefined {
    const table = new AttachmentTable(this.values, this.excluded)
    const options = { strictness: 'strict', attachments: table } as const
    const { version } = this.#writer
    const { bytes, context } = this.#writer.write(this.#fn, options)
    const test = nextTest(this.#test, context, version)
    this.values = table.values.filter((value) => table.used.has(value))
    if (this.values.length < table.size) return undefined
    const isGrown = bytes.byteLength > MAX_INLINE_BYTES + this.checkedBytes
    const sharing = context?.sharing ?? { isSteady: false, attachments: [] }
    const variables = this.values.map((value) => context?.variableOf(value))
    const isLarge = !sharing.isSteady && bytes.byteLength > COSTLY_BYTES
    let costly: CostlyCapture | undefined = isLarge
      ? { variable: undefined, byteLength: bytes.byteLength }
      : undefined
    if (this.values.length === 0 && !isGrown) return { bytes, pieces: [], costly, test }
    const main = pieceOf(bytes, context)
    if (isGrown && this.#findLarge(context, bytes.byteLength)) return undefined
    const pieces = this.values.map((value) => this.#piece(value))
    const unfit = this.values.filter((_, index) => !isFit(pieces, index, main))
    if (unfit.length === 0 && this.#areCertain(main, pieces)) {
      const pieceBytes = pieces.map((piece) => piece.bytes)
      costly = this.#costly(pieceBytes, sharing, variables) ?? costly
      return { bytes, pieces: pieceBytes, costly, test }
    }
    for (const value of unfit.length === 0 ? this.values : unfit) this.excluded.add(value)
    this.values = this.values.filter((value) => !this.excluded.has(value))
    return undefined
  }

  #findLarge(context: MessageContext | undefined, byteLength: number): boolean {
    const candidates = [...(context?.captured ?? [])].filter((value) => !this.excluded.has(value))
    const found = candidates.filter((value) => this.#isLarge(value))
    this.checkedBytes = byteLength
    this.values = [...this.values, ...found]
    return found.length > 0
  }

  /**
   * A value that cannot be written by itself does not count as large; the error is reported where
   * it is captured.
   */
  #isLarge(value: unknown): boolean {
    return this.#piece(value).bytes.byteLength > MAX_INLINE_BYTES
  }

  #piece(value: unknown): Piece {
    const known = this.#pieces.get(value)
    if (known !== undefined) return known
    const { bytes, context } = this.#writer.write(value, { strictness: 'strict' })
    const piece = pieceOf(bytes, context, value)
    this.#pieces.set(value, piece)
    return piece
  }

  /** The largest attachment that each task creates again. */
  #costly(
    pieces: readonly Uint8Array[],
    { isSteady, attachments }: Sharing,
    variables: readonly (string | undefined)[],
  ): CostlyCapture | undefined {
    let costly: CostlyCapture | undefined
    for (const [index, { byteLength }] of pieces.entries()) {
      const isMemory =
        types.isAnyArrayBuffer(this.values[index]) || ArrayBuffer.isView(this.values[index])
      if (isSteady || attachments[index] === true) continue
      if (byteLength < (isMemory ? COSTLY_MEMORY_BYTES : COSTLY_BYTES)) continue
      if (byteLength > (costly?.byteLength ?? 0))
        costly = { variable: variables[index], byteLength }
    }
    return costly
  }

  #areCertain(main: Piece, pieces: readonly Piece[]): boolean {
    if (pieces.every(({ functions }) => functions.size === 0)) return true
    const all = [main, ...pieces].flatMap(({ functions }) => [...functions])
    return this.#writer.areCertain(new Set(all))
  }
}

function pieceOf(bytes: Uint8Array, context: MessageContext | undefined, value?: unknown): Piece {
  const objects = context?.ownObjects() ?? new Set<object>()
  if (ArrayBuffer.isView(value)) objects.add(value).add(value.buffer)
  return {
    bytes,
    objects,
    functions: new Set(context?.analyzed),
    hasCode: context?.main.hasCode === true,
  }
}

/** Large, and no part of it occurs anywhere else. */
function isFit(pieces: readonly Piece[], index: number, main: Piece): boolean {
  const piece = pieces[index]
  if (piece === undefined || piece.bytes.byteLength <= MAX_INLINE_BYTES || piece.hasCode)
    return false
  const others = [main, ...pieces.filter((other) => other !== piece)]
  return others.every(({ objects }) => areDisjoint(objects, piece.objects))
}

function areDisjoint(some: ReadonlySet<object>, others: ReadonlySet<object>): boolean {
  const [small, large] = some.size < others.size ? [some, others] : [others, some]
  for (const object of small) if (large.has(object)) return false
  return true
}

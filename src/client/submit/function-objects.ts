// Functions as the objects that the scheduler stores: one for the function, one for each large
// captured value. If the serializer returns the same arrays as before, nothing has changed, and the
// same objects are used again.

import { SerializeError } from '../../base/errors.js'
import type { ObjectId } from '../../base/ids.js'
import type { StoredValue } from '../../core/client/events.js'
import type { CostlyCapture } from '../../serializer/function/shipper.js'
import { withPathPrefix } from '../../serializer/refusal.js'
import type { FunctionSerializer, ShippedFunction } from '../../serializer/task-codec.js'
import { argumentName, functionName } from '../../wire/object-content.js'
import type { ObjectIds } from '../ids.js'

/** Any function. */
export type AnyFunction = (...args: never[]) => unknown

/** The stored objects of a function. */
export interface FunctionObject {
  readonly function: StoredValue
  /** Every task of the function needs these, too, in this order. */
  readonly attachments: readonly StoredValue[]
}

/** A function with more captured data than this causes a warning, in bytes. */
const LARGE_BYTES = 1024 ** 2
const MIB = 1024 ** 2
/** At most this many names are remembered for which the warning was emitted. */
const MAX_WARNED_NAMES = 1_000

const NO_ATTACHMENTS: readonly StoredValue[] = []

interface KnownFunction {
  readonly function: StoredValue
  /** Not the attachments themselves, which may be large and must not be kept alive by this. */
  readonly attachmentIds: readonly ObjectId[]
  /** The function object, without attachments. */
  readonly alone: FunctionObject
}

/** The functions of one client, by their bytes. */
export class FunctionObjects {
  readonly #serializer: FunctionSerializer
  readonly #ids: ObjectIds
  readonly #known = new WeakMap<Uint8Array, KnownFunction>()
  readonly #attachments = new WeakMap<Uint8Array, StoredValue>()
  readonly #warnedNames = new Set<string>()

  constructor(serializer: FunctionSerializer, ids: ObjectIds) {
    this.#serializer = serializer
    this.#ids = ids
  }

  /**
   * The objects for a function in its current state. Throws `SerializeError` whose path begins with
   * the name of the function.
   */
  of(fn: AnyFunction): FunctionObject {
    const shipped = this.#serialize(fn)
    const attachments =
      shipped.attachments.length === 0
        ? NO_ATTACHMENTS
        : shipped.attachments.map((bytes) => this.#attachment(bytes))
    const known = this.#known.get(shipped.bytes)
    if (known === undefined || !areSame(known.attachmentIds, attachments)) {
      return { function: this.#store(nameOf(fn), shipped, attachments), attachments }
    }
    return attachments === NO_ATTACHMENTS ? known.alone : { function: known.function, attachments }
  }

  #serialize(fn: AnyFunction): ShippedFunction {
    try {
      return this.#serializer.serializeFunction(fn)
    } catch (error) {
      throw withFunctionName(error, titleOf(nameOf(fn)))
    }
  }

  /** The id is different for the same bytes with other attachments. */
  #store(
    name: string,
    { bytes, attachments: pieces, costly }: ShippedFunction,
    attachments: readonly StoredValue[],
  ): StoredValue {
    const attachmentIds = attachments.map(({ id }) => id)
    const id = this.#ids.of(bytes, attachmentIds)
    const stored = { id, name: functionName(name, id), content: bytes }
    const alone = { function: stored, attachments: NO_ATTACHMENTS }
    this.#known.set(bytes, { function: stored, attachmentIds, alone })
    const totalBytes = pieces.reduce((sum, piece) => sum + piece.byteLength, bytes.byteLength)
    if (costly !== undefined) this.#warn(name, costlyWarning(titleOf(name), costly))
    else if (totalBytes > LARGE_BYTES) this.#warn(name, largeWarning(titleOf(name), totalBytes))
    return stored
  }

  #attachment(content: Uint8Array): StoredValue {
    const known = this.#attachments.get(content)
    if (known !== undefined) return known
    const id = this.#ids.of(content)
    const stored = { id, name: argumentName('', id), content }
    this.#attachments.set(content, stored)
    return stored
  }

  /** Once per name: the size may change with every submit. */
  #warn(name: string, { code, text }: Warning): void {
    if (this.#warnedNames.has(name) || this.#warnedNames.size >= MAX_WARNED_NAMES) return
    this.#warnedNames.add(name)
    process.emitWarning(text, { type: 'ScalerWarning', code })
  }
}

interface Warning {
  readonly code: string
  readonly text: string
}

function largeWarning(title: string, totalBytes: number): Warning {
  const size = `${mebibytes(totalBytes)} of captured values`
  const advice = 'pass large values as arguments of the tasks that need them'
  const text = `${title} sends ${size} to every worker; ${advice}`
  return { code: 'SCALER_LARGE_FUNCTION', text }
}

function costlyWarning(title: string, { variable, byteLength }: CostlyCapture): Warning {
  const values = `${variable ?? 'its captured values'} (${mebibytes(byteLength)})`
  const advice =
    'pass the result of client.sendObject(…) as an argument instead, or freeze the value'
  const reason = 'because the function may change it'
  const text = `each task of ${title} copies ${values}, ${reason}; ${advice}`
  return { code: 'SCALER_COSTLY_CAPTURE', text }
}

function mebibytes(byteLength: number): string {
  return `${(byteLength / MIB).toFixed(1)} MiB`
}

function areSame(ids: readonly ObjectId[], values: readonly StoredValue[]): boolean {
  return ids.length === values.length && ids.every((id, index) => values[index]?.id === id)
}

/** The default serializer names the function itself if something inside it is refused. */
function withFunctionName(error: unknown, title: string): SerializeError {
  if (error instanceof SerializeError && error.path[0] === title) return error
  return withPathPrefix(error, [title])
}

function titleOf(name: string): string {
  return name === '' ? 'the function' : name
}

/** A function's `name` can have any value: it is an ordinary property. */
export function nameOf(fn: AnyFunction): string {
  try {
    const { name }: { readonly name: unknown } = fn
    return typeof name === 'string' ? name : ''
  } catch {
    return ''
  }
}

// Functions as the objects that the scheduler stores: one for the function, one for each big value
// that it captured. The serializer may give the same arrays for as long as nothing that the
// function captured has changed: then there is nothing to do again.

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

/** What is stored in the scheduler for a function. */
export interface FunctionObject {
  readonly function: StoredValue
  /** What every task of the function needs, too, in this order. */
  readonly attachments: readonly StoredValue[]
}

/** A function that carries more is worth a word, in bytes. */
const LARGE_BYTES = 1024 ** 2
const MIB = 1024 ** 2
/** So many names are remembered for which the word was said. */
const MAX_WARNED_NAMES = 1_000

const NO_ATTACHMENTS: readonly StoredValue[] = []

interface KnownFunction {
  readonly function: StoredValue
  /** Not the attachments themselves: they may be large, and go when nobody else has them. */
  readonly attachmentIds: readonly ObjectId[]
  /** The function as it is without attachments. */
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
   * The objects for a function as it is now. Throws `SerializeError`, whose path begins with the
   * name of the function.
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

  /** The id tells apart what has the same bytes and other attachments. */
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

  /** Once for each name: what a function carries may change with every submit. */
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
  const what = `${mebibytes(totalBytes)} of captured values`
  const wayOut = 'pass what is large as an argument of the tasks that need it'
  const text = `${title} carries ${what} to every worker; ${wayOut}`
  return { code: 'SCALER_LARGE_FUNCTION', text }
}

function costlyWarning(title: string, { variable, byteLength }: CostlyCapture): Warning {
  const what = `${variable ?? 'what it captured'} (${mebibytes(byteLength)})`
  const wayOut =
    'pass it by reference, as an argument that client.sendObject(…) gives, or freeze it'
  const text = `each task of ${title} copies ${what}, because the function may change it; ${wayOut}`
  return { code: 'SCALER_COSTLY_CAPTURE', text }
}

function mebibytes(byteLength: number): string {
  return `${(byteLength / MIB).toFixed(1)} MiB`
}

function areSame(ids: readonly ObjectId[], values: readonly StoredValue[]): boolean {
  return ids.length === values.length && ids.every((id, index) => values[index]?.id === id)
}

/** The default serializer names the function by itself where something inside it is refused. */
function withFunctionName(error: unknown, title: string): SerializeError {
  if (error instanceof SerializeError && error.path[0] === title) return error
  return withPathPrefix(error, [title])
}

function titleOf(name: string): string {
  return name === '' ? 'the function' : name
}

/** A function's `name` can be anything: it is a property like others. */
export function nameOf(fn: AnyFunction): string {
  try {
    const { name }: { readonly name: unknown } = fn
    return typeof name === 'string' ? name : ''
  } catch {
    return ''
  }
}

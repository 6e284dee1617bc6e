// Facts about buffers and views that TypeScript's library does not know or that take some care.

import { types } from 'node:util'

/** What ES2024 adds to `ArrayBuffer`; Node has had it since 20. */
interface ResizableArrayBuffer extends ArrayBuffer {
  readonly resizable: boolean
  readonly maxByteLength: number
  resize(byteLength: number): void
}

type ArrayBufferFactory = new (
  byteLength: number,
  options?: { readonly maxByteLength: number },
) => ArrayBuffer

/** The memory behind a view, whatever the view inherits from. */
export function bufferOf(view: ArrayBufferView): ArrayBufferLike {
  return Reflect.get(viewPrototype(view), 'buffer', view) as ArrayBufferLike
}

/** Where a view begins in its memory, whatever it inherits from. */
export function byteOffsetOf(view: ArrayBufferView): number {
  return Reflect.get(viewPrototype(view), 'byteOffset', view) as number
}

/** The size of a buffer or view, whatever it inherits from. */
export function byteLengthOf(binary: ArrayBuffer | ArrayBufferView): number {
  const prototype = ArrayBuffer.isView(binary) ? viewPrototype(binary) : ArrayBuffer.prototype
  return Reflect.get(prototype, 'byteLength', binary) as number
}

function viewPrototype(view: ArrayBufferView): object {
  return types.isDataView(view) ? DataView.prototype : TYPED_ARRAY
}

const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array.prototype) as object

/** The largest size that the buffer may be given, or undefined when its size is fixed. */
export function maxByteLengthOf(buffer: ArrayBuffer): number | undefined {
  const isResizable = Reflect.get(ArrayBuffer.prototype, 'resizable', buffer) as boolean
  if (!isResizable) return undefined
  return Reflect.get(ArrayBuffer.prototype, 'maxByteLength', buffer) as number
}

/** The bytes in an ArrayBuffer of their own, which no pool and nobody else uses. One copy. */
export function copyToArrayBuffer(bytes: Uint8Array, maxByteLength?: number): ArrayBuffer {
  if (maxByteLength === undefined) {
    const copy = Buffer.allocUnsafeSlow(bytes.byteLength)
    copy.set(bytes)
    return copy.buffer
  }
  const buffer = new (ArrayBuffer as ArrayBufferFactory)(bytes.byteLength, { maxByteLength })
  new Uint8Array(buffer).set(bytes)
  return buffer
}

/** Whether the memory was given away by a transfer. */
export function isDetached(buffer: ArrayBuffer): boolean {
  if (byteLengthOf(buffer) > 0) return false
  try {
    new Uint8Array(buffer)
    return false
  } catch {
    return true
  }
}

/** Whether the length of the view follows the size of its buffer. */
export function tracksLength(view: ArrayBufferView): boolean {
  const maxByteLength = maxByteLengthOf(bufferOf(view) as ArrayBuffer)
  // One that tracks reaches to the end (if it misses the end by a part of an element, it could not
  // be made anew), but others may, too.
  if (maxByteLength === undefined) return false
  const end = byteOffsetOf(view) + byteLengthOf(view)
  if (end !== byteLengthOf(bufferOf(view) as ArrayBuffer)) return false
  // There is no question for it: of the two, only the one that tracks survives the loss of its last
  // byte, or grows from nothing.
  const clone = structuredClone(view)
  const buffer = clone.buffer as ResizableArrayBuffer
  if (clone.byteLength > 0) {
    buffer.resize(buffer.byteLength - 1)
    return !isOutOfBounds(clone)
  }
  buffer.resize(Math.min(buffer.byteLength + LARGEST_ELEMENT, maxByteLength))
  return clone.byteLength > 0
}

const LARGEST_ELEMENT = 8

function isOutOfBounds(view: ArrayBufferView): boolean {
  try {
    if (view instanceof DataView) return view.byteLength < 0
    ;(view as Uint8Array).at(0)
    return false
  } catch {
    return true
  }
}

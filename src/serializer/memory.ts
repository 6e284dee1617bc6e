// Facts about buffers and views that TypeScript's library does not know or that take some care.

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

/** The largest size that the buffer may be given, or undefined when its size is fixed. */
export function maxByteLengthOf(buffer: ArrayBuffer): number | undefined {
  const resizable = buffer as ResizableArrayBuffer
  return resizable.resizable ? resizable.maxByteLength : undefined
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
  if (buffer.byteLength > 0) return false
  try {
    new Uint8Array(buffer)
    return false
  } catch {
    return true
  }
}

/** Whether the length of the view follows the size of its buffer. */
export function tracksLength(view: ArrayBufferView): boolean {
  const maxByteLength = maxByteLengthOf(view.buffer as ArrayBuffer)
  // One that tracks reaches to the end (if it misses the end by a part of an element, it could not
  // be made anew), but others may, too.
  if (maxByteLength === undefined) return false
  if (view.byteOffset + view.byteLength !== view.buffer.byteLength) return false
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

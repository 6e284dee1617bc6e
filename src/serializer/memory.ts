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
  if (maxByteLengthOf(view.buffer as ArrayBuffer) === undefined || view.byteLength === 0)
    return false
  // One that tracks reaches to the end (if it misses the end by a part of an element, it could not
  // be made anew), but others may, too. There is no question for it: of the two, only the one that
  // tracks survives the loss of its last byte.
  const clone = structuredClone(view)
  const end = clone.byteOffset + clone.byteLength
  if (end !== clone.buffer.byteLength) return false
  ;(clone.buffer as ResizableArrayBuffer).resize(end - 1)
  return !isOutOfBounds(clone)
}

function isOutOfBounds(view: ArrayBufferView): boolean {
  try {
    if (view instanceof DataView) return view.byteLength < 0
    ;(view as Uint8Array).at(0)
    return false
  } catch {
    return true
  }
}

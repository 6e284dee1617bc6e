// Whether an array or a view is nothing but its elements. JavaScript only finds out by looking at
// each property; the engine knows at once: what was never given anything else shares its hidden
// class with all others that were not. Where the engine cannot be asked, nothing is known.

import { compileFunction } from 'node:vm'
import { serialize, setFlagsFromString } from 'node:v8'

type SameShape = (some: object, other: object) => boolean

/** Asks the engine. */
class EngineShapes {
  #isSame: SameShape | undefined
  /** One for each form that V8 has for elements; those that may have holes last. */
  #packed: readonly object[] = []
  #holey: readonly object[] = []
  readonly #views = new Map<object, readonly object[]>()

  /**
   * Whether the array is an ordinary one that has elements with nothing odd about them, and nothing
   * else. `packed`: and no holes. Undefined if that is not so or not known.
   */
  arrayForm(array: readonly unknown[]): 'packed' | 'holey' | undefined {
    const isSame = this.#question()
    if (this.#packed.some((known) => isSame(array, known))) return 'packed'
    return this.#holey.some((known) => isSame(array, known)) ? 'holey' : undefined
  }

  /** Whether a view or buffer is as its class has made it. False if that is not known. */
  isOrdinary(binary: ArrayBuffer | ArrayBufferView): boolean {
    const isSame = this.#question()
    const prototype = Object.getPrototypeOf(binary) as object | null
    if (prototype === null) return false
    const known = this.#views.get(prototype) ?? emptyOf(prototype)
    this.#views.set(prototype, known)
    return known.some((each) => isSame(binary, each))
  }

  /** Whether two objects have the same hidden class. False if that is not known. */
  areAlike(some: object, other: object): boolean {
    return this.#question()(some, other)
  }

  #question(): SameShape {
    if (this.#isSame !== undefined) return this.#isSame
    this.#packed = [[], [0.5], [{}]]
    // oxlint-disable-next-line no-sparse-arrays -- the form for holes is what is asked for
    this.#holey = [[1, , 1], [0.5, , 0.5], [{}, , {}]] // prettier-ignore
    return (this.#isSame = sameShape())
  }
}

/** The shapes of this process. */
export const engineShapes: EngineShapes = new EngineShapes()

/**
 * Asks in the engine's own syntax. V8 forgets the code of what has not been called for a while, and
 * cannot compile it again by itself, for that syntax is allowed only while it is compiled here.
 */
function sameShape(): SameShape {
  let ask = compiled()
  return (some, other) => {
    if (ask === undefined) return false
    try {
      return ask(some, other)
    } catch {
      ask = compiled()
      return ask?.(some, other) ?? false
    }
  }
}

/** Undefined if the engine does not allow it. */
function compiled(): SameShape | undefined {
  try {
    setFlagsFromString('--allow-natives-syntax')
    const ask = compileFunction('return %HaveSameMap(some,other)', ['some', 'other']) as SameShape
    // Functions are compiled when they are called first.
    ask({}, {})
    return ask
  } catch {
    return undefined
  } finally {
    setFlagsFromString('--no-allow-natives-syntax')
  }
}

function emptyOf(prototype: object): readonly object[] {
  // JavaScript has made some Buffers, native code others.
  if (prototype === Buffer.prototype) return [Buffer.alloc(0), serialize(0)]
  if (prototype === ArrayBuffer.prototype) return [new ArrayBuffer(0)]
  if (prototype === DataView.prototype) return [new DataView(new ArrayBuffer(0))]
  const constructor = TYPED_ARRAYS.find((known) => known.prototype === prototype)
  return constructor === undefined ? [] : [new constructor(0)]
}

const TYPED_ARRAYS = [
  Uint8Array,
  Int8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
] as const

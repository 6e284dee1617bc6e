// Classes whose instances travel as what their user makes of them: for what only the class itself
// can see or make again. The codec travels with the instances and with the class, so that they can
// come back.

import { ConfigError } from '../../base/errors.js'
import { isNative, ownValue, type AnyFunction } from '../native-names.js'

/** How instances of one class travel. */
export interface ClassCodec {
  readonly constructor: AnyFunction
  readonly serialize: (instance: never) => unknown
  readonly deserialize: (value: never) => unknown
}

/** What a user gives. */
export interface ClassCodecOptions<T> {
  /** Any value that can travel and that says all about the instance. */
  readonly serialize: (instance: T) => unknown
  /** The instance again, from a copy of that value. */
  readonly deserialize: (value: unknown) => T
}

/** A class, also one whose constructor is not public. */
export type AnyClass<T> = abstract new (...parameters: never[]) => T

/** The registered classes of a process. */
export class ClassCodecs {
  readonly #byPrototype = new WeakMap<object, ClassCodec>()
  /** Prototypes whose codecs came from elsewhere: a later one may replace them. */
  readonly #adopted = new WeakSet<object>()
  #isEmpty = true

  /**
   * From now on instances of the class itself travel this way; a class that extends it has to be
   * registered, too. Throws `ConfigError` that names the wrong argument.
   */
  register<T>(constructor: AnyClass<T>, options: ClassCodecOptions<T>): void {
    const prototype = prototypeOfClass(constructor)
    if (prototype === undefined) {
      throw new ConfigError(`registerClass: the first argument is not a class`)
    }
    if (isNative(constructor as unknown as AnyFunction)) {
      throw new ConfigError(`registerClass: class ${constructor.name} is built in`)
    }
    const { serialize, deserialize } = checked(options)
    this.#adopted.delete(prototype)
    this.#byPrototype.set(prototype, {
      constructor: constructor as unknown as AnyFunction,
      serialize,
      deserialize,
    })
    this.#isEmpty = false
  }

  /** Takes in a codec that came along with instances, unless the class has one already. */
  adopt(codec: ClassCodec): void {
    const prototype = prototypeOfClass(codec.constructor)
    if (prototype === undefined) return
    if (this.#byPrototype.has(prototype) && !this.#adopted.has(prototype)) return
    this.#adopted.add(prototype)
    this.#byPrototype.set(prototype, codec)
    this.#isEmpty = false
  }

  /** The codec for instances with this prototype. */
  of(prototype: object): ClassCodec | undefined {
    return this.#isEmpty ? undefined : this.#byPrototype.get(prototype)
  }

  /** The codec of a class itself. */
  ofClass(constructor: AnyFunction): ClassCodec | undefined {
    if (this.#isEmpty) return undefined
    const prototype = prototypeOfClass(constructor)
    return prototype === undefined ? undefined : this.#byPrototype.get(prototype)
  }
}

function prototypeOfClass(constructor: unknown): object | undefined {
  if (typeof constructor !== 'function') return undefined
  const prototype = ownValue(constructor, 'prototype')
  return typeof prototype === 'object' && prototype !== null ? prototype : undefined
}

function checked<T>(options: unknown): ClassCodecOptions<T> {
  if (typeof options !== 'object' || options === null) {
    throw new ConfigError('registerClass: the second argument is not { serialize, deserialize }')
  }
  for (const key of ['serialize', 'deserialize'] as const) {
    if (typeof (options as Record<string, unknown>)[key] === 'function') continue
    throw new ConfigError(`registerClass: ${key} is not a function`)
  }
  return options as ClassCodecOptions<T>
}

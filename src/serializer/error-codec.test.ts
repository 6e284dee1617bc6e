import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { test } from 'node:test'
import { inspect, types } from 'node:util'
import { runInNewContext } from 'node:vm'
import * as errors from '../base/errors.js'
import { deserializeError, serializeError } from './error-codec.js'
import { TwoSides } from './two-sides.kit.js'

function roundTrip(thrown: unknown): unknown {
  const bytes = Buffer.from(serializeError(thrown))
  const result = deserializeError(bytes)
  bytes.fill(0xff)
  return result
}

function errorOf<E extends Error>(thrown: Error): E {
  const error = roundTrip(thrown)
  assert.ok(types.isNativeError(error), inspect(error))
  return error as E
}

const BUILT_IN = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, Error]

/** The types of Node do not have it. */
const { WebAssembly } = globalThis as unknown as {
  readonly WebAssembly: {
    readonly CompileError: ErrorConstructor
    readonly LinkError: ErrorConstructor
    readonly RuntimeError: ErrorConstructor
    readonly Module: new (bytes: Uint8Array) => object
  }
}
const { CompileError, LinkError, RuntimeError } = WebAssembly

for (const BuiltIn of [...BUILT_IN, CompileError, LinkError, RuntimeError]) {
  test(`${BuiltIn.name} keeps its class, message, stack and cause`, () => {
    const thrown = new BuiltIn('the message', { cause: { code: 7 } })
    const error = errorOf(thrown)
    assert.equal(Object.getPrototypeOf(error), BuiltIn.prototype)
    assert.equal(error.stack, thrown.stack)
    assert.deepEqual(Object.getOwnPropertyNames(error).sort(), ['cause', 'message', 'stack'])
    assert.deepEqual(Object.keys(error), [])
    assert.deepEqual(error.cause, { code: 7 })
    assert.equal(String(error), `${BuiltIn.name}: the message`)
  })
}

test('an AggregateError brings its errors', () => {
  const error = errorOf(new AggregateError([new TypeError('a'), 'b'], 'both'))
  assert.ok(error instanceof AggregateError)
  assert.ok(error.errors[0] instanceof TypeError)
  assert.deepEqual([error.errors[0].message, error.errors[1]], ['a', 'b'])
  assert.ok(!Object.keys(error).includes('errors'))
})

test('errors of Node keep code, errno, syscall and path', () => {
  let thrown: unknown
  try {
    readFileSync('/does/not/exist')
  } catch (error) {
    thrown = error
  }
  const error = errorOf<NodeJS.ErrnoException>(thrown as Error)
  assert.deepEqual({ ...error }, { ...(thrown as object) })
  assert.equal(error.code, 'ENOENT')
  const invalid = errorOf(makeInvalid())
  assert.ok(invalid instanceof TypeError)
  assert.equal((invalid as NodeJS.ErrnoException).code, 'ERR_INVALID_ARG_TYPE')
})

function makeInvalid(): Error {
  try {
    Buffer.from(1 as unknown as string)
  } catch (error) {
    return error as Error
  }
  return new Error('nothing was thrown')
}

test('errors of WebAssembly keep their class, and a class of that name is another', () => {
  let thrown: unknown
  try {
    void new WebAssembly.Module(new Uint8Array(3))
  } catch (error) {
    thrown = error
  }
  const error = errorOf(thrown as Error)
  assert.equal(Object.getPrototypeOf(error), CompileError.prototype)
  assert.deepEqual(Object.getOwnPropertyNames(error).sort(), ['message', 'stack'])
  class Trap extends RuntimeError {}
  const sides = new TwoSides()
  const there = sides.send(new Trap('deep'))
  assert.ok(there instanceof RuntimeError && there.constructor.name === 'Trap')
  assert.ok(sides.back(there) instanceof Trap)
  class LinkError extends TypeError {}
  const other = errorOf(new LinkError('x'))
  assert.ok(other instanceof LinkError && !(other instanceof WebAssembly.LinkError))
})

class ValidationError extends TypeError {
  readonly field: string
  constructor(field: string) {
    super(`${field} is wrong`)
    this.field = field
  }
}

class NamedError extends Error {
  override name = 'NamedError'
  details = { at: new Date(0), tries: [1, 2] }
}

class SecretError extends Error {
  readonly #secret = 1
  override get message(): string {
    return `secret ${this.#secret}`
  }
  override get name(): string {
    return 'Secret'
  }
}

test('a user’s own class travels along, and is the original class when it comes back', () => {
  const sides = new TwoSides()
  const thrown = new ValidationError('age')
  const there = sides.send(thrown)
  assert.ok(there instanceof TypeError && (there as Error).constructor !== ValidationError)
  assert.deepEqual([there.constructor.name, there.message], ['ValidationError', 'age is wrong'])
  const home = sides.back(there)
  assert.ok(home instanceof ValidationError)
  assert.deepEqual([home.field, home.name, home.stack], ['age', 'TypeError', thrown.stack])
  assert.deepEqual(Object.keys(home), ['field'])
  assert.ok(errorOf(thrown) instanceof ValidationError)
})

test('a class that cannot travel becomes the nearest built-in parent class, under the same name', () => {
  const sides = new TwoSides()
  const socket = new Socket()
  class ConnectionError extends RangeError {
    readonly port = 1
    isOpen(): boolean {
      return !socket.destroyed
    }
  }
  class TokenError extends TypeError {
    readonly #token = 'x'
    get length(): number {
      return this.#token.length
    }
  }
  const lenient = (thrown: Error): Error & { port?: number } =>
    sides.there.serializer.deserialize(
      sides.here.serializer.serializeAs(thrown, 'lenient'),
    ) as Error
  for (const thrown of [new ConnectionError('lost'), new TokenError('bad')]) {
    const error = lenient(thrown)
    assert.equal(Object.getPrototypeOf(error), Object.getPrototypeOf(Object.getPrototypeOf(thrown)))
    assert.deepEqual(
      [error.name, error.message, error.stack],
      [thrown.name, thrown.message, thrown.stack],
    )
  }
  assert.equal(lenient(new ConnectionError('x')).port, 1)
  const named = lenient(Object.assign(new TokenError('x'), { name: 'Bad' }))
  assert.deepEqual([String(named), Object.hasOwn(named, 'name')], ['Bad: x', true])
  assert.equal(Object.hasOwn(lenient(new TokenError('x')), 'name'), false)
  assert.throws(() => sides.send([new TokenError('x')]), /a TokenError .*#token/)
})

test('functions in an error travel, and those that cannot become a text', () => {
  const sides = new TwoSides()
  const promise = Promise.resolve()
  const limit = 3
  const thrown = Object.assign(new Error('x'), {
    retry: () => limit,
    wait: () => promise,
    inner: { list: [() => promise, 1] },
  })
  const bytes = sides.here.serializer.serializeAs(thrown, 'lenient')
  const error = sides.there.serializer.deserialize(bytes) as typeof thrown
  assert.equal(error.retry(), 3)
  assert.match(String(error.wait), /^\[function wait\]$/)
  assert.deepEqual([typeof error.inner.list[0], error.inner.list[1]], ['string', 1])
})

test('own properties of an unknown subclass arrive, name included', () => {
  const error = errorOf<NamedError>(new NamedError('x'))
  assert.deepEqual(Object.keys(error), ['name', 'details'])
  assert.equal(error.name, 'NamedError')
  assert.deepEqual(error.details, { at: new Date(0), tries: [1, 2] })
})

test('name and message may be getters of the class that read private fields', () => {
  const error = errorOf(new SecretError())
  assert.deepEqual([error.name, error.message], ['Secret', 'secret 1'])
})

test('every error class of this library arrives as itself', () => {
  const death = { exitCode: 3, signal: undefined, stderr: 'last words' }
  const others: readonly unknown[] = [
    errors.ScalerError,
    errors.ProcessorDiedError,
    errors.GraphKeyError,
    errors.GraphCycleError,
  ]
  const thrown = [
    ...Object.values(errors)
      .filter((Class) => !others.includes(Class))
      .map((Class) => new (Class as typeof errors.ConfigError)('what happened', { cause: 1 })),
    new errors.ProcessorDiedError('it died', death),
    new errors.GraphKeyError('a', 'b', { cause: 1 }),
    new errors.GraphKeyError('a', undefined),
    new errors.GraphCycleError(['a', 'b', 'a']),
    new errors.ScalerError('ERR_SCALER_SOMETHING', 'base'),
    new errors.SerializeError('a -> b: no', { path: ['a', 'b'] }),
  ]
  for (const one of thrown) {
    const error = errorOf<Error>(one)
    assert.equal(Object.getPrototypeOf(error), Object.getPrototypeOf(one))
    assert.ok(error instanceof errors.ScalerError)
    assert.deepEqual(Object.entries(error), Object.entries(one))
    assert.deepEqual(
      [error.name, error.message, error.stack, error.cause],
      [one.name, one.message, one.stack, one.cause],
    )
    assert.ok(!Object.keys(error).includes('name'))
  }
})

test('an error of another copy of this library arrives as ours', () => {
  class TaskTimeoutError extends Error {
    readonly code = 'ERR_SCALER_TASK_TIMEOUT'
  }
  assert.ok(errorOf(new TaskTimeoutError('late')) instanceof errors.TaskTimeoutError)
  class TimeoutError extends Error {}
  const unrelated = errorOf(new TimeoutError('late'))
  assert.ok(!(unrelated instanceof errors.ScalerError))
  assert.equal(unrelated.constructor, TimeoutError)
})

test('errors of another realm arrive as errors of this one', () => {
  const error = errorOf(runInNewContext('new RangeError("far")') as Error)
  assert.ok(error instanceof RangeError)
  assert.equal(error.message, 'far')
})

test('a DOMException arrives with message, name and code', () => {
  const thrown = new DOMException('stop', 'AbortError')
  const error = roundTrip(thrown) as DOMException
  assert.ok(error instanceof DOMException)
  assert.deepEqual([error.name, error.message, error.code], ['AbortError', 'stop', 20])
  assert.equal(error.stack, thrown.stack)
  const reason: unknown = AbortSignal.abort().reason
  assert.equal(
    (roundTrip(new Error('x', { cause: reason })) as Error).cause instanceof DOMException,
    true,
  )
})

test('objects that inherit from Error arrive as errors', () => {
  function Old(this: Error, message: string): void {
    this.message = message
  }
  Old.prototype = Object.create(Error.prototype, { constructor: { value: Old } }) as Error
  const thrown = Reflect.construct(Old, ['of old']) as Error
  const error = errorOf(thrown)
  assert.deepEqual([error.constructor, error.message], [Old, 'of old'])
})

test('cyclic causes and errors that contain each other keep their shape', () => {
  const first = new Error('first')
  const second = new Error('second', { cause: first })
  first.cause = second
  const error = errorOf(first)
  assert.equal((error.cause as Error).message, 'second')
  assert.equal((error.cause as Error).cause, error)
})

test('a chain of 20,000 causes arrives', () => {
  let thrown = new Error('innermost')
  for (let level = 0; level < 20_000; level += 1) thrown = new Error('outer', { cause: thrown })
  let error: unknown = errorOf(thrown)
  while (error instanceof Error && error.cause !== undefined) error = error.cause
  assert.equal((error as Error).message, 'innermost')
})

test('values inside an error that cannot travel become a short text', () => {
  const properties = {
    promise: Promise.resolve(),
    reference: new WeakRef({}),
    deep: [{ map: new WeakMap() }],
  }
  const error = errorOf<TypeError & typeof properties>(
    Object.assign(new TypeError('x'), properties),
  )
  assert.deepEqual(
    [error.promise, error.reference, error.deep],
    ['[a Promise]', '[a WeakRef]', [{ map: '[a WeakMap]' }]],
  )
  assert.equal(error.message, 'x')
})

test('getters that throw, anywhere in an error, affect only themselves', () => {
  const thrown = Object.assign(new RangeError('x'), { inner: failing('deep') })
  Object.defineProperty(thrown, 'own', { enumerable: true, get: () => failing('own').deep })
  const error = errorOf<Error & { own: string; inner: { deep: string } }>(thrown)
  assert.equal(error.message, 'x')
  assert.match(error.own, /threw .*own/)
  assert.match(error.inner.deep, /threw .*deep/)
})

function failing(text: string): { readonly deep: string } {
  return {
    get deep(): string {
      throw new Error(text)
    },
  }
}

test('name, message and stack that cannot be read do not hide the rest', () => {
  for (const key of ['name', 'message', 'stack']) {
    const thrown = new RangeError('x')
    Object.defineProperty(thrown, key, { get: () => failing('no').deep })
    const error = errorOf<Error & { code: number }>(Object.assign(thrown, { code: 5 }))
    assert.ok(error instanceof RangeError)
    assert.equal(error.code, 5)
    if (key !== 'message') assert.equal(error.message, 'x')
    if (key !== 'name') assert.equal(error.name, 'RangeError')
  }
})

test('a proxy of an error keeps name, message and stack', () => {
  const thrown = new Proxy(new TypeError('proxied'), {})
  const error = errorOf(thrown)
  assert.deepEqual([error.name, error.message, error.stack], ['TypeError', 'proxied', thrown.stack])
  const hostile = new Proxy(new TypeError('x'), { get: () => failing('trap').deep })
  assert.ok(roundTrip(hostile) instanceof Error)
})

test('an error whose message has ten million units arrives', () => {
  const message = '✓'.repeat(10_000_000)
  assert.ok(errorOf(new Error(message)).message === message)
})

test('a thrown value that is not an error arrives as that value', () => {
  for (const thrown of [undefined, null, 0, -0, '', 'text', 5n, [1, 'a'], { code: 1 }, new Map()]) {
    assert.deepEqual(roundTrip(thrown), thrown)
  }
  assert.deepEqual(roundTrip({ code: 1, promise: Promise.resolve() }), {
    code: 1,
    promise: '[a Promise]',
  })
})

test('a thrown value that cannot travel at all becomes a SerializeError that names it', () => {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  const values = [Promise.resolve(), new WeakMap(), proxy]
  for (const thrown of values) {
    const error = roundTrip(thrown)
    assert.ok(error instanceof errors.SerializeError, inspect(error))
    assert.match(error.message, /^thrown value.*: .*(Promise|WeakMap|Proxy)/)
  }
})

test('bytes that do not contain an error become a DeserializeError, which is returned', () => {
  for (const bytes of [new Uint8Array(0), Uint8Array.of(0xee), Uint8Array.of(0x0d, 0xff, 0xff)]) {
    assert.ok(deserializeError(bytes) instanceof errors.DeserializeError)
  }
})

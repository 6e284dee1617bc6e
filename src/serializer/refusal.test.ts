import assert from 'node:assert/strict'
import { generateKeyPairSync, createSecretKey } from 'node:crypto'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { SerializeError } from '../base/errors.js'
import { defaultSerializer } from './default-serializer.js'
import { withPathPrefix } from './path.js'

class Later {
  then(): void {}
}

class Connection {
  [Symbol.asyncDispose](): void {}
}

function refusalOf(value: unknown): SerializeError {
  try {
    defaultSerializer.serialize(value)
  } catch (error) {
    assert.ok(error instanceof SerializeError, String(error))
    return error
  }
  assert.fail('it was serialized')
}

const REFUSED: readonly (readonly [name: string, value: () => unknown, message: RegExp])[] = [
  ['a symbol', () => Symbol('a'), /Symbol\(a\).*pass a string/],
  ['a well-known symbol', () => Symbol.iterator, /Symbol\(Symbol\.iterator\)/],
  ['a boxed symbol', () => Object(Symbol('a')), /Symbol\(a\)/],
  ['a promise', () => Promise.resolve(1), /a Promise.*await it/],
  ['an object with a then', () => new Later(), /a Later.*await it/],
  ['an object that wants to be closed', () => new Connection(), /a Connection.*stays here/],
  ['a WeakMap', () => new WeakMap(), /a WeakMap.*pass a Map/],
  ['a WeakSet', () => new WeakSet(), /a WeakSet.*pass a Set/],
  ['a WeakRef', () => new WeakRef({}), /a WeakRef.*deref/],
  ['a registry', () => new FinalizationRegistry(() => {}), /a FinalizationRegistry/],
  ['a proxy', () => new Proxy({}, {}), /a Proxy.*plain copy/],
  ['a proxy of an array', () => new Proxy([], {}), /a Proxy/],
  ['a revoked proxy', revokedProxy, /a Proxy/],
  ['a generator', () => generate(), /a Generator.*an array/],
  ['an array iterator', () => [1][Symbol.iterator](), /an Iterator.*an array/],
  ['a map iterator', () => new Map().keys(), /an Iterator/],
  ['arguments', argumentsObject, /an arguments object.*\[\.\.\.arguments\]/],
  ['a module', () => import.meta && moduleNamespace, /a Module.*import it inside/],
  ['shared memory', () => new SharedArrayBuffer(8), /a SharedArrayBuffer.*slice/],
  ['a view of shared memory', () => new Uint8Array(new SharedArrayBuffer(8)), /SharedArrayBuffer/],
  ['a detached ArrayBuffer', detached, /a detached ArrayBuffer/],
  ['a Blob', () => new Blob(['a']), /a Blob.*arrayBuffer\(\)/],
  ['a secret key', () => createSecretKey(Buffer.from('key')), /Key.*export/],
  ['a private key', () => generateKeyPairSync('ed25519').privateKey, /Key.*export/],
  ['a number format', () => new Intl.NumberFormat(), /a NumberFormat.*inside the function/],
  ['an abort signal', () => new AbortController().signal, /an AbortSignal/],
  ['an event target', () => new EventTarget(), /an EventTarget/],
  ['headers', () => new Headers(), /a Headers/],
  ['a text decoder', () => new TextDecoder(), /a TextDecoder/],
  ['a socket', () => new Socket(), /a Socket/],
  ['a subclass of a stream', () => new (class Lines extends Readable {})(), /a Readable/],
  ['a message port', () => new MessageChannel().port1, /a MessagePort/],
  ['a class', () => class Account {}, /class Account.*inside the function/],
  ['a bound function', () => argumentsObject.bind({}), /bound argumentsObject.*takes the object/],
  ['a method of a prototype', () => Array.prototype.map, /function map.*native/],
  ['a proxy of a function', () => new Proxy(argumentsObject, {}), /a Proxy/],
]

const moduleNamespace: unknown = await import('./path.js')

function* generate(): Generator<number> {
  yield 1
}

function argumentsObject(): unknown {
  return (function () {
    return arguments
  })()
}

function revokedProxy(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function detached(): ArrayBuffer {
  const buffer = new ArrayBuffer(8)
  structuredClone(buffer, { transfer: [buffer] })
  return buffer
}

for (const [name, make, message] of REFUSED) {
  test(`${name} is refused, with the path to it and a way out`, () => {
    const value = make()
    assert.match(refusalOf(value).message, message)
    const inner = refusalOf({ options: [0, value] })
    assert.match(inner.message, message)
    assert.deepEqual(inner.path, ['options', '[1]'])
    assert.ok(inner.message.startsWith('options -> [1]: '), inner.message)
  })
}

test('the path leads through maps, sets, errors, odd keys and deep lists', () => {
  const symbol = Symbol('here')
  const pathOf = (value: unknown): string => refusalOf(value).path.join(' ')
  assert.equal(pathOf(new Map([[1, { a: symbol }]])), 'value 0 a')
  assert.equal(pathOf(new Map([[[symbol], 1]])), 'key 0 [0]')
  assert.equal(pathOf(new Set([1, symbol])), 'member 1')
  assert.equal(pathOf(new Error('x', { cause: { symbol } })), 'cause symbol')
  assert.equal(pathOf({ 'b c': [[], [symbol]] }), '["b c"] [1] [0]')
  assert.equal(pathOf(Object.assign([1], { extra: symbol })), 'extra')
})

test('a getter that throws is named, and what it threw is the cause', () => {
  const cause = new TypeError('no')
  const value = {
    options: {
      get size(): number {
        throw cause
      },
    },
  }
  const error = refusalOf(value)
  assert.deepEqual(error.path, ['options', 'size'])
  assert.match(error.message, /TypeError: no/)
  assert.equal(error.cause, cause)
})

test('the serializer works on after a refusal', () => {
  refusalOf({ a: [1], b: Symbol('a') })
  const bytes = defaultSerializer.serialize({ a: [1] })
  assert.deepEqual(defaultSerializer.deserialize(bytes), { a: [1] })
})

test('a prefix puts the path of a caller in front', () => {
  const error = withPathPrefix(refusalOf({ callback: Symbol('a') }), ['argument 1', 'options'])
  assert.deepEqual(error.path, ['argument 1', 'options', 'callback'])
  assert.match(error.message, /^argument 1 -> options -> callback: Symbol\(a\) cannot travel/)
  const bare = withPathPrefix(refusalOf(Symbol('a')), ['argument 2'])
  assert.match(bare.message, /^argument 2: Symbol\(a\) cannot travel/)
})

test('a prefix makes a SerializeError of whatever a serializer threw', () => {
  const cause = new RangeError('too big')
  const error = withPathPrefix(cause, ['argument 1'])
  assert.ok(error instanceof SerializeError)
  assert.equal(error.cause, cause)
  assert.match(error.message, /^argument 1: .*too big/)
  assert.ok(withPathPrefix(Object.create(null), []) instanceof SerializeError)
})

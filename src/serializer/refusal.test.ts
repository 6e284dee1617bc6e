import assert from 'node:assert/strict'
import { generateKeyPairSync, createSecretKey } from 'node:crypto'
import { BlockList, Socket, SocketAddress } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { SerializeError } from '../base/errors.js'
import { defaultSerializer } from './serializer.js'
import { withPathPrefix } from './refusal.js'
import { TwoSides } from './two-sides.kit.js'

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

function webpackLoader(): unknown {
  const load = (id: number): number => id
  return Object.assign(load, { d: () => {}, o: () => {}, r: () => {} })
}

const FOREIGN = /(this function|class A) .*it comes from another vm context, .*create it in/

const REFUSED: readonly (readonly [name: string, value: () => unknown, message: RegExp])[] = [
  ['a promise', () => Promise.resolve(1), /a Promise.*await it/],
  ['an object with a then', () => new Later(), /a Later.*await it/],
  [
    'an object that wants to be closed',
    () => new Connection(),
    /a Connection.*stands for something/,
  ],
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
  [
    'shared memory',
    () => new SharedArrayBuffer(8),
    /a SharedArrayBuffer.*new Uint8Array\(buffer\)\.slice/,
  ],
  ['a view of shared memory', () => new Uint8Array(new SharedArrayBuffer(8)), /SharedArrayBuffer/],
  ['a detached ArrayBuffer', detached, /a detached ArrayBuffer/],
  ['a Blob', () => new Blob(['a']), /a Blob.*arrayBuffer\(\)/],
  ['a File', () => new File(['a'], 'name'), /a File.*arrayBuffer\(\)/],
  [
    'a module of WebAssembly',
    () => wasmModule(),
    /a WebAssembly\.Module.*pass its bytes, and compile them inside/,
  ],
  ['a histogram', () => createHistogram(), /a RecordableHistogram.*toJSON\(\)/],
  // Node 20 shows only the parent class.
  [
    'an address',
    () => new SocketAddress({}),
    /a (SocketAddress.*address, port|JSTransferable.*pass)/,
  ],
  ['a list of addresses', () => new BlockList(), /a (BlockList.*rules|JSTransferable.*pass)/],
  ['a key of the web', () => webKey, /a CryptoKey.*await crypto\.subtle\.exportKey/],
  ['a secret key', () => createSecretKey(Buffer.from('key')), /Key.*export/],
  ['a private key', () => generateKeyPairSync('ed25519').privateKey, /Key.*export/],
  ['an event target', () => new EventTarget(), /an EventTarget.*inside the function/],
  ['an abort signal', () => new AbortController().signal, /an AbortSignal/],
  ['an event target', () => new EventTarget(), /an EventTarget/],
  ['a request', () => new Request('http://localhost/'), /a Request/],
  ['a socket', () => new Socket(), /a Socket/],
  ['the loader of webpack', webpackLoader, /module loader of webpack.* at the top of the file/],
  ['a subclass of a stream', () => new (class Lines extends Readable {})(), /a Readable/],
  ['a message port', () => new MessageChannel().port1, /a MessagePort/],
  ['a native function that nothing names', () => nameless, /native.*inside a function/],
  ['an instance with private members', () => new Secret(), /a Secret .*#key.*registerClass/],
  ['a bound socket', () => takesThis.bind(new Socket()), /a Socket/],
  ['a proxy of a function', () => new Proxy(takesThis, {}), /a Proxy/],
  ...['(function (x) { return x })', '(x) => x', 'async () => 1', '(function* () {})']
    .concat('(async function* () {})', '(class A {})', 'new (class A {})()')
    .map((text) => [`${text} of another context`, () => runInNewContext(text), FOREIGN] as const),
]

const webKey = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 128 }, true, ['encrypt'])

/** The types of Node do not have WebAssembly. */
function wasmModule(): unknown {
  const { Module } = Reflect.get(globalThis, 'WebAssembly') as {
    readonly Module: new (bytes: Uint8Array) => object
  }
  return new Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))
}

let nameless: unknown
void new Promise((resolve) => (nameless = resolve))

class Secret {
  readonly #key = 1
  get key(): number {
    return this.#key
  }
}

function takesThis(this: unknown): unknown {
  return this
}

function* generate(): Generator<number> {
  yield 1
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
  test(`${name} is refused, with the path to it and an alternative`, () => {
    const value = make()
    assert.match(refusalOf(value).message, message)
    const inner = refusalOf({ options: [0, value] })
    assert.match(inner.message, message)
    assert.deepEqual(inner.path.slice(0, 2), ['options', '[1]'])
    assert.ok(inner.message.startsWith('options -> [1]'), inner.message)
  })
}

test('the path leads through maps, sets, errors, odd keys, accessors and deep lists', () => {
  const promise = Promise.resolve()
  const pathOf = (value: unknown): string => refusalOf(value).path.join(' ')
  assert.equal(pathOf(new Map([[1, { a: promise }]])), 'value 0 a')
  assert.equal(pathOf(new Map([[[promise], 1]])), 'key 0 [0]')
  assert.equal(pathOf(new Set([1, promise])), 'member 1')
  assert.equal(pathOf(new Error('x', { cause: { promise } })), 'cause promise')
  assert.equal(pathOf({ 'b c': [[], [promise]] }), '["b c"] [1] [0]')
  assert.equal(pathOf({ [Symbol('s')]: promise }), '[Symbol(s)]')
  assert.equal(pathOf(Object.assign([1], { extra: promise })), 'extra')
  assert.equal(pathOf(Object.create({ inherited: promise })), '[[Prototype]] inherited')
  assert.equal(pathOf(takesThis.bind({ promise })), 'bound takesThis bound this promise')
})

test('the path to a value that a function captured begins with its name', () => {
  const sockets = [new Socket()]
  const open = (): unknown => sockets
  const task = (): unknown => open()
  const captured = 'sockets (captured at refusal.test.ts:LINE)'
  const path = refusalOf(task).path.map((step) => step.replace(/[jt]s:\d+/, 'ts:LINE'))
  assert.deepEqual(path, ['task', 'open', captured, '[0]'])
  const inner = refusalOf({ list: [task] }).path.map((step) => step.replace(/[jt]s:\d+/, 'ts:LINE'))
  assert.deepEqual(inner, ['list', '[0]', 'open', captured, '[0]'])
  const nameless = refusalOf(
    (
      () => () =>
        sockets
    )(),
  ).path
  assert.equal(nameless[0], 'the function')
})

test('the path to a value inside a class goes through the class', () => {
  class Pool {
    static sockets: unknown[] = []
    size = Pool.sockets.length
  }
  const pool = new Pool()
  Pool.sockets.push(new Socket())
  assert.deepEqual(refusalOf({ pool }).path, ['pool', 'class Pool', 'sockets', '[0]'])
})

test('an error that throws when it is read is named, with the thrown error as the cause', () => {
  const cause = new TypeError('no')
  class Odd extends Error {
    static {
      Object.defineProperty(Odd.prototype, 'stack', {
        get: () => {
          throw cause
        },
      })
    }
  }
  const problem = new Odd('x')
  Reflect.deleteProperty(problem, 'stack')
  const error = refusalOf({ problem })
  assert.deepEqual(error.path, ['problem', 'stack'])
  assert.match(error.message, /TypeError: no/)
  assert.equal(error.cause, cause)
})

test('the serializer works after a refusal', () => {
  refusalOf({ a: [1], b: Promise.resolve() })
  const bytes = defaultSerializer.serialize({ a: [1] })
  assert.deepEqual(defaultSerializer.deserialize(bytes), { a: [1] })
})

test('a prefix puts the path of a caller in front', () => {
  const error = withPathPrefix(refusalOf({ callback: new WeakRef({}) }), ['argument 1', 'options'])
  assert.deepEqual(error.path, ['argument 1', 'options', 'callback'])
  assert.match(error.message, /^argument 1 -> options -> callback: a WeakRef cannot travel/)
  const bare = withPathPrefix(refusalOf(new WeakRef({})), ['argument 2'])
  assert.match(bare.message, /^argument 2: a WeakRef cannot travel/)
})

test('a prefix makes a SerializeError of any error of a serializer', () => {
  const cause = new RangeError('too big')
  const error = withPathPrefix(cause, ['argument 1'])
  assert.ok(error instanceof SerializeError)
  assert.equal(error.cause, cause)
  assert.match(error.message, /^argument 1: .*too big/)
  assert.ok(withPathPrefix(Object.create(null), []) instanceof SerializeError)
})

describe('a method of an object literal that uses `super`', () => {
  const parent = { valueOf: (): string => 'b' }

  test('is refused with what to do instead', () => {
    const value = {
      __proto__: parent,
      greet(): string {
        // oxlint-disable-next-line no-unsafe-member-access -- what an object inherits is not typed
        return `${(super.valueOf as () => string)()}o`
      },
    }
    const { message } = refusalOf(value)
    assert.match(message, /uses `super`.*create that inside the function, or write a class instead/)
  })

  test('travels if the function creates the object', () => {
    const make = (): string => {
      const value = Object.setPrototypeOf(
        {
          greet(): string {
            // oxlint-disable-next-line no-unsafe-member-access -- what an object inherits is not typed
            return `${(super.valueOf as () => string)()}o`
          },
        },
        parent,
      ) as { readonly greet: () => string }
      return value.greet()
    }
    assert.equal(Reflect.apply(new TwoSides().send(make), undefined, []), 'bo')
  })

  test('travels as a method of a class', () => {
    class Parent {
      greet(): string {
        return 'b'
      }
    }
    class Child extends Parent {
      override greet(): string {
        return `${super.greet()}o`
      }
    }
    const greet: unknown = Reflect.get(Child.prototype, 'greet')
    assert.match(refusalOf(greet).message, /pass an instance of its class/)
    assert.equal(new TwoSides().send(new Child()).greet(), 'bo')
  })
})

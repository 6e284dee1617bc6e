// oxlint-disable typescript/unbound-method -- methods without their object are what is tested

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { runInThisContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { DeserializeError, SerializeError } from '../base/errors.js'
import { defaultSerializer } from './default-serializer.js'

function roundTrip<F>(fn: F): F {
  return defaultSerializer.deserialize(Buffer.from(defaultSerializer.serialize(fn))) as F
}

/** A function that the text makes in a sloppy script, as in a CommonJS file. */
function sloppy<F>(text: string): F {
  return runInThisContext(`(${text})`) as F
}

function factorial(n: number): number {
  return n < 2 ? 1 : n * factorial(n - 1)
}

const object = {
  fetch(text: string): string {
    return `${typeof fetch}:${text}`
  },
  async later(x: number): Promise<number> {
    return (await Promise.resolve(x)) + 1
  },
  *count(): Generator<number> {
    yield 1
    yield 2
  },
  async *countLater(): AsyncGenerator<number> {
    yield await Promise.resolve(1)
  },
  'a name, with (signs)'(): number {
    return 1
  },
  [Symbol.iterator](): string {
    return 'iterator'
  },
  async [`computed`](): Promise<number> {
    return Promise.resolve(7)
  },
  42: () => 42,
  get(): string {
    return 'get'
  },
  async(): string {
    return 'async'
  },
  class(): string {
    return 'class'
  },
  function(): string {
    return 'function'
  },
  if(): string {
    return 'if'
  },
  get size(): number {
    return 3
  },
}

class Base {
  inherited(): string {
    return 'base'
  }
}

class Statics extends Base {
  static twice(x: number): number {
    return x * 2
  }
  static async /* a comment */ later(x: number): Promise<number> {
    return Promise.resolve(x)
  }
  static #secret(x: number): number {
    return x
  }
  static readonly revealed = Statics.#secret
  ordinary(x: number): number {
    return x + 1
  }
  override inherited(): string {
    return super.inherited()
  }
}

test('functions of every kind work from their text', async () => {
  assert.equal(roundTrip((x: number) => x + 1)(1), 2)
  assert.deepEqual(roundTrip(() => ({ a: 1 }))(), { a: 1 })
  assert.equal(roundTrip(factorial)(5), 120)
  assert.equal(
    roundTrip(function (x: number) {
      return x
    })(3),
    3,
  )
  assert.equal(await roundTrip(async (x: number) => Promise.resolve(x))(4), 4)
  assert.equal(roundTrip((x: number, y = x, ...rest: number[]) => y + rest.length)(1), 1)
  assert.equal(await roundTrip(object.later)(1), 2)
  assert.deepEqual([...roundTrip(object.count)()], [1, 2])
  assert.deepEqual(await roundTrip(object.countLater)().next(), { value: 1, done: false })
  assert.equal(roundTrip(Statics.twice)(4), 8)
  assert.equal(await roundTrip(Statics.later)(4), 4)
  assert.equal(roundTrip(Statics.revealed)(5), 5)
  assert.equal(roundTrip(Statics.prototype.ordinary)(5), 6)
})

test('methods work whatever they are called', async () => {
  assert.equal(roundTrip(object['a name, with (signs)'])(), 1)
  assert.equal(roundTrip(object[Symbol.iterator])(), 'iterator')
  assert.equal(await roundTrip(object['computed'])?.(), 7)
  assert.equal(roundTrip(object[42])(), 42)
  for (const name of ['get', 'async', 'class', 'function', 'if'] as const) {
    assert.equal(roundTrip(object[name])(), name)
  }
  const { get } = Object.getOwnPropertyDescriptor(object, 'size') ?? {}
  assert.equal(roundTrip(get)?.(), 3)
})

test('a method does not see itself under its name', () => {
  assert.equal(roundTrip(object.fetch)('a'), 'function:a')
})

test('names are kept', () => {
  const named = (): number => 1
  assert.equal(roundTrip(named).name, 'named')
  assert.equal(roundTrip(object.fetch).name, 'fetch')
  assert.equal(roundTrip(object[Symbol.iterator]).name, '[Symbol.iterator]')
  assert.equal(
    roundTrip(
      (
        () => () =>
          1
      )(),
    ).name,
    '',
  )
})

test('functions of modules are strict', () => {
  assert.equal(
    roundTrip(function (this: unknown) {
      return this
    })(),
    undefined,
  )
  assert.throws(
    roundTrip(() => {
      const frozen = Object.freeze({ a: 1 }) as { a: number }
      frozen.a = 2
    }),
    TypeError,
  )
})

test('sloppy functions stay sloppy where they show it or where nothing else compiles', () => {
  const self = roundTrip(sloppy<() => unknown>('function () { return this }'))
  assert.equal(self(), globalThis)
  const withs = roundTrip(sloppy<(o: object) => unknown>('(o) => { with (o) { return a } }'))
  assert.equal(withs({ a: 1 }), 1)
  assert.equal(roundTrip(sloppy<() => unknown>('() => 0o7 + 010'))(), 15)
})

test('a function can import what Node has and what lies near the working directory', async () => {
  const exists = roundTrip(async () => {
    const { existsSync } = await import('node:fs')
    const { default: fastCheck } = await import('fast-check')
    return existsSync('/') && typeof fastCheck.assert === 'function'
  })
  assert.equal(await exists(), true)
})

test('Node does not warn of what it uses for imports', async () => {
  const warnings: Error[] = []
  const listen = (warning: Error): void => void warnings.push(warning)
  process.on('warning', listen)
  await roundTrip(async () => import('node:os'))()
  await new Promise(setImmediate)
  process.off('warning', listen)
  assert.deepEqual(warnings, [])
})

test('functions inside functions keep their names under esbuild', () => {
  const text = '() => { const f = __name((x) => x, "f"); return f.name + f(1) }'
  assert.equal(roundTrip(sloppy<() => unknown>(text))(), 'f1')
})

test('the stack shows the task and the line in the text of the function', () => {
  const fail = roundTrip(function failing() {
    throw new Error('here')
  })
  assert.throws(fail, (error: Error) =>
    /at failing \(<task failing>:\d+:\d+\)/.test(error.stack ?? ''),
  )
})

test('functions that every Node has travel by name, to the very function', () => {
  const natives = [Math.sqrt, parseInt, JSON.stringify, Object.keys, Number.isInteger, String.raw]
  const others = [Array.from, BigInt.asIntN, Date.now, Symbol.for, Buffer.from, URL.canParse]
  const nodes = [setTimeout, structuredClone, fetch, process.cwd, process.hrtime, basename]
  const modules = [readFileSync, gzipSync, randomBytes, createHash]
  for (const fn of [...natives, ...others, ...nodes, ...modules, Boolean, String, Date]) {
    assert.equal(roundTrip(fn), fn)
    assert.ok(defaultSerializer.serialize(fn).byteLength < 60)
  }
})

test('the same function gives the same bytes every time', () => {
  const fn = (): number => 1
  assert.equal(defaultSerializer.serialize(fn), defaultSerializer.serialize(fn))
  const alone = defaultSerializer.serialize(fn)
  defaultSerializer.serialize({ fn })
  assert.equal(defaultSerializer.serialize(fn), alone)
})

test('a function whose text means nothing elsewhere is refused', () => {
  const url = (): string => import.meta.url
  assert.throws(
    () => defaultSerializer.serialize(url),
    (error: unknown) => {
      return error instanceof SerializeError && /function url .*import\.meta/.test(error.message)
    },
  )
  assert.throws(
    () => defaultSerializer.serialize(Statics.prototype.inherited),
    (error: unknown) => {
      return error instanceof SerializeError && /'super'/.test(error.message)
    },
  )
})

test('a function that this Node does not have is a DeserializeError that names it', () => {
  const bytes = Buffer.from(defaultSerializer.serialize(Math.sqrt))
  bytes.write('sqxx', bytes.length - 4, 'latin1')
  assert.throws(
    () => defaultSerializer.deserialize(bytes),
    (error: unknown) => {
      return error instanceof DeserializeError && error.message.includes('Math.sqxx')
    },
  )
})

test('what a function uses from outside is missing when it is called, not before', () => {
  const outside = 1
  const fn = roundTrip(() => outside)
  assert.throws(fn, ReferenceError)
})

test('functions of the same name and text are the same bytes, others are not', () => {
  const make = (): unknown[] => [1, 2].map(() => (x: number) => x + 1)
  const [first, second] = make()
  assert.equal(defaultSerializer.serialize(first), defaultSerializer.serialize(second))
  const named = Object.defineProperty((x: number) => x + 1, 'name', { value: 'other' })
  assert.notEqual(defaultSerializer.serialize(first), defaultSerializer.serialize(named))
  assert.notEqual(defaultSerializer.serialize(Math.sin), defaultSerializer.serialize(Math.cos))
})

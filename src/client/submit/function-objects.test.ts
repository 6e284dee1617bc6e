import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { SerializeError } from '../../base/errors.js'
import { identity, objectId } from '../../base/ids.js'
import type { FunctionSerializer, ShippedFunction } from '../../serializer/task-codec.js'
import { FunctionObjects } from './function-objects.js'
import { ObjectIds } from '../ids.js'

const ids = new ObjectIds(identity('me'))

/** Serializes functions as their text, or as configured. */
class FakeSerializer implements FunctionSerializer {
  readonly known = new Map<unknown, ShippedFunction>()

  serializeFunction(fn: unknown): ShippedFunction {
    const shipped = this.known.get(fn) ?? { bytes: Buffer.from(String(fn)), attachments: [] }
    this.known.set(fn, shipped)
    return shipped
  }

  deserializeFunction(): never {
    return assert.fail()
  }

  attachmentCount(): number {
    return assert.fail()
  }
}

function text(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? []).toString()
}

/** The next process warning. */
async function nextWarning(): Promise<Error & { readonly code?: string }> {
  const [warning] = (await once(process, 'warning')) as [Error]
  return warning
}

test('the same bytes are the same object', () => {
  const functions = new FunctionObjects(new FakeSerializer(), ids)
  const fn = (): number => 1
  const object = functions.of(fn)
  assert.equal(functions.of(fn).function, object.function)
  assert.equal(object.function.id, ids.of(Buffer.from(String(fn))))
  assert.equal(text(object.function.name), 'fn')
  assert.deepEqual(object.attachments, [])
})

test('a function that has changed becomes another object', () => {
  const serializer = new FakeSerializer()
  const functions = new FunctionObjects(serializer, ids)
  const fn = (): number => 1
  const before = functions.of(fn)
  serializer.known.set(fn, { bytes: Buffer.from('changed'), attachments: [] })
  assert.notEqual(functions.of(fn).function.id, before.function.id)
})

test('attachments are objects by their content, whichever function has them', () => {
  const serializer = new FakeSerializer()
  const functions = new FunctionObjects(serializer, ids)
  const [one, other] = [(): number => 1, (): number => 2]
  const table = Buffer.from('table')
  serializer.known.set(one, { bytes: Buffer.from('one'), attachments: [table] })
  const attachments = [Buffer.from('list'), Buffer.from('table')]
  serializer.known.set(other, { bytes: Buffer.from('other'), attachments })
  const [first, second] = [functions.of(one), functions.of(other)]
  assert.deepEqual(
    second.attachments.map(({ content }) => text(content as Uint8Array)),
    ['list', 'table'],
  )
  assert.equal(second.attachments[1]?.id, first.attachments[0]?.id)
  assert.equal(first.attachments[0]?.id, ids.of(table))
  assert.match(text(first.attachments[0]?.name), /^<obj [0-9a-f]{6}>$/)
  assert.equal(functions.of(one).attachments[0], first.attachments[0])
  assert.equal(functions.of(one).function, first.function)
})

test('the same bytes with other attachments are another object', () => {
  const serializer = new FakeSerializer()
  const functions = new FunctionObjects(serializer, ids)
  const fn = (): number => 1
  const bytes = Buffer.from('fn')
  const objects = [['a'], ['b'], ['a', 'b'], ['b', 'a'], []].map((names) => {
    const attachments = names.map((name) => Buffer.from(name))
    serializer.known.set(fn, { bytes, attachments })
    return functions.of(fn).function.id
  })
  assert.equal(new Set(objects).size, objects.length)
  serializer.known.set(fn, { bytes, attachments: [Buffer.from('b')] })
  assert.equal(functions.of(fn).function.id, objects[1])
})

test('a function without a usable name is named after its id', () => {
  const functions = new FunctionObjects(new FakeSerializer(), ids)
  const strange = Object.defineProperty(() => 1, 'name', { value: 5 })
  const hostile = Object.defineProperty(() => 2, 'name', {
    get: () => {
      throw new Error('no name')
    },
  })
  const bare = (
    () => () =>
      1
  )()
  for (const fn of [bare, strange, hostile]) {
    assert.match(text(functions.of(fn).function.name), /^<func [0-9a-f]{6}>$/)
  }
})

test('the path of a refusal begins with the name of the function, once', () => {
  const serializer = new FakeSerializer()
  const functions = new FunctionObjects(serializer, ids)
  const refuse = (error: Error): void => {
    serializer.serializeFunction = () => {
      throw error
    }
  }
  const pathOf = (fn: () => unknown): readonly string[] => {
    try {
      functions.of(fn)
    } catch (error) {
      assert.ok(error instanceof SerializeError)
      assert.ok(error.message.startsWith(error.path.join(' -> ')), error.message)
      return error.path
    }
    return assert.fail('it was serialized')
  }
  const task = (): void => {}
  refuse(
    new SerializeError('db (captured at app.js:3): no', { path: ['db (captured at app.js:3)'] }),
  )
  assert.deepEqual(pathOf(task), ['task', 'db (captured at app.js:3)'])
  refuse(new SerializeError('task -> db: no', { path: ['task', 'db'] }))
  assert.deepEqual(pathOf(task), ['task', 'db'])
  refuse(new SerializeError('no'))
  assert.deepEqual(pathOf(task), ['task'])
  refuse(new TypeError('not even a refusal'))
  assert.deepEqual(pathOf(task), ['task'])
  assert.deepEqual(
    pathOf(
      (
        () => () =>
          1
      )(),
    ),
    ['the function'],
  )
})

test('a function that carries more than 1 MiB causes one warning, which includes its attachments', async () => {
  const serializer = new FakeSerializer()
  const functions = new FunctionObjects(serializer, ids)
  const small = (): number => 1
  const heavy = (): number => 2
  const other = (): number => 3
  const carry = (fn: unknown, bytes: number, attached: number): void => {
    const attachments = [new Uint8Array(attached)]
    serializer.known.set(fn, { bytes: new Uint8Array(bytes), attachments })
  }
  const warned = nextWarning()
  carry(small, 2 ** 19, 2 ** 19)
  functions.of(small)
  carry(heavy, 10, 3 * 2 ** 20)
  functions.of(heavy)
  const { code, name, message } = await warned
  assert.deepEqual({ code, name }, { code: 'SCALER_LARGE_FUNCTION', name: 'ScalerWarning' })
  assert.match(message, /^heavy sends 3\.0 MiB .*argument/)
  const next = nextWarning()
  carry(heavy, 11, 3 * 2 ** 20)
  functions.of(heavy)
  carry(other, 2 ** 21, 1)
  functions.of(other)
  assert.match((await next).message, /^other sends 2\.0 MiB/)
})

test('ids of attachments are part of the id of a function', () => {
  const bytes = Buffer.from('f')
  assert.equal(ids.of(bytes, []), ids.of(bytes))
  assert.notEqual(ids.of(bytes, [objectId('x')]), ids.of(bytes))
})

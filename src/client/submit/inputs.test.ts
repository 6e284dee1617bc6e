// Large memory in the inputs of a map: compared once if nothing can have changed it; any code that
// runs in between may have.

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { captureSite } from '../../runtime/call-site.js'
import { testClient } from '../memory-link.test.kit.js'
import { InputSources } from './inputs.js'

const LENGTH = 100_000
/** Not looked at first, so that only a comparison shows a change. */
const AT = 1_001

/** Bytes, and what a getter, a trap or an iterator does: it changes them. */
interface Changing {
  readonly bytes: Uint8Array
  readonly change: () => void
}

const changing = (): Changing => {
  const bytes = new Uint8Array(LENGTH)
  return { bytes, change: () => (bytes[AT] = (bytes[AT] ?? 0) + 1) }
}

/** How often large content is compared while `run` runs. */
function comparisons(run: () => void): number {
  const equals = mock.method(Buffer.prototype as Buffer, 'equals')
  try {
    run()
  } finally {
    equals.mock.restore()
  }
  const isLarge = ({ arguments: [other] }: { arguments: Uint8Array[] }): boolean =>
    (other?.byteLength ?? 0) >= LENGTH
  return equals.mock.calls.filter(isLarge).length
}

/** The inputs of a map, as they are read in one pass. */
function passOf(inputs: readonly unknown[], isSpread: boolean): () => readonly unknown[] {
  const { sources } = testClient().parts
  const read = new InputSources({ inputs, isSpread, sources, site: captureSite() })
  return () => {
    const all = inputs.map((input, index) => read.of(input, index, undefined))
    read.endPass()
    return all
  }
}

const [one, other] = [new Uint8Array(LENGTH), new ArrayBuffer(LENGTH)]

for (const [what, inputs, isSpread, count] of [
  ['inputs', [one, other, one, other], false, 2],
  ['lists of arguments', [1, 2, 3].map((n) => [n, one, other, 'text']), true, 2],
  ['lists in an array with holes', Array.from({ length: 3 }, (_, n) => [one, n]), true, 1],
] as const) {
  test(`memory in several ${what} is compared once in a pass`, () => {
    const pass = passOf(inputs, isSpread)
    let [first, second]: (readonly unknown[])[] = []
    assert.equal(
      comparisons(() => (first = pass())),
      0,
    )
    assert.equal(
      comparisons(() => (second = pass())),
      count,
    )
    assert.deepEqual(second, first)
  })
}

test('memory that changes between two passes is noticed', () => {
  const { bytes, change } = changing()
  const pass = passOf([bytes, bytes], false)
  const first = pass()
  change()
  const second = pass()
  assert.deepEqual(first[0], first[1])
  assert.deepEqual(second[0], second[1])
  assert.notDeepEqual(second, first)
})

const valueOf = (bytes: Uint8Array): number => bytes[1_001] ?? -1

class Arguments extends Array<unknown> {
  static change: () => void = () => {};
  override [Symbol.iterator](): ArrayIterator<unknown> {
    Arguments.change()
    return super[Symbol.iterator]()
  }
}

/** Inputs with three lists of arguments; taking the second one changes the bytes. */
const lists: Record<string, (changing: Changing) => Iterable<unknown>> = {
  *'a generator'({ bytes, change }) {
    yield [bytes]
    change()
    yield [bytes]
    yield [bytes]
  },
  'a getter of the list of inputs': ({ bytes, change }) => {
    const get = (): unknown => (change(), [bytes])
    return Object.defineProperty([[bytes], [bytes], [bytes]], 1, { get })
  },
  'a getter of a list of arguments': ({ bytes, change }) => {
    const get = (): unknown => (change(), bytes)
    return [[bytes], Object.defineProperty([bytes], 0, { get }), [bytes]]
  },
  'a proxy of the list of inputs': ({ bytes, change }) => {
    const get = (target: unknown[], key: string | symbol): unknown => {
      if (key === '1') change()
      return Reflect.get(target, key)
    }
    return new Proxy([[bytes], [bytes], [bytes]], { get })
  },
  'a proxy of a list of arguments': ({ bytes, change }) => {
    const get = (target: unknown[], key: string | symbol): unknown => {
      if (key === '0') change()
      return Reflect.get(target, key)
    }
    return [[bytes], new Proxy([bytes], { get }), [bytes]]
  },
  'an iterator of a list of arguments': ({ bytes, change }) => {
    Arguments.change = change
    return [[bytes], Arguments.of(bytes), [bytes]]
  },
}

for (const [what, inputsOf] of Object.entries(lists)) {
  test(`memory that ${what} changes is noticed`, async () => {
    const { submitter, scheduler } = testClient()
    const { bytes, change } = changing()
    const values = await submitter.map(valueOf, inputsOf({ bytes, change }), {}, true)
    // A list may be read twice: its task may be too large for a run.
    const last = bytes[AT]
    assert(last === 1 || last === 2)
    assert.deepEqual(values, [0, last, last])
    assert.deepEqual(scheduler.faults, [])
  })
}

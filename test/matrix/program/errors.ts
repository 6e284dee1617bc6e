// Errors of tasks, as the client receives them.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { Case } from '../kit/case.js'

class TooHot extends RangeError {
  override readonly name = 'TooHot'
  readonly degrees: number
  constructor(degrees: number, options?: ErrorOptions) {
    super(`${degrees} degrees`, options)
    this.degrees = degrees
  }
}

class Secretive extends Error {
  readonly #secret: string
  constructor(message: string, secret: string) {
    super(message)
    this.#secret = secret
  }
  reveal(): string {
    return this.#secret
  }
}

function measure(degrees: number): number {
  if (degrees > 100) throw new TooHot(degrees, { cause: { sensor: 3 } })
  return degrees
}

function fails(): never {
  throw new TypeError('plain failure')
}

/** Errors. */
export const cases: readonly Case[] = [
  {
    name: 'a thrown built-in error',
    fn: () => fails(),
    throws(thrown) {
      assert.ok(thrown instanceof TypeError)
      assert.equal(thrown.message, 'plain failure')
    },
    isSmoke: true,
  },
  {
    name: 'a thrown error of a captured class',
    fn: measure,
    args: [200],
    throws(thrown) {
      assert.ok(thrown instanceof TooHot, `${String(thrown)} is no TooHot`)
      assert.deepEqual(
        [thrown.name, thrown.message, thrown.degrees, thrown.cause],
        ['TooHot', '200 degrees', 200, { sensor: 3 }],
      )
    },
  },
  {
    name: 'a rejection with several errors',
    fn: () => Promise.any([Promise.reject(new Error('one')), Promise.reject(new TooHot(1))]),
    throws(thrown) {
      assert.ok(thrown instanceof AggregateError)
      assert.ok(thrown.errors[1] instanceof TooHot)
    },
  },
  {
    name: 'thrown values that are no errors',
    fn() {
      throw { reason: 'because' }
    },
    throws: (thrown) => assert.deepEqual(thrown, { reason: 'because' }),
  },
  {
    name: 'an error of Node',
    fn: () => readFile('/does/not/exist'),
    throws: (thrown) => assert.equal((thrown as NodeJS.ErrnoException).code, 'ENOENT'),
  },
  {
    name: 'an error with private names',
    fn() {
      throw new Secretive('what happened', 'secret')
    },
    throws: (thrown) => assert.equal((thrown as Error).message, 'what happened'),
  },
  {
    name: "the stack names the user's file",
    fn: () => measure(101),
    throws(thrown, { folder }) {
      assert.ok(thrown instanceof Error)
      assert.ok(thrown.stack?.includes(folder), thrown.stack)
    },
  },
]

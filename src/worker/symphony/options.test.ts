import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { test } from 'node:test'
import { ConfigError } from '../../base/errors.js'
import { checkSymphonyOptions } from './options.js'

test('only the base concurrency has no default in code', () => {
  const { baseConcurrency, name, runtimes, python, agent } = checkSymphonyOptions({
    baseConcurrency: 4,
  })
  assert.deepEqual(
    { baseConcurrency, name, runtimes, python },
    {
      baseConcurrency: 4,
      name: hostname().split('.', 1)[0],
      runtimes: ['python'],
      python: 'python3',
    },
  )
  assert.equal(agent.heartbeatIntervalMs, 2_000)
})

test('runtimes are taken once each', () => {
  const runtimes = ['node', 'python', 'node']
  assert.deepEqual(checkSymphonyOptions({ baseConcurrency: 1, runtimes }).runtimes, [
    'python',
    'node',
  ])
})

const WRONG: readonly (readonly [options: object, message: RegExp])[] = [
  [{ baseConcurrency: undefined }, /^option baseConcurrency: expected a number, got nothing$/],
  [{ baseConcurrency: 0 }, /^option baseConcurrency: expected a whole number from 1 to 100000/],
  [{ baseConcurrency: 100_001 }, /^option baseConcurrency: expected .*, got 100001$/],
  [{ baseConcurrency: 1.5 }, /^option baseConcurrency: .*, got 1.5$/],
  [{ workerName: '' }, /^option workerName: expected 1 to 128 characters/],
  [{ workerName: 'a|b' }, /^option workerName: .*, got "a\|b"$/],
  [{ workerName: 'x'.repeat(129) }, /^option workerName: /],
  [{ runtimes: [] }, /^option runtimes: expected python or node, or both, got nothing$/],
  [{ runtimes: ['node', 'java'] }, /^option runtimes: .*, got "java"$/],
  [{ runtimes: 'python' }, /^option runtimes: /],
  [{ python: '' }, /^option python: expected a program, got ""$/],
  [{ heartbeatIntervalMs: 1 }, /^option heartbeatIntervalMs: /],
  [{ workers: 2 }, /^unknown symphony cluster option workers/],
]

for (const [options, message] of WRONG) {
  test(`refused: ${JSON.stringify(options)}`, () => {
    const given = { baseConcurrency: 1, ...options }
    assert.throws(
      () => checkSymphonyOptions(given),
      (error: unknown) => {
        assert.ok(error instanceof ConfigError)
        assert.match(error.message, message)
        return true
      },
    )
  })
}

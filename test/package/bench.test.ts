import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROOT, startProgram } from './command.js'

test('the benchmark of every part runs and gives a figure', async (t) => {
  const program = `${ROOT}build/bench/main.js`
  const args = ['--workers', '1', '--tasks', '500', '--repetitions', '1', '--json']
  const only = ['map', 'submit', 'latency', 'limit', 'piscina', 'workerpool', 'start-up']
  const bench = startProgram(t, [program, ...args, '--only', ...only])
  const { code, stdout } = await bench.ended
  assert.equal(code, 0)
  const { results } = JSON.parse(stdout) as {
    readonly results: readonly { readonly name: string; readonly median: number | null }[]
  }
  assert.equal(results.length, 23 + 6, 'figures and ratios')
  for (const { name, median } of results) {
    const isOptional = name.startsWith('scheduler ') && process.platform !== 'linux'
    // The difference of two times may be negative where other programs run.
    const isFigure = median !== null && (median >= 0 || name.endsWith('over a bare Node'))
    assert.ok(isOptional || isFigure, name)
  }
})

test('an unknown benchmark is exit code 2', async (t) => {
  const bench = startProgram(t, [`${ROOT}build/bench/main.js`, '--only', 'nothing'])
  assert.equal((await bench.ended).code, 2)
})

test('another revision that does not exist is exit code 2', async (t) => {
  const bench = startProgram(t, [`${ROOT}build/bench/main.js`, '--compare', 'no-such-revision'])
  const { code, stderr } = await bench.ended
  assert.equal(code, 2)
  assert.match(stderr, /--compare: there is no revision "no-such-revision"/)
})

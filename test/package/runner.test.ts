// The package in the test runners of its users, which run tests in contexts and with a `require` of
// their own, and change functions for coverage.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ROOT } from './command.js'
import { PackedProject, type Outcome } from './packed-project.kit.js'
import { MOCKS, PLAIN_TEST, runnerFiles } from './runner-program.kit.js'

const PEERS = join(ROOT, '.peers/runners')
const skip = existsSync(join(PEERS, 'made-of')) ? false : 'no test runners: node scripts/peers.mjs'
const JEST = join(PEERS, 'node_modules/jest/bin/jest.js')
const VITEST = join(PEERS, 'node_modules/vitest/vitest.mjs')
const BABEL = join(PEERS, 'node_modules/@babel/plugin-transform-modules-commonjs')
const TIMEOUT = '--testTimeout=120000'
/** Two files: the second runs after the first has left its instance of everything. */
const TWO = ['first.test.js', 'second.test.js']

function assertPassed({ code, output }: Outcome): void {
  assert.equal(code, 0, output)
}

async function jest(
  t: TestContext,
  files: Readonly<Record<string, string>>,
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<Outcome> {
  const project = await PackedProject.make(t, files)
  for (const name of ['zod', 'pino']) await project.link(name, join(PEERS, 'node_modules', name))
  return project.node(
    [JEST, '--runInBand', '--no-cache', '--cacheDirectory=cache', TIMEOUT, ...args],
    env,
  )
}

test('Jest with its defaults', { skip }, async (t) => {
  assertPassed(await jest(t, { 'package.json': '{}', 'plain.test.js': PLAIN_TEST }, []))
})

const BABEL_FILES = {
  ...runnerFiles(TWO),
  'package.json': '{}',
  'babel.config.cjs': `module.exports = { plugins: [${JSON.stringify(BABEL)}] }`,
}

test('Jest with imports that Babel compiles to CommonJS', { skip }, async (t) => {
  assertPassed(await jest(t, BABEL_FILES, []))
})

for (const provider of ['babel', 'v8']) {
  test(`Jest with coverage by ${provider}`, { skip }, async (t) => {
    const outcome = await jest(t, BABEL_FILES, ['--coverage', `--coverageProvider=${provider}`])
    assertPassed(outcome)
    assert.match(outcome.output, /own\.js/)
  })
}

test('Jest with ES modules', { skip }, async (t) => {
  const files = { ...runnerFiles(TWO), 'package.json': '{"type":"module","jest":{"transform":{}}}' }
  assertPassed(await jest(t, files, [], { NODE_OPTIONS: '--experimental-vm-modules' }))
})

async function vitest(t: TestContext, args: readonly string[]): Promise<Outcome> {
  const project = await PackedProject.make(t, {
    ...runnerFiles(TWO),
    ...MOCKS,
    'package.json': '{"type":"module"}',
    'vitest.config.mjs': 'export default { test: { globals: true } }',
  })
  const linked = ['vitest', '@vitest', 'zod', 'pino']
  for (const name of linked) await project.link(name, join(PEERS, 'node_modules', name))
  const env = { CI: '1', NO_COLOR: '1' }
  return project.node([VITEST, 'run', '--maxWorkers=1', TIMEOUT, ...args], env)
}

for (const pool of ['forks', 'threads', 'vmThreads', 'vmForks']) {
  test(`vitest, pool ${pool}`, { skip }, async (t) => {
    assertPassed(await vitest(t, ['--pool', pool]))
  })
}

for (const provider of ['v8', 'istanbul']) {
  test(`vitest with coverage by ${provider}`, { skip }, async (t) => {
    const coverage = ['--coverage.enabled', `--coverage.provider=${provider}`]
    const outcome = await vitest(t, ['--pool', 'forks', ...coverage])
    assertPassed(outcome)
    assert.match(outcome.output, /own\.js/)
  })
}

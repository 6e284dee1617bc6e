// The origin of errors of tasks: this file as it was written, not as it was compiled.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client, ScalerError } from 'scaler-ts'

const SOURCE = fileURLToPath(
  new URL('../../../test/integration/error-frames.test.ts', import.meta.url),
)

/** Where programs find this package by its name. */
const FOLDER = fileURLToPath(new URL('.', import.meta.url))

interface Marked {
  readonly mark: string
}

/** The line of this file, from 1, that ends with `// mark:` and the name. */
async function lineOf(name: string): Promise<number> {
  const lines = (await readFile(SOURCE, 'utf8')).split('\n')
  return lines.findIndex((line) => line.endsWith(`// mark:${name}`)) + 1
}

/** Name, file and line of the frames that came from the worker. */
async function remoteFrames(promise: PromiseLike<unknown>): Promise<string[]> {
  const error = await promise.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason as Error,
  )
  const remote = (error.stack ?? '').split('--- on the worker ---\n')[1] ?? ''
  return remote.split('\n').map((line) => {
    const [, name = '', file = '', number = ''] =
      /^ {4}at (?:async )?(?:(\S+) )?\(?file:\/\/.*\/([^/]+):(\d+):\d+\)?$/.exec(line) ?? [line]
    return `${name} ${file}:${number}`
  })
}

function inner(input: Marked): never {
  type OnlyForTheCompiler = typeof input
  const error: Error & Partial<OnlyForTheCompiler> = new RangeError('no')
  throw Object.assign(error, input) // mark:inner
}

function outer(input: Marked): never {
  return inner(input) // mark:outer
}

async function later(input: Marked): Promise<never> {
  await Promise.resolve()
  return outer(input) // mark:later
}

test('the frames of a task have positions in the source', async () => {
  await using client = await Client.local({ workers: 1 })
  const [first, second, third] = await Promise.all(['inner', 'outer', 'later'].map(lineOf))
  const file = 'error-frames.test.ts'
  assert.deepEqual((await remoteFrames(client.submit(outer, { mark: 'x' }))).slice(1), [
    `outer ${file}:${second}`,
  ])
  const frames = await remoteFrames(client.submit(later, { mark: 'x' }))
  assert.deepEqual(frames.slice(1), [`outer ${file}:${second}`, `later ${file}:${third}`])
  // The error is created one line above the line that throws it.
  assert.equal(frames[0], `inner ${file}:${(first ?? 0) - 1}`)
})

test('refusals by this library begin with the line of the program that made the call', async () => {
  await using client = await Client.local({ workers: 1 })
  const refused = new WeakMap()
  const failures: readonly (() => unknown)[] = [
    () => client.submit(() => refused.has({})),
    () => client.submit((x: unknown) => x, refused),
    () => client.map((x: unknown) => x, [1, refused]),
    () => client.starmap((x: unknown) => x, [[1], [refused]]),
    () => client.sendObject(refused),
    () => client.get({ a: [(x: unknown) => x, refused] }, ['a']),
    () => client.submit(() => new Promise(() => {})).result({ timeoutMs: 1 }),
    // JavaScript programs may pass anything.
    () => client.submit(5 as never),
    () => client.map((x: unknown) => x, 5 as never),
    () => client.starmap((x: unknown) => x, [5] as never),
    () => client.get({ a: 1 }, 'a' as never),
    () => client.get(5 as never, ['a']),
    () => client.submit(() => 1).onProgress(5 as never),
  ]
  for (const [index, fail] of failures.entries()) {
    const error: unknown = await (async () => fail())().catch((reason: unknown) => reason)
    assert.ok(error instanceof ScalerError || error instanceof TypeError, String(error))
    const [, frame = ''] = (error.stack ?? '').split(/\n {4}at /)
    const [, at = ''] = /error-frames\.test\.js:(\d+)/.exec(frame) ?? []
    assert.notEqual(at, '', `${index}: ${error.stack}`)
  }
})

const UNCAUGHT: Readonly<Record<string, string>> = {
  'a task throws': `await client.submit(() => { throw new TypeError('no price') })`,
  'a class of the user is thrown': `await client.submit(() => { throw new (class Sad extends Error {})('no') })`,
  'an argument is refused': `await client.submit((x) => x, new WeakMap())`,
  'a processor dies': `await client.submit(() => process.exit(3))`,
  'a wait is over': `await client.submit(() => new Promise(() => {})).result({ timeoutMs: 1 })`,
  'a task is cancelled': `const f = client.submit(() => new Promise(() => {})); f.cancel(); await f`,
  'an option of a view is wrong': `client.with({ tiemoutMs: 1 })`,
  'an option of connect is wrong': `await Client.connect('tcp://127.0.0.1:1', { tiemoutMs: 1 })`,
  'an address is wrong': `new Client('127.0.0.1:1')`,
  'nobody is there': `await Client.connect('tcp://127.0.0.1:1', { timeoutMs: 1 })`,
  'an option of local is wrong': `await Client.local({ wrokers: 1 })`,
  'an option of a combo is wrong': `await SchedulerClusterCombo.start({ wrokers: 1 })`,
  'an option of a cluster is wrong': `await Cluster.start({ address: 'tcp://127.0.0.1:1', wrokers: 1 })`,
  'an option of a scheduler is wrong': `await Scheduler.start({ address: 'tcp:/x' })`,
  'no function is given': `client.submit(5)`,
  'keys are a text': `await client.get({ a: 1 }, 'a')`,
  'an input of a map is refused': `await client.map((x) => x, [new WeakMap()])`,
}

for (const [what, code] of Object.entries(UNCAUGHT)) {
  test(`an uncaught error does not begin with a line of the library: ${what}`, async () => {
    const program = `import { Client, Cluster, Scheduler, SchedulerClusterCombo } from 'scaler-ts'
      process.exitCode = 7
      ${code.includes('client.') ? 'const client = await Client.local({ workers: 1 })' : ''}
      ${code}`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], { cwd: FOLDER })
    const [stderr, [exitCode]] = await Promise.all([
      text(child.stderr),
      once(child, 'close') as Promise<[number]>,
    ])
    assert.equal(exitCode, 1, stderr)
    const [head = ''] = stderr.split(/\n\n/, 1)
    assert.doesNotMatch(head, /\/dist\//, stderr)
    assert.match(stderr, /^(?:[A-Z]\w*Error|Sad \[Error\]): /m)
  })
}

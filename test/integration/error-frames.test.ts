// Where errors of tasks say that they come from: this file as it was written, not as it was compiled.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Client } from 'scaler-ts'

const SOURCE = fileURLToPath(
  new URL('../../../test/integration/error-frames.test.ts', import.meta.url),
)

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

test('the frames of a task are those of the source', async () => {
  await using client = await Client.local({ workers: 1 })
  const [first, second, third] = await Promise.all(['inner', 'outer', 'later'].map(lineOf))
  const file = 'error-frames.test.ts'
  assert.deepEqual((await remoteFrames(client.submit(outer, { mark: 'x' }))).slice(1), [
    `outer ${file}:${second}`,
  ])
  const frames = await remoteFrames(client.submit(later, { mark: 'x' }))
  assert.deepEqual(frames.slice(1), [`outer ${file}:${second}`, `later ${file}:${third}`])
  // The error is made one line above the one that throws it.
  assert.equal(frames[0], `inner ${file}:${(first ?? 0) - 1}`)
})

// What V8 has compiled of the package is kept in a cache that nothing depends on.

import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ROOT, startProgram } from './command.js'

const IS_ROOT = process.getuid?.() === 0

/** An empty folder for the caches of a user. */
function newHome(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cache-'))
  t.after(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

/** Runs a program that loads the package, and requires that it works. */
async function runWith(
  t: TestContext,
  env: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<void> {
  const program = `
    const { Serializer, defaultSerializer } = require(${JSON.stringify(`${ROOT}dist/index.cjs`)})
    const twice = defaultSerializer.deserialize(defaultSerializer.serialize((x) => 2 * x))
    console.log(twice(21))`
  const ended = await startProgram(t, [...flags, '-e', program], env).ended
  assert.deepEqual(ended, { code: 0, signal: null, stdout: '42\n', stderr: '' })
}

function cacheIn(home: string): string {
  return join(home, 'scaler-ts')
}

/** When each file was written, by its name. */
function filesIn(home: string): Readonly<Record<string, number>> {
  const names = readdirSync(cacheIn(home)).sort()
  return Object.fromEntries(
    names.map((name) => [name, statSync(join(cacheIn(home), name)).mtimeMs]),
  )
}

test('a second process uses what the first has compiled', async (t) => {
  const home = newHome(t)
  await runWith(t, { XDG_CACHE_HOME: home })
  const first = filesIn(home)
  assert.ok(Object.keys(first).some((name) => /^client-v[\w.-]+-serializer\.cjs-/.test(name)))
  assert.ok(
    Object.keys(first).every((name) => /\.cjs-[\da-f]{40}$/.test(name)),
    'no drafts',
  )
  await runWith(t, { XDG_CACHE_HOME: home })
  assert.deepEqual(filesIn(home), first)
})

test('options of V8 have files of their own', async (t) => {
  const home = newHome(t)
  await runWith(t, { XDG_CACHE_HOME: home })
  const first = Object.keys(filesIn(home)).length
  await runWith(t, { XDG_CACHE_HOME: home }, ['--no-opt'])
  const second = filesIn(home)
  assert.equal(Object.keys(second).length, 2 * first)
  await runWith(t, { XDG_CACHE_HOME: home }, ['--no-opt'])
  assert.deepEqual(filesIn(home), second)
})

const DAMAGES: Readonly<Record<string, (path: string) => void>> = {
  'a file is empty': (path) => truncateSync(path, 0),
  'a file is cut off': (path) => truncateSync(path, 1_000),
  'a file is something else': (path) => writeFileSync(path, 'x'.repeat(5_000)),
  'a byte of a file has changed': (path) => {
    const bytes = readFileSync(path)
    bytes[bytes.length >> 1] = 255 - (bytes[bytes.length >> 1] ?? 0)
    writeFileSync(path, bytes)
  },
  'a file is a folder': (path) => {
    rmSync(path)
    mkdirSync(path)
  },
}

for (const [what, damage] of Object.entries(DAMAGES)) {
  test(`nothing happens if ${what}`, async (t) => {
    const home = newHome(t)
    await runWith(t, { XDG_CACHE_HOME: home })
    const names = Object.keys(filesIn(home))
    for (const name of names) damage(join(cacheIn(home), name))
    await runWith(t, { XDG_CACHE_HOME: home })
    assert.deepEqual(Object.keys(filesIn(home)), names)
  })
}

test('nothing happens without a place for it', async (t) => {
  const home = newHome(t)
  const file = join(home, 'file')
  writeFileSync(file, '')
  for (const place of [file, '/proc/nowhere', '/dev/full']) {
    await runWith(t, { XDG_CACHE_HOME: place })
  }
  await runWith(t, { XDG_CACHE_HOME: '', HOME: '' })
})

test('a folder that others can write to is not used', async (t) => {
  const home = newHome(t)
  mkdirSync(cacheIn(home))
  chmodSync(cacheIn(home), 0o777)
  await runWith(t, { XDG_CACHE_HOME: home })
  assert.deepEqual(filesIn(home), {})
})

test('there is none if Node is told so, or counts what is covered', async (t) => {
  const home = newHome(t)
  await runWith(t, { XDG_CACHE_HOME: home, NODE_DISABLE_COMPILE_CACHE: '1' })
  await runWith(t, { XDG_CACHE_HOME: home, NODE_V8_COVERAGE: join(home, 'coverage') })
  assert.equal(existsSync(cacheIn(home)), false)
})

test('files that are old are removed', async (t) => {
  const home = newHome(t)
  mkdirSync(cacheIn(home), { mode: 0o700 })
  const name = `client-v20.1.0-linux-x64-base.cjs-${'a'.repeat(40)}`
  const ages = { [name]: 91, [`${name}.12`]: 91, [name.replace('base', 'wire')]: 89, thesis: 91 }
  for (const [file, days] of Object.entries(ages)) {
    const path = join(cacheIn(home), file)
    writeFileSync(path, '')
    const seconds = Date.now() / 1_000 - days * 24 * 3_600
    utimesSync(path, seconds, seconds)
  }
  await runWith(t, { XDG_CACHE_HOME: home })
  const left = Object.keys(ages).map((file) => existsSync(join(cacheIn(home), file)))
  assert.deepEqual(left, [false, false, true, true], 'only its own, and only old ones')
})

test('a link to a folder is not used', async (t) => {
  const home = newHome(t)
  const other = newHome(t)
  symlinkSync(other, cacheIn(home))
  await runWith(t, { XDG_CACHE_HOME: home })
  assert.deepEqual(readdirSync(other), [])
})

test('a folder in one that others can write to is not used, but in one like /tmp', async (t) => {
  const home = newHome(t)
  chmodSync(home, 0o777)
  await runWith(t, { XDG_CACHE_HOME: home })
  assert.deepEqual(filesIn(home), {})
  chmodSync(home, 0o1777)
  await runWith(t, { XDG_CACHE_HOME: home })
  assert.notDeepEqual(filesIn(home), {})
})

test('no folder is made in that of another user', { skip: !IS_ROOT && 'not root' }, async (t) => {
  const home = newHome(t)
  chownSync(home, 12_345, 12_345)
  await runWith(t, { XDG_CACHE_HOME: join(home, '.cache') })
  assert.deepEqual(readdirSync(home), [])
})

test('the place of the cache of Node is used, also if it does not exist yet', async (t) => {
  const home = newHome(t)
  const place = join(home, 'a', 'b')
  await runWith(t, { NODE_COMPILE_CACHE: place, XDG_CACHE_HOME: '/nowhere' })
  assert.notDeepEqual(filesIn(place), {})
})

test('another copy of the package has files of its own', async (t) => {
  const home = newHome(t)
  const copy = join(newHome(t), 'dist')
  cpSync(join(ROOT, 'dist'), copy, { recursive: true })
  const program = `console.log(require(process.argv[1] + '/protocol.cjs').encode.toString().length)
    try { require(process.argv[1] + '/protocol.cjs').decode(new Uint8Array(3)) }
    catch (error) { console.log(error.stack.includes(process.argv[1] + '/wire.cjs')) }`
  for (const dist of [join(ROOT, 'dist'), copy]) {
    const env = { XDG_CACHE_HOME: home }
    const { stdout } = await startProgram(t, ['-e', program, dist], env).ended
    assert.match(stdout, /^\d+\ntrue\n$/)
  }
})

test('flags that a program sets later do not spoil the files', async (t) => {
  const home = newHome(t)
  const program = `require(${JSON.stringify(`${ROOT}dist/index.cjs`)})
    require('node:v8').setFlagsFromString('--expose-gc')`
  await startProgram(t, ['-e', program], { XDG_CACHE_HOME: home }).ended
  assert.deepEqual(filesIn(home), {})
})

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'
import { SourcePositions } from './source-position.js'

/** The call of `boom` is in line 4, column 10; in the generated code elsewhere. */
const SOURCE = `interface Input { readonly value: number }

export function task(input: Input): number {
  return boom(input.value)
}
`

/** A folder, as a path and as a URL with a slash at the end. */
async function newFolder(t: TestContext): Promise<{ path: string; url: string }> {
  const path = await mkdtemp(join(tmpdir(), 'position-'))
  t.after(() => rm(path, { recursive: true }))
  return { path, url: pathToFileURL(`${path}/`).href }
}

function compile(options: ts.CompilerOptions, fileName = 'app.ts'): ts.TranspileOutput {
  const target = ts.ScriptTarget.ES2022
  return ts.transpileModule(SOURCE, { fileName, compilerOptions: { target, ...options } })
}

/** Line and column of `boom` in some code, as frames have them. */
function placeOf(code: string): string {
  const before = code.slice(0, code.indexOf('boom')).split('\n')
  return `${before.length}:${(before.at(-1) ?? '').length + 1}`
}

/** A stack with one frame. */
function stackAt(place: string): string {
  return `Error: text\n    at task (${place})`
}

/**
 * A map in which positions are traced back one by one: generated line and column, then the
 * original.
 */
function mapOf(
  entries: readonly (readonly [number, number, number, number])[],
  more: object = {},
): string {
  let mappings = ''
  let [line, column, originalLine, originalColumn] = [0, 0, 0, 0]
  for (const [toLine, toColumn, toOriginalLine, toOriginalColumn] of entries) {
    if (toLine > line) [mappings, line, column] = [mappings + ';'.repeat(toLine - line), toLine, 0]
    else if (mappings !== '') mappings += ','
    mappings += vlq(toColumn - column) + vlq(0) + vlq(toOriginalLine - originalLine)
    mappings += vlq(toOriginalColumn - originalColumn)
    ;[column, originalLine, originalColumn] = [toColumn, toOriginalLine, toOriginalColumn]
  }
  return JSON.stringify({ version: 3, sources: ['src/app.ts'], names: [], mappings, ...more })
}

function vlq(value: number): string {
  let rest = value < 0 ? -value * 2 + 1 : value * 2
  let text = ''
  do {
    const digit = rest % 32
    rest = Math.floor(rest / 32)
    const index = rest > 0 ? digit + 32 : digit
    text += 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'[index]
  } while (rest > 0)
  return text
}

test('a map that tsc has written beside the file leads to the source', async (t) => {
  const { path, url } = await newFolder(t)
  const { outputText, sourceMapText = '' } = compile({ sourceMap: true })
  await writeFile(join(path, 'app.js'), outputText)
  await writeFile(join(path, 'app.js.map'), sourceMapText)
  const positions = new SourcePositions({ loadedBefore: Infinity })
  const place = placeOf(outputText)
  assert.notEqual(place, '4:10')
  assert.equal(positions.rewrite(stackAt(`${url}app.js:${place}`)), stackAt(`${url}app.ts:4:10`))
  const paths = positions.rewrite(stackAt(`${join(path, 'app.js')}:${place}`))
  assert.equal(paths, stackAt(`${join(path, 'app.ts')}:4:10`))
})

test('a map inside the file does, too, as base64 or as text', async (t) => {
  const { path, url } = await newFolder(t)
  const { outputText } = compile({ inlineSourceMap: true, removeComments: true })
  await writeFile(join(path, 'app.js'), outputText)
  const [code = '', comment = ''] = outputText.split('//# sourceMappingURL=')
  const json = Buffer.from(comment.split('base64,')[1] ?? '', 'base64').toString()
  const inline = `data:application/json;charset=utf-8,${encodeURIComponent(json)}`
  await writeFile(join(path, 'text.js'), `${code}//# sourceMappingURL=${inline}\n\n`)
  const positions = new SourcePositions({ loadedBefore: Infinity })
  for (const file of ['app.js', 'text.js']) {
    const before = stackAt(`${url}${file}:${placeOf(code)}`)
    assert.equal(positions.rewrite(before), stackAt(`${url}app.ts:4:10`))
  }
})

test('a text that a program has evaluated contains its map, without any file', async (t) => {
  const { path, url } = await newFolder(t)
  const { outputText } = compile({ inlineSourceMap: true, removeComments: true })
  const [code = '', comment = ''] = outputText.split('//# sourceMappingURL=')
  const asked: string[] = []
  const sourceMapUrlAt = (place: string): string => {
    asked.push(place)
    return place.endsWith('app.js') ? comment.trim() : 'beside.js.map'
  }
  const positions = new SourcePositions({ sourceMapUrlAt })
  const place = placeOf(code)
  for (let time = 0; time < 2; time += 1) {
    const before = stackAt(`${url}app.js:${place}`)
    assert.equal(positions.rewrite(before), stackAt(`${url}app.ts:4:10`))
  }
  assert.equal(positions.rewrite(stackAt(`${path}/b.js:1:1`)), stackAt(`${path}/b.js:1:1`))
  assert.deepEqual(asked, [`${url}app.js`, `${path}/b.js`])
})

test('each frame of a minified line leads to its own place', async (t) => {
  const { path, url } = await newFolder(t)
  const map = mapOf([
    [0, 0, 0, 0],
    [0, 20, 10, 4],
    [0, 40, 200, 2],
  ])
  await writeFile(join(path, 'app.min.js'), `${'x'.repeat(60)}\n//# sourceMappingURL=maps/app.map`)
  await writeFile(join(path, 'app.map'), 'not this one')
  await mkdir(join(path, 'maps'))
  await writeFile(join(path, 'maps', 'app.map'), map)
  const frames = [
    `e (${url}app.min.js:1:25)`,
    `async ${url}app.min.js:1:42`,
    `t (${url}app.min.js:1:1)`,
  ]
  const stack = ['TypeError: one', 'two', ...frames.map((frame) => `    at ${frame}`)].join('\n')
  assert.equal(
    new SourcePositions({ loadedBefore: Infinity }).rewrite(stack),
    [
      'TypeError: one',
      'two',
      `    at e (${url}maps/src/app.ts:11:5)`,
      `    at async ${url}maps/src/app.ts:201:3`,
      `    at t (${url}maps/src/app.ts:1:1)`,
    ].join('\n'),
  )
})

test('sources are relative to the root that the map names', async (t) => {
  const { path, url } = await newFolder(t)
  const roots = { 'a.js': '../root', 'b.js': '/abs/root/', 'c.js': 'webpack://app' }
  for (const [file, sourceRoot] of Object.entries(roots)) {
    await writeFile(join(path, file), 'code')
    await writeFile(join(path, `${file}.map`), mapOf([[0, 0, 1, 1]], { sourceRoot }))
  }
  const positions = new SourcePositions({ loadedBefore: Infinity })
  const traced = Object.keys(roots).map((file) => positions.rewrite(stackAt(`${url}${file}:1:1`)))
  const beside = new URL('../root/src/app.ts', url).href
  assert.deepEqual(traced, [
    stackAt(`${beside}:2:2`),
    stackAt('file:///abs/root/src/app.ts:2:2'),
    stackAt('webpack://app/src/app.ts:2:2'),
  ])
})

test('text after the path of a URL does not matter', async (t) => {
  const { path, url } = await newFolder(t)
  await writeFile(join(path, 'app (1).js'), 'code')
  await writeFile(join(path, 'app (1).js.map'), mapOf([[0, 0, 4, 4]]))
  const positions = new SourcePositions({ loadedBefore: Infinity })
  const traced = positions.rewrite(stackAt(`${url}app%20(1).js?update=7#x:1:3`))
  assert.equal(traced, stackAt(`${url}src/app.ts:5:5`))
})

test('a line that is not in the map stays', async (t) => {
  const { path, url } = await newFolder(t)
  await writeFile(join(path, 'app.js'), 'code\ncode\ncode')
  await writeFile(
    join(path, 'app.js.map'),
    mapOf([
      [0, 0, 4, 4],
      [2, 5, 6, 6],
    ]),
  )
  const positions = new SourcePositions({ loadedBefore: Infinity })
  for (const place of ['2:1', '3:2', '99:1']) {
    const stack = stackAt(`${url}app.js:${place}`)
    assert.equal(positions.rewrite(stack), stack)
  }
})

test('files that are missing, broken, too large or newer than the program stay as they are', async (t) => {
  const { path, url } = await newFolder(t)
  const good = mapOf([[0, 0, 4, 4]])
  const inline = (text: string): string => `x\n//# sourceMappingURL=data:application/json,${text}`
  const files = {
    'plain.js': 'x',
    'garbage.js': inline('%7B'),
    'escape.js': inline('%'),
    'number.js': inline('5'),
    'mappings.js': inline(encodeURIComponent('{"version":3,"sources":["a"],"mappings":5}')),
    'sources.js': inline(encodeURIComponent('{"version":3,"mappings":"AAAA"}')),
    'remote.js': 'x\n//# sourceMappingURL=https://example.org/app.js.map',
    'text.js': 'const text = "//# sourceMappingURL=app.js.map"',
    'large.js': `${'x'.repeat(16 * 1024 ** 2)}\n//# sourceMappingURL=app.js.map`,
    'app.js.map': good,
    'folder.js': 'x\n//# sourceMappingURL=.',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text)
  const positions = new SourcePositions({ loadedBefore: Infinity })
  for (const name of [...Object.keys(files), 'missing.js', '']) {
    const stack = stackAt(`${url}${name}:1:1`)
    assert.equal(positions.rewrite(stack), stack)
  }
  await writeFile(join(path, 'app.js'), 'x')
  const stack = stackAt(`${url}app.js:1:1`)
  assert.equal(new SourcePositions({ loadedBefore: 1 }).rewrite(stack), stack)
  assert.equal(
    new SourcePositions({ loadedBefore: Infinity }).rewrite(stack),
    stackAt(`${url}src/app.ts:5:5`),
  )
})

test('places that are not files stay', () => {
  const frames = [
    'f (node:internal/process/task_queues:95:5)',
    'async Promise.all (index 0)',
    'Array.map (<anonymous>)',
    'eval (eval at f (file:///app.js:1:1), <anonymous>:1:1)',
    'f (evalmachine.<anonymous>:1:1)',
    'f ([eval]:1:1)',
    'f (data:text/javascript,x:1:1)',
    'f (https://example.org/app.js:1:1)',
    String.raw`f (C:\none\app.js:1:1)`,
    'file:///:1:1',
    'f (file://host/app.js:1:1)',
    'f (/none/app.js:99999999999999999999:1)',
  ]
  const stack = ['Error: text', ...frames.map((frame) => `    at ${frame}`)].join('\n')
  const positions = new SourcePositions({ loadedBefore: Infinity })
  assert.equal(positions.rewrite(stack), stack)
  assert.equal(positions.rewrite('Error: text'), 'Error: text')
  assert.equal(positions.rewrite(''), '')
})

test('a file is read once, and a limited number is remembered', async (t) => {
  const { path, url } = await newFolder(t)
  await writeFile(join(path, 'app.js'), 'x')
  await writeFile(join(path, 'app.js.map'), mapOf([[0, 0, 4, 4]]))
  const positions = new SourcePositions({ loadedBefore: Infinity })
  const stack = stackAt(`${url}app.js:1:1`)
  const traced = stackAt(`${url}src/app.ts:5:5`)
  assert.equal(positions.rewrite(stack), traced)
  await rm(join(path, 'app.js.map'))
  assert.equal(positions.rewrite(stack), traced)
  for (let index = 0; index < 100; index += 1) positions.rewrite(stackAt(`${url}${index}.js:1:1`))
  assert.equal(positions.rewrite(stack), stack)
})

test('errors in a cause and in a list are traced back with the error', async (t) => {
  const { path, url } = await newFolder(t)
  await writeFile(join(path, 'app.js'), 'x')
  await writeFile(join(path, 'app.js.map'), mapOf([[0, 0, 4, 4]]))
  const make = (): Error => Object.assign(new Error('text'), { stack: stackAt(`${url}app.js:1:1`) })
  const cause = make()
  const error = Object.assign(make(), { cause, errors: [make()] })
  new SourcePositions({ loadedBefore: Infinity }).apply(error)
  for (const { stack } of [error, cause, ...error.errors]) {
    assert.equal(stack, stackAt(`${url}src/app.ts:5:5`))
  }
})

/** Transforms in the process itself, like tsx: the file on the disk has another text. */
test("Node's own map of transformed code comes first", async (t) => {
  const { path, url } = await newFolder(t)
  const { outputText } = compile({ inlineSourceMap: true }, 'app.mts')
  await writeFile(join(path, 'app.mts'), SOURCE)
  const hooks = `
    export async function load(url, context, next) {
      if (!url.endsWith('.mts')) return next(url, context)
      return { format: 'module', shortCircuit: true, source: ${JSON.stringify(outputText)} }
    }`
  const main = `
    import { register } from 'node:module'
    import { SourcePositions } from ${JSON.stringify(new URL('./source-position.js', import.meta.url).href)}
    register('./hooks.mjs', import.meta.url)
    process.setSourceMapsEnabled(true)
    await import('./app.mts')
    console.log(new SourcePositions().rewrite(process.argv[2]))`
  await writeFile(join(path, 'hooks.mjs'), hooks)
  await writeFile(join(path, 'main.mjs'), main)
  for (const place of [`${url}app.mts`, join(path, 'app.mts')]) {
    const stack = stackAt(`${place}:${placeOf(outputText)}`)
    const program = [join(path, 'main.mjs'), stack]
    const { stdout } = await promisify(execFile)(process.execPath, program)
    assert.equal(stdout, `${stackAt(`${place}:4:10`)}\n`)
  }
})

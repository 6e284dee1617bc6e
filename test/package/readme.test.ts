import assert from 'node:assert/strict'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import ts from 'typescript'
import { ROOT, startProgram } from './command.js'

/** The TypeScript programs of README.md, in order. */
async function programs(): Promise<string[]> {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8')
  return [...text.matchAll(/```ts\n(.*?)```/gs)].map((match) => match[1] ?? '')
}

/** A file inside of the package, so that `scaler-ts` is found, gone after the test. */
async function write(t: TestContext, name: string, text: string): Promise<string> {
  const path = join(ROOT, 'build', name)
  await writeFile(path, text)
  t.after(() => rm(path))
  return path
}

test('the first programs of the README print what they say', async (t) => {
  const [first = '', second = ''] = await programs()
  const { outputText } = ts.transpileModule(first + second, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  })
  const path = await write(t, 'readme-program.mjs', outputText)
  const { code, stdout, stderr } = await startProgram(t, [path]).ended
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  const [single, list, ...pairs] = stdout.trimEnd().split('\n')
  assert.equal(single, '16')
  assert.equal(list, '[ 1, 4, 9 ]')
  assert.equal(pairs.pop(), '711394d3')
  assert.deepEqual(pairs.sort(), ['0 1', '1 4', '2 9'])
})

test('the programs of the README have right types', async (t) => {
  const [first = '', second = '', third = ''] = await programs()
  const path = await write(
    t,
    'readme-types.ts',
    `${first}${second}export {}\n{\n${third.replaceAll(/^import .*$/gm, '')}}\n`,
  )
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.base.json'), (file) =>
    ts.sys.readFile(file),
  ) as { config: { compilerOptions: object } }
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT)
  const own = { noEmit: true, composite: false, incremental: false, noUnusedLocals: false }
  const program = ts.createProgram([path], { ...options, ...own })
  const diagnostics = ts.getPreEmitDiagnostics(program)
  assert.deepEqual(
    diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    [],
  )
})

// The types of the package as compilers find them, in every mode of module resolution: checked with
// programs, and by tools that know the rules.

import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { ROOT } from './command.js'
import { packagingPeer, WITHOUT_PEERS as skip } from './installation.kit.js'
import { unpackInto } from './unpacked-package.kit.js'

/** Uses a class, a function, a generic and a mere type, from both entry points. */
const PROGRAM = `
import { Client, Future, MapFuture, ScalerError, asCompleted, literal } from 'scaler-ts'
import type { ClientOptions, GraphFuture, Serializer, TaskOptions } from 'scaler-ts'
import { decode, taskId, type Message, type TaskId } from 'scaler-ts/protocol'

export class OwnError extends ScalerError {}
export const options: ClientOptions & TaskOptions = { timeoutMs: 5, retries: 1 }

export async function main(client: Client, serializer: Serializer): Promise<number> {
  const other: Client = new Client('tcp://127.0.0.1:1', { serializer })
  const future: Future<number> = client.submit((n: number) => n + 1, 1)
  const all: MapFuture<string> = client.map((n: number) => String(n), [1, 2])
  const graph: GraphFuture<{ a: number }> = client.get({ a: [(n: number) => n, literal(1)] }, ['a'])
  for await (const { index, future: done } of asCompleted([future])) console.log(index, done, other.identity)
  // @ts-expect-error the argument is a number
  client.submit((n: number) => n + 1, 'one')
  // @ts-expect-error the result is a number
  const wrong: Future<string> = future
  const message: Message = decode(serializer.serialize(wrong))
  const id: TaskId = taskId('12345678')
  return (await future) + (await all).length + (await graph).a + message.kind.length + id.length
}
`

const { ModuleKind, ModuleResolutionKind } = ts
/** `ModuleResolutionKind.Node10`, which is deprecated, but still what many projects have. */
const NODE10 = 2 as ts.ModuleResolutionKind
/** The module settings of a project, and whether its files are CommonJS. */
const PROJECTS: readonly (readonly [string, ts.CompilerOptions, 'module' | 'commonjs'])[] = [
  ['node16, ES module', { module: ModuleKind.Node16 }, 'module'],
  ['node16, CommonJS', { module: ModuleKind.Node16 }, 'commonjs'],
  ['node18, CommonJS', { module: ModuleKind.Node18 }, 'commonjs'],
  ['node20, ES module', { module: ModuleKind.Node20 }, 'module'],
  ['node20, CommonJS', { module: ModuleKind.Node20 }, 'commonjs'],
  ['nodenext, ES module', { module: ModuleKind.NodeNext }, 'module'],
  ['nodenext, CommonJS', { module: ModuleKind.NodeNext }, 'commonjs'],
  [
    'bundler, ES module',
    { module: ModuleKind.ESNext, moduleResolution: ModuleResolutionKind.Bundler },
    'module',
  ],
  ['bundler, preserved', { module: ModuleKind.Preserve }, 'commonjs'],
  [
    'node10, CommonJS',
    {
      module: ModuleKind.CommonJS,
      moduleResolution: NODE10,
      ignoreDeprecations: '6.0',
    },
    'commonjs',
  ],
]

/** Where the declarations themselves are checked, too: that takes a while. */
const CHECKED_WHOLE: readonly string[] = [
  'node16, ES module',
  'node16, CommonJS',
  'bundler, ES module',
]

test('types resolve and are the same in every kind of project', async (t) => {
  const folder = await makeProjects(t)
  for (const [name, options, type] of PROJECTS) {
    const skipLibCheck = !CHECKED_WHOLE.includes(name)
    const complaints = complaintsOf(join(folder, type, 'program.ts'), { ...options, skipLibCheck })
    assert.equal(complaints, '', `${name}: ${complaints}`)
  }
})

/** A folder with the package, and below it one for each kind of file. */
async function makeProjects(t: TestContext): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'types-')))
  t.after(() => rm(folder, { recursive: true }))
  await unpackInto(join(folder, 'node_modules/scaler-ts'))
  for (const name of ['@types/node', 'undici-types']) {
    const place = join(folder, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), place, 'junction')
  }
  for (const type of ['module', 'commonjs']) {
    await mkdir(join(folder, type))
    await writeFile(join(folder, type, 'package.json'), JSON.stringify({ type }))
    await writeFile(join(folder, type, 'program.ts'), PROGRAM)
  }
  return folder
}

/** The compiler's messages about a file. */
function complaintsOf(path: string, options: ts.CompilerOptions): string {
  const program = ts.createProgram([path], {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    types: ['node'],
    typeRoots: [join(dirname(dirname(path)), 'node_modules/@types')],
    strict: true,
    exactOptionalPropertyTypes: true,
    esModuleInterop: true,
    noEmit: true,
    ...options,
  })
  const diagnostics = ts.getPreEmitDiagnostics(program)
  return ts.formatDiagnostics(diagnostics, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => dirname(path),
    getNewLine: () => '\n',
  })
}

/** The parts of `@arethetypeswrong/core` that are used. */
interface TypesTool {
  createPackageFromTarballData(tarball: Uint8Array): object
  checkPackage(made: object): Promise<{ readonly problems?: readonly object[] }>
}

/** The parts of `publint` that are used. */
interface PackageTool {
  publint(options: object): Promise<{ readonly messages: readonly object[] }>
}

async function importPeer(path: string): Promise<unknown> {
  return import(pathToFileURL(packagingPeer(path)).href)
}

test('the tools that check packages find nothing wrong', { skip }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'packed-'))
  t.after(() => rm(folder, { recursive: true }))
  const tarball = new Uint8Array(await readFile(await unpackInto(join(folder, 'package'))))
  const types = (await importPeer('@arethetypeswrong/core/dist/index.js')) as TypesTool
  const { problems } = await types.checkPackage(types.createPackageFromTarballData(tarball))
  assert.deepEqual(problems, [])
  const linter = (await importPeer('publint/src/index-node.js')) as PackageTool
  const { messages } = await linter.publint({ pack: { tarball: tarball.buffer }, strict: true })
  assert.deepEqual(messages, [])
})

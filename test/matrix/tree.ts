// Builds the files of the program in one form: unchanged, compiled, or bundled.

import { execFile } from 'node:child_process'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import type { Tree } from './environment.js'
import { peerFile } from './peer.js'

const run = promisify(execFile)

/** Paths in the program's folder to texts. */
type Files = Map<string, string>

/** Writes the files of `sources` to `folder`, in the form of the tree. */
export async function makeTree(tree: Tree, sources: string, folder: string): Promise<void> {
  const files = await readSources(sources)
  files.set('main.ts', mainOf(tree.format))
  const type = tree.format === 'esm' ? 'module' : 'commonjs'
  files.set('package.json', JSON.stringify({ name: 'program', type }))
  switch (tree.make.kind) {
    case 'source':
      if (tree.format === 'esm') files.set('main.test.ts', vitestOf())
      return write(folder, tree.make.hasTsImports ? withTsImports(files) : files)
    case 'tsc':
      return write(folder, compiled(files, tree.make, tree.format))
    case 'esbuild': {
      const inside = join(folder, 'source')
      await write(inside, files)
      await write(folder, new Map([['package.json', files.get('package.json') ?? '']]))
      return bundle(inside, join(folder, 'main.js'), tree)
    }
  }
}

/** The file that is started, with a function of its own to ship. */
function mainOf(format: Tree['format']): string {
  const isModule = format === 'esm'
  return `import { runCases } from 'matrix-kit'
import old from './old/index.cjs'
import { cases } from './index.js'
import { area } from './sibling/geometry.js'
${isModule ? `import { cases as modulesOnly } from './modules-only.js'` : ''}

const factor = 3
const own = {
  name: 'a function of the main file',
  fn: (x: number) => area(x, factor),
  args: [2],
  want: 12,
  isSmoke: true,
}

${isModule ? 'await' : 'void'} runCases([own, ...cases, ...old.cases${isModule ? ', ...modulesOnly' : ''}])
`
}

/** The same as a test of vitest, with a function inside the test. */
function vitestOf(): string {
  return mainOf('esm')
    .replace('const factor', "test('cases', async () => {\n  const factor")
    .replace(/\n$/, '\n}, 200_000)\n')
}

async function readSources(folder: string): Promise<Files> {
  const files: Files = new Map()
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || /\.d\.c?ts$/.test(entry.name)) continue
    const path = join(entry.parentPath, entry.name)
    files.set(path.slice(folder.length + 1).replaceAll('\\', '/'), await readFile(path, 'utf8'))
  }
  return files
}

async function write(folder: string, files: Files): Promise<void> {
  for (const [name, text] of files) {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
}

/** Node finds files by their names only: imports must say `.ts`. */
function withTsImports(files: Files): Files {
  const named = (text: string): string => text.replaceAll(/'(\.\.?\/[^']*)\.js'/g, "'$1.ts'")
  return new Map(
    [...files].map(([path, text]) => [path, path.endsWith('.ts') ? named(text) : text]),
  )
}

/** The compiler's output for the `.ts` files; others are left as they are. */
function compiled(
  files: Files,
  make: Extract<Tree['make'], { kind: 'tsc' }>,
  format: Tree['format'],
): Files {
  const compilerOptions: ts.CompilerOptions = {
    target: ts.ScriptTarget[make.target],
    module: format === 'esm' ? ts.ModuleKind.ESNext : ts.ModuleKind.CommonJS,
    esModuleInterop: true,
    verbatimModuleSyntax: false,
    sourceMap: make.hasMaps,
  }
  const result: Files = new Map()
  for (const [path, text] of files) {
    if (!path.endsWith('.ts') || (format === 'cjs' && path === 'modules-only.ts')) {
      result.set(path, text)
      continue
    }
    const output = ts.transpileModule(text, { compilerOptions, fileName: path })
    const target = path.replace(/\.ts$/, '.js')
    result.set(target, output.outputText)
    if (output.sourceMapText !== undefined) result.set(`${target}.map`, output.sourceMapText)
  }
  return result
}

async function bundle(sources: string, target: string, { format, make }: Tree): Promise<void> {
  if (make.kind !== 'esbuild') return
  const externals = make.hasPackages
    ? ['--external:scaler-ts', '--external:matrix-kit']
    : ['--packages=external']
  // The code that users of such bundles write, because `require` of a built-in does not work in a
  // module.
  const banner = `import { createRequire as makeRequire } from 'node:module';const require = makeRequire(import.meta.url);`
  const options = [
    join(sources, 'main.ts'),
    '--bundle',
    '--platform=node',
    '--log-level=error',
    `--format=${format}`,
    `--outfile=${target}`,
    ...(make.options.some((option) => option.startsWith('target=')) ? [] : ['--target=node20']),
    ...make.options.map((option) => `--${option}`),
    ...externals,
    ...(format === 'esm' ? [`--banner:js=${banner}`] : []),
  ]
  await run(process.execPath, [peerFile('tools', 'node_modules/esbuild/bin/esbuild'), ...options])
}

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { readdir, readFile } from 'node:fs/promises'
import { join, posix } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { tokenizer, tokTypes } from 'acorn'
import { ROOT } from './command.js'
import { pack, readManifest, type ExportConditions } from './local-registry.kit.js'
import { PackedProject } from './packed-project.kit.js'

const execute = promisify(execFile)

/** Each file costs time when the package is installed. */
const MAX_FILES = 95

/** The paths in the package. */
async function packedPaths(): Promise<string[]> {
  const [packed] = await pack([ROOT], '--dry-run')
  return packed?.files.map(({ path }) => path) ?? []
}

test('the package holds what is needed to run and to use it, in few files', async () => {
  const allowed = [
    /^dist\/((cluster|worker)\/)?[a-z-]+\.cjs$/,
    /^dist\/(index|protocol)\.js$/,
    /^dist\/cli\/([a-z-]+\.js|package\.json)$/,
    /^dist\/(index|protocol)\.d\.c?ts$/,
    /^service\/symphony_[a-z]+\.py$/,
    /^docs\/[A-Za-z-]+\.md$/,
    /^docs\/(picture\.svg|web-[a-z]+\.png)$/,
    /^(package\.json|LICENSE|(README|CHANGELOG|SECURITY)\.md)$/,
  ]
  const paths = await packedPaths()
  const isAllowed = (path: string): boolean => allowed.some((pattern) => pattern.test(path))
  assert.deepEqual(
    paths.filter((path) => !isAllowed(path)),
    [],
  )
  assert.ok(paths.length <= MAX_FILES, `${paths.length} files`)
})

test('the code of the package is exactly what its entry points load', async () => {
  const { bin, exports } = await readManifest()
  const entries = [...Object.values(bin), ...targetsOf(exports)]
  const programs = ['worker/processor-main', 'worker/guardian', 'cluster/embedded-main']
  const files = [...entries, ...programs.map((name) => `dist/${name}.cjs`)]
  const scripts = files.filter((file) => /\.c?js$/.test(file))
  const loaded = await loadedBy(scripts, /["'](\.\.?\/[a-z-]+\.cjs)["']/g)
  const code = (await packedPaths()).filter((path) => /^dist\/.*\.c?js$/.test(path))
  assert.ok(code.length > 20)
  assert.deepEqual(code.sort(), [...loaded].sort())
})

test('the build replaces expressions, but not the same texts in messages', async () => {
  const replaced: string[] = []
  for (const name of await readdir(join(ROOT, 'dist'))) {
    if (!name.endsWith('.cjs')) continue
    const code = await readFile(join(ROOT, 'dist', name), 'utf8')
    for (const { type, start, end } of tokenizer(code, { ecmaVersion: 'latest' })) {
      const text = code.slice(start, end)
      const isText = type === tokTypes.string || type === tokTypes.template
      if (isText && /\b__url\b/.test(text)) replaced.push(`${name}: ${text}`)
    }
  }
  assert.deepEqual(replaced, [])
})

test('a scheduler and an agent load nothing of the client', async () => {
  const names = ['cluster/embedded-main', 'base', 'transport', 'scheduler', 'agent']
  const files = names.map((name) => `dist/${name}.cjs`)
  // Only an agent whose number of workers follows the work loads an allocator.
  const loaded = await loadedBy(files, /\brequire\("(\.(?!\/allocate\.cjs)[^"]+)"\)/g)
  assert.ok(loaded.has('dist/wire.cjs'))
  assert.deepEqual([loaded.has('dist/client.cjs'), loaded.has('dist/library.cjs')], [false, false])
})

test('every link of a packed page leads to a packed file', async () => {
  const paths = await packedPaths()
  const lost: string[] = []
  for (const page of paths.filter((path) => path.endsWith('.md'))) {
    const text = await readFile(join(ROOT, page), 'utf8')
    const prose = text.replaceAll(/```[^]*?```|`[^`\n]*`(?!\])/g, '')
    for (const [, link = ''] of prose.matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)) {
      const target = posix.join(posix.dirname(page), link).replace(/\/$/, '')
      if (!paths.includes(target)) lost.push(`${page}: ${link}`)
    }
  }
  assert.deepEqual(lost, [])
})

/** The files that `exports` leads to, whatever the conditions. */
function targetsOf(target: string | ExportConditions): string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(targetsOf)
}

test('everything that package.json refers to is in the package', async () => {
  const paths = new Set(await packedPaths())
  const { bin, exports, main, types } = await readManifest()
  const targets = [main, types, ...Object.values(bin), ...targetsOf(exports)]
  assert.ok(targets.length >= 10)
  for (const target of targets) assert.ok(paths.has(target.replace(/^\.\//, '')), target)
})

test('both entry points can be imported and required, with the same exports', async () => {
  const require = createRequire(import.meta.url)
  for (const name of ['scaler-ts', 'scaler-ts/protocol']) {
    const imported = (await import(name)) as Record<string, unknown>
    const required = require(name) as Record<string, unknown>
    assert.notDeepEqual(Object.keys(imported), [])
    for (const key of Object.keys(imported)) assert.equal(required[key], imported[key], key)
  }
})

test('only the entry points can be imported', async () => {
  for (const path of ['dist/index.js', 'dist/base/ids.js', 'src/index.ts']) {
    await assert.rejects(import(`scaler-ts/${path}`), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' })
  }
  const require = createRequire(import.meta.url)
  assert.equal(typeof require('scaler-ts/package.json'), 'object')
})

test('the packed package works outside the repository', async (t) => {
  const { folder: project } = await PackedProject.make(t, {})
  const { version, bin } = await readManifest()
  const program = "import('scaler-ts').then(({ Client }) => console.log(typeof Client))"
  const { stdout } = await execute(process.execPath, ['--eval', program], { cwd: project })
  assert.equal(stdout, 'function\n')
  for (const path of Object.values(bin)) {
    const command = join(project, 'node_modules', 'scaler-ts', path)
    const result = await execute(process.execPath, [command, '--version'])
    assert.equal(result.stdout, `${version}\n`)
  }
})

/** The second is the first by the name of the package: what `npx scaler-ts` runs. */
const COMMANDS = [
  'scaler',
  'scaler-ts',
  'scaler_allocate',
  'scaler_cancel',
  'scaler_clients',
  'scaler_cluster',
  'scaler_completion',
  'scaler_config',
  'scaler_doctor',
  'scaler_drain',
  'scaler_explain',
  'scaler_failures',
  'scaler_logs',
  'scaler_object_storage_server',
  'scaler_objects',
  'scaler_run',
  'scaler_scheduler',
  'scaler_stack',
  'scaler_status',
  'scaler_submit',
  'scaler_symphony_cluster',
  'scaler_tasks',
  'scaler_top',
  'scaler_ui',
  'scaler_worker',
  'scaler_workers',
]

test('every command has help with examples, and starts by its own name', async () => {
  const { bin } = await readManifest()
  assert.deepEqual(Object.keys(bin).sort(), COMMANDS)
  for (const [name, path] of Object.entries(bin)) {
    const { stdout, stderr } = await execute(`${ROOT}${path}`, ['--help'])
    const usual = name === 'scaler-ts' ? 'scaler' : name
    assert.match(stdout, new RegExp(`Usage: ${usual} `))
    assert.match(stdout, new RegExp(`Examples:\\n( +\\$ .*\\n)* +\\$ ${usual} `))
    assert.equal(stderr, '')
  }
})

/** These files and all that they import, as far as the pattern finds it. */
async function loadedBy(files: readonly string[], imports: RegExp): Promise<ReadonlySet<string>> {
  const loaded = new Set<string>()
  const visit = async (path: string): Promise<void> => {
    if (loaded.has(path)) return
    loaded.add(path)
    // Lines may be broken anywhere, also in a text.
    const text = (await readFile(join(ROOT, path), 'utf8')).replaceAll(/\\?\n/g, '')
    for (const [, file = ''] of text.matchAll(imports)) {
      await visit(posix.join(posix.dirname(path), file))
    }
  }
  for (const file of files) await visit(file.replace(/^\.\//, ''))
  return loaded
}

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from './command.js'
import { pack, readManifest, type ExportConditions } from './local-registry.kit.js'
import { unpackInto } from './unpacked-package.kit.js'

const execute = promisify(execFile)

/** The paths in the package. */
async function packedPaths(): Promise<string[]> {
  const [packed] = await pack([ROOT], '--dry-run')
  return packed?.files.map(({ path }) => path) ?? []
}

test('the package holds what is needed to run it and nothing else', async () => {
  const allowed = [
    /^dist\/.+(?<!\.(test|kit))\.(js|d\.ts)$/,
    /^dist\/[a-z]+\.(cjs|d\.cts)$/,
    /^protocol\/[a-z]+\.capnp$/,
    /^docs\/[A-Za-z-]+\.md$/,
    /^deploy\/systemd\/scaler[a-z-]*\.(service|toml)$/,
    /^(package\.json|LICENSE|README\.md|CHANGELOG\.md|SECURITY\.md)$/,
  ]
  const paths = await packedPaths()
  const isAllowed = (path: string): boolean => allowed.some((pattern) => pattern.test(path))
  assert.deepEqual(
    paths.filter((path) => !isAllowed(path) || /\.(test|kit)\./.test(path)),
    [],
  )
})

test('nothing in the package is left over from sources that are gone', async () => {
  const compiled = (await packedPaths()).filter((path) => path.startsWith('dist/'))
  const sourceOf = (path: string): string =>
    path.replace('dist/', 'src/').replace(/(\.d)?\.c?[jt]s$/, '.ts')
  assert.ok(compiled.length > 100)
  assert.deepEqual(
    compiled.filter((path) => !existsSync(join(ROOT, sourceOf(path)))),
    [],
  )
})

/** The files that `exports` leads to, whatever the conditions. */
function targetsOf(target: string | ExportConditions): string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(targetsOf)
}

test('everything that package.json points at is in the package', async () => {
  const paths = new Set(await packedPaths())
  const { bin, exports, main, types } = await readManifest()
  const targets = [main, types, ...Object.values(bin), ...targetsOf(exports)]
  assert.ok(targets.length >= 10)
  for (const target of targets) assert.ok(paths.has(target.replace(/^\.\//, '')), target)
})

test('both entry points can be imported and required, and are the same either way', async () => {
  const require = createRequire(import.meta.url)
  for (const name of ['scaler-ts', 'scaler-ts/protocol']) {
    const imported = (await import(name)) as Record<string, unknown>
    const required = require(name) as Record<string, unknown>
    assert.notDeepEqual(Object.keys(imported), [])
    for (const key of Object.keys(imported)) assert.equal(required[key], imported[key], key)
  }
})

test('nothing but the entry points can be imported', async () => {
  for (const path of ['dist/index.js', 'dist/base/ids.js', 'src/index.ts']) {
    await assert.rejects(import(`scaler-ts/${path}`), { code: 'ERR_PACKAGE_PATH_NOT_EXPORTED' })
  }
  const require = createRequire(import.meta.url)
  assert.equal(typeof require('scaler-ts/package.json'), 'object')
})

/** The package as a user has it: unpacked, with its run-time dependencies and no others. */
async function installPackage(t: TestContext): Promise<string> {
  const project = await mkdtemp(join(tmpdir(), 'installed-'))
  t.after(() => rm(project, { recursive: true }))
  await unpackInto(join(project, 'node_modules/scaler-ts'))
  for (const name of Object.keys((await readManifest()).dependencies ?? {})) {
    const place = join(project, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(`${ROOT}node_modules/${name}`, place, 'junction')
  }
  return project
}

test('the packed package works outside of the repository', async (t) => {
  const project = await installPackage(t)
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
  'scaler_cluster',
  'scaler_completion',
  'scaler_config',
  'scaler_doctor',
  'scaler_run',
  'scaler_scheduler',
  'scaler_submit',
  'scaler_worker',
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

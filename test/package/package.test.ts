import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from './command.js'

const execute = promisify(execFile)

/** The parts of package.json that are looked at. */
interface Manifest {
  readonly version: string
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>
  readonly dependencies: Readonly<Record<string, string>>
}

async function readManifest(): Promise<Manifest> {
  return JSON.parse(await readFile(`${ROOT}package.json`, 'utf8')) as Manifest
}

/** Packs the package, and returns the paths in it. */
async function pack(...args: readonly string[]): Promise<string[]> {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { stdout } = await execute(npm, ['pack', '--json', '--ignore-scripts', ...args], {
    cwd: ROOT,
    shell: process.platform === 'win32',
  })
  const [packed] = JSON.parse(stdout) as { readonly files: readonly { readonly path: string }[] }[]
  return packed?.files.map(({ path }) => path) ?? []
}

test('the package holds what is needed to run it and nothing else', async () => {
  const paths = await pack('--dry-run')
  const allowed =
    /^(dist\/.+\.(js|js\.map|d\.ts)|protocol\/.+\.capnp|docs\/.+|package\.json|LICENSE|[A-Z]+\.md)$/
  assert.deepEqual(
    paths.filter((path) => !allowed.test(path) || /\.(test|kit)\.|tsbuildinfo/.test(path)),
    [],
  )
})

test('everything that package.json points at is in the package', async () => {
  const paths = new Set(await pack('--dry-run'))
  const { bin, exports } = await readManifest()
  const targets = [
    ...Object.values(bin),
    ...Object.values(exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    ),
  ].map((path) => path.replace(/^\.\//, ''))
  assert.ok(targets.length >= 6)
  for (const target of targets) assert.ok(paths.has(target), target)
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
  const folder = join(project, 'node_modules', 'scaler-ts')
  await mkdir(join(project, 'node_modules', '@logtape'), { recursive: true })
  await mkdir(folder)
  await pack('--pack-destination', project)
  const { version, dependencies } = await readManifest()
  const tarball = join(project, `scaler-ts-${version}.tgz`)
  await execute('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1'])
  for (const name of Object.keys(dependencies)) {
    await symlink(`${ROOT}node_modules/${name}`, join(project, 'node_modules', name), 'junction')
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

test('every command has help with examples, and starts by its own name', async () => {
  const { bin } = await readManifest()
  assert.deepEqual(Object.keys(bin).sort(), ['scaler_cluster', 'scaler_scheduler'])
  for (const [name, path] of Object.entries(bin)) {
    const { stdout, stderr } = await execute(`${ROOT}${path}`, ['--help'])
    assert.match(stdout, new RegExp(`Usage: ${name} `))
    assert.match(stdout, new RegExp(`Examples:\\n +\\$ ${name} `))
    assert.equal(stderr, '')
  }
})

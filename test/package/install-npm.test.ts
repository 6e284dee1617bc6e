// The package as npm installs it: in a project, in a workspace, and globally; in folders with
// difficult names; in all versions of Node.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { ROOT } from './command.js'
import { Installation, PROGRAM_ANSWER, PROGRAMS } from './installation.kit.js'
import { readManifest } from './local-registry.kit.js'

const PACKAGES = ['scaler-ts', 'layout-esm', 'layout-cjs']

test('installed by npm in a project, commands and programs work', async (t) => {
  const installation = await Installation.make(t)
  await installation.npm(['install', ...PACKAGES])
  const bin = (name: string): string => join(installation.project, 'node_modules/.bin', name)
  await installation.assertWorks((name) => [bin(name)])
  await installation.assertVersions((name) => ['npx', '--no-install', name])
})

test('installed in a workspace, it works for members, wherever npm puts it', async (t) => {
  const installation = await Installation.make(t)
  const member = { name: 'member', version: '1.0.0', dependencies: {} as Record<string, string> }
  for (const name of PACKAGES) member.dependencies[name] = '*'
  await installation.write({
    'package.json': JSON.stringify({ private: true, workspaces: ['packages/*'] }),
    'packages/member/package.json': JSON.stringify(member),
    'packages/member/program.mjs': PROGRAMS['program.mjs'] ?? '',
  })
  await installation.npm(['install'])
  assert.ok(existsSync(join(installation.project, 'node_modules/scaler-ts/package.json')))
  const command = [process.execPath, 'program.mjs']
  assert.equal(await installation.get(command, 'packages/member'), PROGRAM_ANSWER)
})

test('installed globally, the commands also work for projects that have it', async (t) => {
  const installation = await Installation.make(t)
  const prefix = join(installation.project, 'global prefix')
  await installation.npm(['install', '--global', '--prefix', prefix, 'scaler-ts'])
  await installation.npm(['install', ...PACKAGES])
  const bin = (name: string): string => join(prefix, 'bin', name)
  const { bin: commands, version } = await readManifest()
  assert.deepEqual((await readdir(join(prefix, 'bin'))).sort(), Object.keys(commands).sort())
  for (const name of Object.keys(commands)) {
    assert.equal(await installation.get([bin(name), '--version'], '..'), `${version}\n`, name)
  }
  const address = await installation.startCluster(
    [bin('scaler_scheduler')],
    [bin('scaler_cluster')],
  )
  for (const name of Object.keys(PROGRAMS)) {
    const command = [process.execPath, name, address]
    assert.equal(await installation.get(command), PROGRAM_ANSWER, name)
  }
})

test('every Node imports and requires it without a warning', async (t) => {
  const installation = await Installation.make(t)
  await installation.npm(['install', ...PACKAGES])
  for (const major of [20, 22, 24, 26]) {
    const isOwn = Number.parseInt(process.versions.node, 10) === major
    const node = isOwn ? process.execPath : join(ROOT, `.peers/node-${major}/node`)
    const skip = existsSync(node) ? false : 'no such Node: node scripts/peers.mjs'
    await t.test(`Node ${major}`, { skip }, async () => {
      for (const name of Object.keys(PROGRAMS)) {
        const { code, stdout, stderr } = await installation.run([node, name])
        assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: PROGRAM_ANSWER, stderr: '' })
      }
    })
  }
})

/** The packages of a project's lock file, by their folder. */
async function lockedPackages(installation: Installation): Promise<Record<string, LockedPackage>> {
  const path = join(installation.project, 'package-lock.json')
  const { packages } = JSON.parse(await readFile(path, 'utf8')) as {
    readonly packages: Record<string, LockedPackage>
  }
  return packages
}

interface LockedPackage {
  readonly hasInstallScript?: boolean
}

test('no installed package runs a script', async (t) => {
  const installation = await Installation.make(t)
  await installation.npm(['install', 'scaler-ts'])
  const packages = Object.entries(await lockedPackages(installation)).filter(
    ([path]) => path !== '',
  )
  assert.ok(packages.some(([path]) => path === 'node_modules/scaler-ts'))
  for (const [path, { hasInstallScript }] of packages) {
    assert.notEqual(hasInstallScript, true, path)
    const { scripts = {} } = await readManifest(join(installation.project, path))
    const atInstall = ['preinstall', 'install', 'postinstall'].filter((name) => name in scripts)
    assert.deepEqual(atInstall, [], path)
    assert.ok(!existsSync(join(installation.project, path, 'binding.gyp')), path)
  }
})

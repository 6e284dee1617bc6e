// The package as current yarn installs it: in `node_modules`, or without any (Plug'n'Play), where
// only yarn's patches find packages.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ROOT } from './command.js'
import {
  Installation,
  packagingPeer,
  PROGRAM_ANSWER,
  WITHOUT_PEERS as skip,
} from './installation.kit.js'

const PACKAGES = ['scaler-ts', 'layout-esm', 'layout-cjs']
const YARN = [process.execPath, packagingPeer('@yarnpkg/cli-dist/bin/yarn.js')]

/** A project of current yarn. */
async function makeYarnProject(t: TestContext, linker: string): Promise<Installation> {
  const installation = await Installation.make(t)
  const settings = [
    `npmRegistryServer: '${installation.registry.url}'`,
    "unsafeHttpWhitelist: ['127.0.0.1']",
    `nodeLinker: ${linker}`,
    'enableTelemetry: false',
    // The default on CI.
    'enableImmutableInstalls: false',
  ]
  await installation.write({
    'package.json': '{"private":true}',
    'yarn.lock': '',
    '.yarnrc.yml': `${settings.join('\n')}\n`,
  })
  await installation.get([...YARN, 'add', ...PACKAGES])
  return installation
}

test(
  "installed by yarn's linker for node_modules, commands and programs work",
  { skip },
  async (t) => {
    const installation = await makeYarnProject(t, 'node-modules')
    assert.ok(existsSync(join(installation.project, 'node_modules/scaler-ts')))
    await installation.assertWorks((name) => [...YARN, 'run', name])
  },
)

// Loading takes seconds: its loader takes many milliseconds for every module. So only the
// differences are tried, and no cluster is embedded.
test("installed by yarn's Plug'n'Play, commands and programs work", { skip }, async (t) => {
  const installation = await makeYarnProject(t, 'pnp')
  assert.ok(existsSync(join(installation.project, '.pnp.cjs')))
  assert.ok(!existsSync(join(installation.project, 'node_modules')))
  const bin = (name: string): readonly string[] => [...YARN, 'run', name]
  await installation.assertVersions(bin)
  const address = await installation.startCluster(bin('scaler_scheduler'), bin('scaler_cluster'))
  const program = ['node', 'program.mjs', address]
  assert.equal(await installation.get([...YARN, ...program]), PROGRAM_ANSWER)
  // Node 20 looks for ES modules of `require` without asking Plug'n'Play.
  const node = [24, 22].map((major) => join(ROOT, `.peers/node-${major}/node`)).find(existsSync)
  if (node === undefined) return
  const script = [...YARN.slice(1), 'node', 'program.cjs', address]
  assert.equal(await installation.get([node, ...script]), PROGRAM_ANSWER)
})

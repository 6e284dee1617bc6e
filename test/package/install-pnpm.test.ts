// The package as pnpm installs it, with its links and its store, and as yarn 1 does.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Installation, packagingPeer, WITHOUT_PEERS as skip } from './installation.kit.js'

const PACKAGES = ['scaler-ts', 'layout-esm', 'layout-cjs']
const PNPM = [process.execPath, packagingPeer('pnpm/bin/pnpm.cjs')]
const YARN_CLASSIC = [process.execPath, packagingPeer('yarn/bin/yarn.js')]

test('installed by pnpm, commands and programs work', { skip }, async (t) => {
  const installation = await Installation.make(t)
  const { url } = installation.registry
  const said = await installation.get([...PNPM, 'add', ...PACKAGES, `--registry=${url}`])
  assert.doesNotMatch(said, /build scripts/)
  assert.ok(existsSync(join(installation.project, 'node_modules/.pnpm')))
  await installation.assertWorks((name) => [join(installation.project, 'node_modules/.bin', name)])
})

test('installed by yarn 1, commands and programs work', { skip }, async (t) => {
  const installation = await Installation.make(t)
  await installation.write({
    'package.json': '{"private":true}',
    '.yarnrc': `registry "${installation.registry.url}"\n`,
  })
  await installation.get([...YARN_CLASSIC, 'add', ...PACKAGES, '--non-interactive'])
  await installation.assertWorks((name) => [...YARN_CLASSIC, '--silent', 'run', name])
})

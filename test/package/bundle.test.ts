// Programs built by a bundler, with this package outside the bundle, and inside it, which cannot
// work. esbuild also builds this package; test/package/bundler.test.ts has others.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { build } from 'esbuild'
import { EXTERNAL_ANSWER, programFor } from './bundle-program.kit.js'
import { PackedProject } from './packed-project.kit.js'

const FORMATS = ['esm', 'cjs'] as const

async function bundled(
  t: TestContext,
  format: (typeof FORMATS)[number],
  options: { readonly external?: string[]; readonly minify?: boolean },
): Promise<{ readonly project: PackedProject; readonly file: string }> {
  const project = await PackedProject.make(t, { 'app.mjs': programFor('import') })
  const file = join(project.folder, format === 'esm' ? 'out/app.mjs' : 'out/app.cjs')
  const entryPoints = [join(project.folder, 'app.mjs')]
  await build({
    ...options,
    entryPoints,
    bundle: true,
    platform: 'node',
    format,
    outfile: file,
    logLevel: 'silent',
  })
  return { project, file }
}

test('the package works where the built-in classes are frozen', async (t) => {
  const project = await PackedProject.make(t, { 'app.mjs': programFor('import') })
  const flags = ['--no-warnings', '--frozen-intrinsics']
  assert.deepEqual(await project.node([...flags, 'app.mjs']), { code: 0, output: EXTERNAL_ANSWER })
})

for (const format of FORMATS) {
  test(`esbuild, ${format}: a bundle that leaves the package outside works`, async (t) => {
    const { project, file } = await bundled(t, format, { external: ['scaler-ts'] })
    assert.deepEqual(await project.node([file]), { code: 0, output: EXTERNAL_ANSWER })
  })

  for (const minify of [false, true]) {
    const how = minify ? 'minified' : 'as it is'
    test(`esbuild, ${format}, ${how}: with the package inside, the error says what to do`, async (t) => {
      const { project, file } = await bundled(t, format, { minify })
      const { code, output } = await project.node([file])
      assert.equal(code, 1)
      assert.match(output, /scaler-ts was bundled into .*: mark scaler-ts as external \(esbuild: /)
      assert.ok(output.length < 5_000, 'not headed by a line of the bundle')
    })
  }
}

// Like test/package/bundle.test.ts, with the other bundlers.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXTERNAL_ANSWER, programFor } from './bundle-program.kit.js'
import { ROOT } from './command.js'
import { PackedProject } from './packed-project.kit.js'

const PEERS = join(ROOT, '.peers/bundlers')
const skip = existsSync(join(PEERS, 'made-of')) ? false : 'no bundlers: node scripts/peers.mjs'

/**
 * A way to bundle `app.mjs`: a program for it, with `IS_OUTSIDE` as its parameter, and its output.
 */
const WAYS: readonly { readonly name: string; readonly made: string; readonly text: string }[] = [
  {
    name: 'webpack, CommonJS',
    made: 'out/app.cjs',
    text: webpackProgram("filename: 'app.cjs'", ''),
  },
  {
    name: 'webpack, ES module',
    made: 'out/app.mjs',
    text: webpackProgram(
      "filename: 'app.mjs', module: true",
      'experiments: { outputModule: true },',
    ),
  },
  { name: 'rollup, CommonJS', made: 'out/app.cjs', text: rollupProgram('cjs') },
  { name: 'rollup, ES module', made: 'out/app.mjs', text: rollupProgram('es') },
  {
    name: 'vite, ssr',
    made: 'out/app.mjs',
    text: `
const { build } = await import('vite')
await build({
  configFile: false,
  logLevel: 'silent',
  ssr: isOutside ? { external: ['scaler-ts'] } : { noExternal: true },
  build: { ssr: 'app.mjs', outDir: 'out', target: 'node20', rollupOptions: { output: { entryFileNames: 'app.mjs' } } },
})`,
  },
]

function webpackProgram(output: string, more: string): string {
  return `
const { default: webpack } = await import('webpack')
const options = {
  context: process.cwd(),
  mode: 'production',
  target: 'node20',
  entry: './app.mjs',
  ${more}
  output: { path: process.cwd() + '/out', ${output} },
  externals: isOutside ? { 'scaler-ts': 'node-commonjs scaler-ts' } : {},
}
await new Promise((resolve, reject) => {
  webpack(options, (error, stats) => {
    if (error) reject(error)
    else if (stats.hasErrors()) reject(new Error(stats.toString('errors-only')))
    else resolve()
  })
})`
}

function rollupProgram(format: 'cjs' | 'es'): string {
  const file = format === 'cjs' ? 'out/app.cjs' : 'out/app.mjs'
  return `
const { rollup } = await import('rollup')
const { default: nodeResolve } = await import('@rollup/plugin-node-resolve')
const { default: commonjs } = await import('@rollup/plugin-commonjs')
const bundle = await rollup({
  input: 'app.mjs',
  external: isOutside ? ['scaler-ts'] : [],
  plugins: [nodeResolve({ preferBuiltins: true }), commonjs()],
  onwarn: () => {},
})
await bundle.write({ file: '${file}', format: '${format}', inlineDynamicImports: true })
await bundle.close()`
}

for (const { name, made, text } of WAYS) {
  for (const isOutside of [true, false]) {
    const title = `${name}: ${isOutside ? 'beside the package it works' : 'inside it says what to do'}`
    test(title, { skip }, async (t) => {
      const files = { 'app.mjs': programFor('import'), 'package.json': '{}' }
      const project = await PackedProject.make(t, files)
      for (const bundler of ['webpack', 'rollup', 'vite', '@rollup']) {
        await project.link(bundler, join(PEERS, 'node_modules', bundler))
      }
      await project.write({ 'bundle.mjs': `const isOutside = ${isOutside}\n${text}\n` })
      const bundling = await project.node(['bundle.mjs'])
      assert.equal(bundling.code, 0, bundling.output)
      const { code, output } = await project.node([made])
      if (isOutside) assert.deepEqual({ code, output }, { code: 0, output: EXTERNAL_ANSWER })
      else {
        assert.equal(code, 1)
        // The message, not the line of the bundle that contains it.
        assert.match(
          output,
          /ConfigError\]?: scaler-ts was bundled into .*: mark scaler-ts as external/m,
        )
        assert.ok(output.length < 5_000, 'headed by a line of the bundle')
      }
    })
  }
}

// Writes `dist/commonjs.cjs`: the library as one CommonJS file, for programs whose `require` is not
// Node's own and cannot load ES modules, such as tests in Jest. Processes that the library starts
// never load it: they run the ES modules beside it.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { ROOT } from './paths.mjs'

const DIST = join(ROOT, 'dist')
const BUNDLE = join(DIST, 'commonjs.cjs')
/** The compiler writes it whenever a source has changed. */
const COMPILED = join(DIST, 'tsconfig.tsbuildinfo')
/** What the bundle knows of the files that it is made of. */
const OWN_EXPORTS = 'serializer/module/own-exports.js'

const BANNER = `"use strict";const __dist=require('node:url').pathToFileURL(__dirname).href`
const ENTRIES = ['index', 'protocol']

/** Writes the bundle if it is missing or older than what it is made of. */
export async function writeBundle() {
  if (isNew()) return
  // Not at the top: `npm ci` may still have to install it.
  const { build } = await import('esbuild')
  const bundle = (files, rest) => build({ ...optionsFor(files), ...rest })
  const { metafile } = await bundle([], { write: false, metafile: true })
  const files = Object.keys(metafile.inputs)
    .filter((path) => path.startsWith('dist/'))
    .map((path) => path.slice('dist/'.length))
  await bundle(files, { outfile: BUNDLE })
}

function isNew() {
  if (!existsSync(BUNDLE)) return false
  const { mtimeMs } = statSync(BUNDLE)
  const sources = [COMPILED, join(ROOT, 'scripts/bundle.mjs')]
  return sources.every((path) => statSync(path).mtimeMs <= mtimeMs)
}

/** `files` are those whose exports the bundle can find by the name of their file. */
function optionsFor(files) {
  return {
    stdin: {
      contents: ENTRIES.map((name) => `export * as ${name} from './${name}.js'`).join('\n'),
      resolveDir: DIST,
    },
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20.19',
    packages: 'external',
    // Names are kept: messages and stacks have them.
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
    banner: { js: BANNER },
    // As each file says it above its text.
    define: { 'import.meta.url': '__url' },
    plugins: [placesOf(files)],
  }
}

/** Keeps what the files say of their own place, and writes down what each of them exports. */
function placesOf(files) {
  return {
    name: 'places',
    setup(plugin) {
      plugin.onLoad({ filter: /[\\/]dist[\\/].*\.js$/ }, ({ path }) => {
        const file = relative(DIST, path).replaceAll('\\', '/')
        if (file === OWN_EXPORTS) return { contents: exportsText(files) }
        const text = readFileSync(path, 'utf8')
        if (!text.includes('import.meta.url')) return { contents: text }
        return { contents: `const __url=__dist+${JSON.stringify(`/${file}`)};${text}` }
      })
    },
  }
}

function exportsText(files) {
  const imports = files.map(
    (file, at) => `import * as m${at} from ${JSON.stringify(`../../${file}`)}`,
  )
  const entries = files.map((file, at) => `${JSON.stringify(file)}:m${at}`)
  return `${imports.join('\n')}\nexport const ownExports=()=>({${entries.join()}})`
}

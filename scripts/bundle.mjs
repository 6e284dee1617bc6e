// Writes `dist/`: the package as few files, because the start-up time of a process depends on the
// number of its modules. Each entry point, command and process started by the library is one file;
// what several of them share is in files beside them, so that a process has one instance of
// everything. `dist/commonjs.cjs` is the library again, as one CommonJS file, for programs whose
// `require` is not Node's own and cannot load ES modules, such as tests in Jest; the processes it
// starts run the ES modules.

import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { posix, join, relative } from 'node:path'
import { ROOT, filesUnder } from './paths.mjs'

/** The compiler's output, one file per source. */
const COMPILED = join(ROOT, 'lib')
const DIST = join(ROOT, 'dist')
/** Written by the compiler whenever a source has changed. */
const BUILD_INFO = join(COMPILED, 'tsconfig.tsbuildinfo')
const COMMONJS = join(DIST, 'commonjs.cjs')
/** Contains the exports of the files in a bundle; loaded with the library. */
const OWN_EXPORTS = 'own-exports'
/** Contains the location of `dist`: files derive their own location from it. */
const PLACE = 'dist-url'

const LIBRARY = ['index', 'protocol']
/** Processes and threads that the library starts, with the files that name them. */
const PROGRAMS = ['worker/processor-main', 'worker/guardian', 'cluster/embedded-main']

/**
 * Files that are chunks of their own, with their imports. Where a debugger stops, V8 examines all
 * variables of a module for each function on the stack (inspect/variables.ts).
 */
const SEAMS = [
  'serializer/inspect/inspector',
  'serializer/function/cell-keys',
  'serializer/function/analyst',
  'serializer/value/message',
  'serializer/default-serializer',
  'serializer/serializer',
]

/** Writes the bundles if they are missing or older than their sources. */
export async function writeBundles() {
  if (isNew()) return
  // Not at the top: `npm ci` may still have to install esbuild.
  const { build } = await import('esbuild')
  const { parse } = await import('acorn')
  const { metafile } = await build({ ...cjs([]), write: false, metafile: true })
  const exported = exportsOf(metafile, parse)
  await writeModules(build, exported)
  // Written last: its date shows whether the bundles are up to date.
  await build({ ...cjs(exported), outfile: COMMONJS })
}

function isNew() {
  if (!existsSync(COMMONJS)) return false
  const { mtimeMs } = statSync(COMMONJS)
  const sources = [BUILD_INFO, join(ROOT, 'scripts/bundle.mjs'), join(ROOT, 'package.json')]
  return sources.every((path) => statSync(path).mtimeMs <= mtimeMs)
}

async function writeModules(build, exported) {
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const commands = Object.values(bin).map((path) => path.replace(/^dist\/|\.js$/g, ''))
  const entries = [...LIBRARY, ...PROGRAMS, ...SEAMS, ...new Set(commands)]
  // Another bundler may remove it; it is not needed then (refuse-bundling.ts).
  const url = `import { pathToFileURL } from 'node:url'
    export const distUrl = pathToFileURL(import.meta.dirname ?? '/').href`
  const { metafile } = await build({
    ...options(exported, url),
    entryPoints: entries.map((name) => join(COMPILED, `${name}.js`)),
    outbase: COMPILED,
    outdir: DIST,
    splitting: true,
    format: 'esm',
    metafile: true,
  })
  const outputs = Object.entries(metafile.outputs)
  const [place] = outputs.find(([, { inputs }]) => Object.keys(inputs).some(isPlace))
  if (posix.dirname(place) !== 'dist') throw new Error(`${place} does not locate dist`)
  const loaded = new Set(outputs.flatMap(([, { imports }]) => imports.map(({ path }) => path)))
  for (const [path, { entryPoint }] of outputs) {
    const isSeam = SEAMS.some((name) => entryPoint === `lib/${name}.js`)
    if (!isSeam) loaded.add(path)
  }
  // Left by an earlier build; files of seams contain nothing but the name of a chunk.
  for (const path of filesUnder('dist', (name) => name.endsWith('.js'))) {
    if (!loaded.has(path)) rmSync(join(ROOT, path))
  }
}

function isPlace(input) {
  return input.startsWith(`${PLACE}:`)
}

function cjs(exported) {
  const lines = LIBRARY.map((name) => `export * as ${name} from './${name}.js'`)
  const url = `export const distUrl = require('node:url').pathToFileURL(__dirname).href`
  return {
    ...options(exported, url),
    stdin: { contents: lines.join('\n'), resolveDir: COMPILED },
    format: 'cjs',
  }
}

/** `exported`: what the bundle finds by file name; `url`: the code of PLACE. */
function options(exported, url) {
  return {
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    // `sideEffects` is for other bundlers, and does not apply to the compiler's output.
    ignoreAnnotations: true,
    legalComments: 'none',
    logLevel: 'warning',
    define: { 'import.meta.url': '__url' },
    inject: [join(COMPILED, 'runtime/real-timers.js')],
    plugins: [placesOf(exported, url)],
  }
}

/** Keeps the files' references to their own location, and records what each of them exports. */
function placesOf(exported, url) {
  return {
    name: 'places',
    setup(plugin) {
      for (const [name, contents] of [
        [PLACE, url],
        [OWN_EXPORTS, exportsText(exported)],
      ]) {
        const filter = new RegExp(`^${name}$`)
        plugin.onResolve({ filter }, () => ({ path: name, namespace: name }))
        plugin.onLoad({ filter, namespace: name }, () => ({ contents, resolveDir: COMPILED }))
      }
      plugin.onLoad({ filter: /[\\/]lib[\\/].*\.js$/ }, ({ path }) => {
        const file = relative(COMPILED, path).replaceAll('\\', '/')
        const text = readFileSync(path, 'utf8')
        if (file === 'index.js') return { contents: `${text}\nimport '${OWN_EXPORTS}'` }
        if (!text.includes('import.meta.url')) return { contents: text }
        const place = `import { distUrl as __d } from '${PLACE}'; const __url = __d + '/${file}'`
        return { contents: `${place}\n${text}` }
      })
    },
  }
}

/**
 * The exports of the files loaded with the library, as `[file, names]`: not of those loaded on
 * demand, since naming them would load them with it.
 */
function exportsOf({ inputs }, parse) {
  const files = new Set()
  const visit = (path) => {
    if (files.has(path) || !path.startsWith('lib/')) return
    files.add(path)
    for (const { path: next, kind } of inputs[path].imports) {
      if (kind !== 'dynamic-import') visit(next)
    }
  }
  for (const name of LIBRARY) visit(`lib/${name}.js`)
  return [...files].map((path) => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    return [path.replace('lib/', ''), exportedNames(parse(text, PARSING).body)]
  })
}

const PARSING = { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true }

function exportedNames(statements) {
  return statements.flatMap(({ type, declaration, specifiers }) => {
    if (type === 'ExportAllDeclaration') throw new Error('name exports individually')
    if (type !== 'ExportNamedDeclaration') return []
    if (declaration === null) return specifiers.map(({ exported }) => exported.name)
    const declared = declaration.declarations ?? [declaration]
    return declared.map(({ id }) => id.name)
  })
}

function exportsText(exported) {
  const lines = []
  const entries = []
  for (const [at, [file, names]] of exported.entries()) {
    const locals = names.map((name) => [name, `e${at}_${name}`])
    const list = (as) => locals.map(([name, local]) => `${name}${as}${local}`).join(', ')
    if (names.length === 0) continue
    lines.push(`import { ${list(' as ')} } from './${file}'`)
    entries.push(`  '${file}': () => ({ ${list(': ')} }),`)
  }
  lines.push("import { setBundled } from './serializer/module/package.js'")
  return [...lines, 'setBundled({', ...entries, '})'].join('\n')
}

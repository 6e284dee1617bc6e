// Writes `dist/`: the package as few files, for what takes time when a process starts is the number
// of its modules. Each entry point, command and process that the library starts is one file, and
// what several of them have in common is in files beside them, so that a process has one instance
// of everything. `dist/commonjs.cjs` is the library once more, as one CommonJS file, for programs
// whose `require` is not Node's own and cannot load ES modules, such as tests in Jest; processes
// that it starts run the ES modules.

import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { posix, join, relative } from 'node:path'
import { ROOT, filesUnder } from './paths.mjs'

/** What the compiler writes, a file for each source. */
const COMPILED = join(ROOT, 'lib')
const DIST = join(ROOT, 'dist')
/** The compiler writes it whenever a source has changed. */
const BUILD_INFO = join(COMPILED, 'tsconfig.tsbuildinfo')
const COMMONJS = join(DIST, 'commonjs.cjs')
/** Says what the files export that a bundle is made of; is loaded with the library. */
const OWN_EXPORTS = 'own-exports'
/** Says where `dist` is: files take what they know of their own place from it. */
const PLACE = 'dist-url'

const LIBRARY = ['index', 'protocol']
/** Processes and threads that the library starts, by the files that say so. */
const PROGRAMS = ['worker/processor-main', 'worker/guardian', 'cluster/embedded-main']

/**
 * Files that are chunks of their own, with what they import. V8 looks at all variables of a module
 * for each function on the stack where a debugger stops (inspect/variables.ts).
 */
const SEAMS = [
  'serializer/inspect/inspector',
  'serializer/function/cell-keys',
  'serializer/function/analyst',
  'serializer/value/message',
  'serializer/default-serializer',
  'serializer/serializer',
]

/** Writes the bundles if they are missing or older than what they are made of. */
export async function writeBundles() {
  if (isNew()) return
  // Not at the top: `npm ci` may still have to install them.
  const { build } = await import('esbuild')
  const { parse } = await import('acorn')
  const { metafile } = await build({ ...cjs([]), write: false, metafile: true })
  const exported = exportsOf(metafile, parse)
  await writeModules(build, exported)
  // The last: by its date it is seen whether they are new.
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
  // Another bundler may leave nothing of it: then it matters no more (refuse-bundling.ts).
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
  if (posix.dirname(place) !== 'dist') throw new Error(`${place} does not say where dist is`)
  const loaded = new Set(outputs.flatMap(([, { imports }]) => imports.map(({ path }) => path)))
  for (const [path, { entryPoint }] of outputs) {
    const isSeam = SEAMS.some((name) => entryPoint === `lib/${name}.js`)
    if (!isSeam) loaded.add(path)
  }
  // Of an earlier build; and those of seams have nothing but the name of a chunk in them.
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

/** `exported` is what the bundle can find by the name of its file; `url` is the code of PLACE. */
function options(exported, url) {
  return {
    absWorkingDir: ROOT,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    // `sideEffects` is meant for others, and says nothing of the files that the compiler writes.
    ignoreAnnotations: true,
    legalComments: 'none',
    logLevel: 'warning',
    define: { 'import.meta.url': '__url' },
    inject: [join(COMPILED, 'runtime/real-timers.js')],
    plugins: [placesOf(exported, url)],
  }
}

/** Keeps what the files say of their own place, and writes down what each of them exports. */
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
 * What the files export that are loaded with the library, as `[file, names]`: not those that are
 * loaded when they are needed, and would be loaded with it if they were named.
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
    if (type === 'ExportAllDeclaration') throw new Error('name what is exported')
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

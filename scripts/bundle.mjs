// Writes `dist/`: the package as few CommonJS files, because the start-up time of a process depends
// on the number and the size of its modules. What several processes share is in files of its own,
// so that a process has one instance of everything. Entry points, commands and processes that the
// library starts load them through `dist/load.cjs` (src/runtime/load.ts); scripts/entries.mjs
// writes these. Comments and spaces are removed; names stay, for stacks and messages.

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { writeEntries } from './entries.mjs'
import { ROOT, filesUnder } from './paths.mjs'
import { toCjs } from './to-cjs.mjs'

/** The compiler's output, one file per source. */
const COMPILED = join(ROOT, 'lib')
const DIST = join(ROOT, 'dist')
/** Written by the compiler whenever a source has changed. */
const BUILD_INFO = join(COMPILED, 'tsconfig.tsbuildinfo')

// Modules that only the bundles have.

/** Contains the exports of the files in a bundle; loaded with the library. */
const OWN_EXPORTS = '\0own-exports'
/** Contains the location of `dist`: files derive their own location from it. */
const PLACE = '\0dist-url'

/** The entry points of the library. */
const LIBRARY = ['index', 'protocol']
/** What is in a bundle instead of this file: the page of `scaler ui`. */
const PAGE_FILES = 'cli/ui/page-files'
const PAGE = join(ROOT, 'page')
/** The files in `dist`, and where they begin. */
const ENTRIES = {
  library: fileOf('index'),
  wire: fileOf('protocol'),
  base: fileOf('cluster/embedded-main'),
  processor: fileOf('worker/processor-main'),
  cli: fileOf('cli/main'),
}
/** A thread of a processor. It shares no instance with anything, so that it is one small file. */
const THREAD = 'worker/guardian'
/** What loads the others. */
const LOADER = 'runtime/load'

/** The chunks of shared code, by the files in them; the first that fits. */
const CHUNKS = [
  // Six that are loaded on demand.
  ['allocate', /^core\/allocate\/|^allocate\/(?!(allocator|options)$)|^cluster\/elastic-/],
  ['log', /^runtime\/log\/(open|output)$/],
  ['toml', /^runtime\/(logging-file|toml)$/],
  ['config-file', /^cli\/option\/config-file$/],
  ['doctor', /^cli\/(table|top\/\w|report\/|command\/\w+-text)/],
  ['doctor', /^client\/connect\/(diagnosis|peers|workers)$/],
  [
    'base',
    /^base\/|^runtime\/real-timers$|^cluster\/embedded-(lines|main)$|^worker\/agent\/spawn$/,
  ],
  ['base', /^runtime\/child-environment$/],
  [
    'wire',
    /^(wire\/|protocol$)|^runtime\/(task-scope|tracing)$|^core\/(function-tally|task-table)$/,
  ],
  // For agents, which do not load the serializer.
  ['wire', /^serializer\/(own-error|bytes\/(tag|writer))$/],
  ['client', /^((core\/)?client|core\/monitor|cluster\/|allocate\/|runtime\/progress)/],
  // The shell of the scheduler is small, and its machine is loaded on demand.
  ['server', /^scheduler\//],
  ['transport', /^(transport|runtime)\//],
  ['scheduler', /^core\/scheduler\//],
  ['serializer', /^serializer\//],
  ['agent', /^(core\/worker|worker\/(agent|link|symphony)|worker\/object-ids)/],
  ['ui', /^cli\/ui\//],
  // What runs for long has its own file.
  ['cli', /^cli\/([^/]+|option\/[\w-]+|command\/(scheduler|[\w-]*cluster|object-[\w-]+))$/],
  ['tools', /^cli\//],
]

/** What the entry points of the library export. */
const exported = new Map()

/** Writes the bundles if they are missing or older than their sources. */
export async function writeBundles() {
  if (isNew()) return
  const chunks = await writeBundle(ENTRIES, { place: PLACE_TEXT })
  const thread = { [THREAD]: fileOf(THREAD) }
  const alone = await writeBundle(thread, { place: THREAD_PLACE, isAlone: true })
  const entries = writeEntries({
    index: { file: 'library.cjs', names: exported.get('index') },
    protocol: { file: 'wire.cjs', names: exported.get('protocol') },
  })
  // Written last: its date shows whether the bundles are up to date.
  const loader = await writeBundle({ load: fileOf(LOADER) }, { place: PLACE_TEXT, isAlone: true })
  removeOthers(new Set([...chunks, ...alone, ...entries, ...loader]))
}

function isNew() {
  const last = join(DIST, 'load.cjs')
  if (!existsSync(last)) return false
  const { mtimeMs } = statSync(last)
  const page = filesUnder('page', () => true).map((path) => join(ROOT, path))
  const scripts = ['bundle', 'entries', 'to-cjs'].map((name) => `scripts/${name}.mjs`)
  const own = [BUILD_INFO, ...[...scripts, 'package.json'].map((path) => join(ROOT, path))]
  const sources = [...own, ...page]
  return sources.every((path) => statSync(path).mtimeMs <= mtimeMs)
}

function fileOf(name) {
  return join(COMPILED, `${name}.js`)
}

/** From the folder of the compiled files, without `.js`; undefined for other modules. */
function nameOf(id) {
  const path = relative(COMPILED, id).replaceAll('\\', '/')
  return path.startsWith('..') || id.startsWith('\0') ? undefined : path.replace(/\.js$/, '')
}

/** Bundles, writes files into `dist`, and returns their names. */
async function writeBundle(input, { place, isAlone = false }) {
  // Not at the top: `npm ci` may still have to install them.
  const [{ rollup }, { transform }] = await Promise.all([import('rollup'), import('esbuild')])
  const bundle = await rollup({
    input,
    plugins: [places(place)],
    external: (id) => !/^[./\0]/.test(id),
    preserveEntrySignatures: 'allow-extension',
    treeshake: isAlone,
    onwarn: ({ message }) => {
      // The library imports a list of its own exports.
      if (!message.includes(OWN_EXPORTS.slice(1))) throw new Error(message)
    },
  })
  const { output } = await bundle.generate({
    format: 'es',
    entryFileNames: '[name].js',
    chunkFileNames: '[name].js',
    hoistTransitiveImports: false,
    generatedCode: 'es2015',
    ...(isAlone ? { inlineDynamicImports: true } : { manualChunks: chunkOf }),
  })
  await bundle.close()
  const written = []
  for (const { fileName, code } of output) {
    const { code: text } = await transform(toCjs(code, isAlone ? undefined : './load.cjs'), {
      minifySyntax: true,
      minifyWhitespace: true,
      minifyIdentifiers: true,
      legalComments: 'none',
      target: 'node20.19',
      // Node prints the line of an uncaught error.
      lineLimit: 500,
    })
    const name = fileName.replace(/\.js$/, '.cjs')
    const path = join(DIST, name)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, ascii(text))
    written.push(name)
  }
  return written
}

/** The loader reads one character per byte; esbuild leaves others in regular expressions. */
function ascii(text) {
  return text.replace(/[^\0-\x7f]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

/**
 * The chunk of a module. What commands load before they start anything is in that of the base; what
 * agents and processors share is in one between them.
 */
function chunkOf(id, { getModuleInfo }) {
  if (id === PLACE) return 'base'
  const name = nameOf(id)
  if (name === undefined) return undefined
  const isLoadedBy = (entry) => loadedFiles(entry, getModuleInfo).has(id)
  if (!name.startsWith('cli/') && isLoadedBy('cli')) return 'base'
  const chunk = CHUNKS.find(([, files]) => files.test(name))?.[0]
  return chunk === 'agent' && isLoadedBy('processor') ? 'link' : chunk
}

/** In one file, all of them. */
const COMMAND = /^cli\/(command|completion)\/[a-z-]+$/

const known = new Map()

/** The files that an entry imports, directly or not, but not dynamically, except for commands. */
function loadedFiles(entry, getModuleInfo) {
  const before = known.get(entry)
  if (before !== undefined) return before
  const files = new Set()
  const visit = (id) => {
    const info = getModuleInfo(id)
    if (files.has(id) || info === null) return
    files.add(id)
    const commands = info.dynamicallyImportedIds.filter((next) => COMMAND.test(nameOf(next)))
    for (const next of [...info.importedIds, ...commands]) visit(next)
  }
  visit(ENTRIES[entry])
  known.set(entry, files)
  return files
}

/** Removes from `dist` the code left by an earlier build. */
function removeOthers(written) {
  for (const path of filesUnder('dist', (name) => /\.c?js$/.test(name))) {
    if (!written.has(path.replace('dist/', ''))) rmSync(join(ROOT, path))
  }
}

// Bundles of ES modules have no `__dirname`; it is not needed then (refuse-bundling.ts).
const PLACE_TEXT = `import { pathToFileURL } from 'node:url'
  export const distUrl = pathToFileURL(typeof __dirname === 'string' ? __dirname : '/').href`
const THREAD_PLACE = `import { join } from 'node:path'
  import { pathToFileURL } from 'node:url'
  export const distUrl = pathToFileURL(join(__dirname, '..')).href`

/** The globals that test runners replace, and the file that has the originals. */
const TIMERS =
  /\b(setTimeout|clearTimeout|setInterval|clearInterval|setImmediate|queueMicrotask|performance)\b/g
const TIMERS_FILE = 'runtime/real-timers'

/**
 * Keeps the files' references to their own location, records what each of them exports, and makes
 * them use the original timers.
 */
function places(place) {
  return {
    name: 'places',
    buildEnd() {
      for (const name of LIBRARY) {
        const info = this.getModuleInfo(fileOf(name))
        if (info !== null) exported.set(name, info.exports)
      }
    },
    resolveId: (id) => (id.startsWith('\0') ? id : undefined),
    load(id) {
      if (id === PLACE) return place
      if (id === OWN_EXPORTS) return ownExports(this)
      return nameOf(id) === PAGE_FILES ? pageFiles() : undefined
    },
    transform(code, id) {
      const name = nameOf(id)
      if (name === undefined) return undefined
      if (name === 'index') return `${code}\nimport '${OWN_EXPORTS}'`
      return withTimers(withPlace(code, name, this.parse), name)
    },
  }
}

/** The page as one file of each kind: the compiler has checked its sources. */
async function pageFiles() {
  const { build, transform } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [join(PAGE, 'main.ts')],
    bundle: true,
    minify: true,
    format: 'iife',
    target: 'es2022',
    charset: 'utf8',
    legalComments: 'none',
    write: false,
  })
  const css = readFileSync(join(PAGE, 'style.css'), 'utf8')
  const files = {
    html: readFileSync(join(PAGE, 'index.html'), 'utf8'),
    css: (await transform(css, { loader: 'css', minify: true })).code,
    js: outputFiles[0].text,
  }
  return `export const PAGE_FILES = ${JSON.stringify(files)}`
}

/** Replaces the expression, but not its text in a message. */
function withPlace(code, name, parse) {
  if (!code.includes('import.meta.url')) return code
  const places = [...ownUrls(parse(code))]
  if (places.length === 0) return code
  const own = `import { distUrl as __d } from '${PLACE}'; const __url = __d + '/${name}.js'`
  let text = code
  for (const { start, end } of places.reverse()) {
    text = `${text.slice(0, start)}__url${text.slice(end)}`
  }
  return `${own}\n${text}`
}

/** The expressions `import.meta.url` of a syntax tree, in their order. */
function* ownUrls(node) {
  const { type, object, property } = node
  if (type === 'MemberExpression' && object.type === 'MetaProperty' && property.name === 'url') {
    yield node
    return
  }
  for (const part of Object.values(node).flat()) {
    if (typeof part?.type === 'string') yield* ownUrls(part)
  }
}

/** A file that imports or declares a name itself keeps its own. */
function withTimers(code, name) {
  if (name === TIMERS_FILE) return code
  const used = new Set(code.match(TIMERS))
  const names = [...used].filter((timer) => !declares(code, timer))
  if (names.length === 0) return code
  return `import { ${names.join(', ')} } from '${fileOf(TIMERS_FILE)}'\n${code}`
}

function declares(code, name) {
  const imports = code.match(/^import \{[^}]*\}/gm)?.join('\n') ?? ''
  return new RegExp(`\\b${name}\\b(?! as\\b)`).test(imports)
}

/**
 * The exports of the files loaded with the library, by file: not of those loaded on demand, since
 * naming them would load them with it.
 */
async function ownExports(context) {
  const files = new Map()
  const visit = async (id) => {
    const name = nameOf(id)
    if (name === undefined || files.has(name)) return
    files.set(name, undefined)
    const { exports, importedIds } = await context.load({ id, resolveDependencies: true })
    files.set(name, exports)
    for (const next of importedIds) await visit(next)
  }
  for (const name of LIBRARY) await visit(fileOf(name))
  return exportsText([...files])
}

function exportsText(exported) {
  const lines = []
  const entries = []
  for (const [at, [name, names]] of exported.entries()) {
    const locals = names.map((name) => [name, `e${at}_${name}`])
    const list = (as) => locals.map(([name, local]) => `${name}${as}${local}`).join(', ')
    if (names.length === 0) continue
    lines.push(`import { ${list(' as ')} } from '${fileOf(name)}'`)
    entries.push(`  '${name}.js': () => ({ ${list(': ')} }),`)
  }
  lines.push(`import { setBundled } from '${fileOf('serializer/module/package')}'`)
  return [...lines, 'setBundled({', ...entries, '})'].join('\n')
}

// Enforces the import rules of src/ (the table of ARCHITECTURE.md): which folder may import which,
// that there are no circular imports of values, and that the pure folders use neither Node nor
// impure globals. The table allows no circle between folders; within a folder, `import type` may
// point back. Tests are exempt. Run by `npm run check`; prints one line per offence.

import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { ROOT, filesUnder } from './paths.mjs'

const SHELL = ['base', 'wire', 'core', 'serializer', 'transport', 'runtime']

/** What a folder of src/ may import besides itself: other folders, and packages. */
const FOLDERS = {
  base: { may: [], isPure: true },
  wire: { may: ['base'], isPure: true },
  core: { may: ['base', 'wire'], isPure: true },
  serializer: { may: ['base'], packages: ['acorn'] },
  transport: { may: ['base'] },
  runtime: { may: ['base', 'wire', 'transport'], packages: ['smol-toml'] },
  scheduler: { may: SHELL },
  worker: { may: SHELL },
  client: { may: SHELL },
  cluster: { may: [...SHELL, 'scheduler', 'worker', 'allocate'] },
  allocate: { may: [...SHELL, 'client', 'worker'] },
  cli: {
    may: ['base', 'runtime', 'scheduler', 'worker', 'client', 'cluster', 'allocate'],
    packages: ['smol-toml'],
  },
}

/**
 * The only exception to the table: `Client.local` loads the cluster when it is called. It must not
 * be loaded earlier, so only a dynamic import and types are allowed.
 */
const EXCEPTION = { from: 'client/client.ts', toFolder: 'cluster' }

/** Globals for time, randomness, waiting or the process. `Buffer` is only bytes. */
const IMPURE_GLOBALS = new Set(
  `Date performance process crypto Promise console fetch queueMicrotask require
   setTimeout setInterval setImmediate clearTimeout clearInterval clearImmediate`.split(/\s+/),
)

/**
 * System calls that may throw, for example if no file descriptor is left: only one file uses them,
 * and handles the errors.
 */
const USAGE_FILE = 'runtime/process-usage.ts'
const USAGE_CALLS = new Set(
  'memoryUsage cpuUsage resourceUsage freemem loadavg networkInterfaces'.split(' '),
)

/** All offences among `sources` (path under src/ -> text), as lines `path:line: what`. */
export function importOffences(sources) {
  const files = new Map()
  const offences = []
  for (const [path, text] of sources) {
    const parsed = parse(path, text)
    files.set(path, parsed.imports)
    if (isTest(path)) continue
    for (const found of parsed.imports) {
      const why = importOffence(path, found, sources)
      if (why !== undefined) offences.push(`src/${path}:${found.line}: ${why}`)
    }
    for (const { name, line } of path === USAGE_FILE ? [] : parsed.usageCalls) {
      offences.push(`src/${path}:${line}: ${name} may throw; use ${USAGE_FILE}`)
    }
    if (FOLDERS[folderOf(path)]?.isPure !== true) continue
    for (const { name, line } of parsed.impurities) {
      offences.push(`src/${path}:${line}: ${folderOf(path)} is pure, but uses ${name}`)
    }
  }
  return [...offences, ...circles(files)]
}

function importOffence(path, { specifier, isLoaded }, sources) {
  const folder = folderOf(path)
  const rules = folder === '' ? undefined : FOLDERS[folder]
  if (folder !== '' && rules === undefined) return `src/${folder}/ is not in the import table`
  if (specifier.startsWith('node:')) {
    return rules?.isPure === true ? `${folder} is pure, but imports ${specifier}` : undefined
  }
  if (!specifier.startsWith('.')) {
    const isAllowed = rules?.packages?.includes(specifier) === true
    return isAllowed ? undefined : `package ${specifier} may not be imported here`
  }
  const target = resolve(path, specifier)
  if (!sources.has(target)) return `${specifier} is not a file of src/`
  if (isTest(target)) return `imports a test, ${specifier}`
  const toFolder = folderOf(target)
  if (rules === undefined || folder === toFolder) return coreOffence(path, target)
  const isException = path === EXCEPTION.from && toFolder === EXCEPTION.toFolder && !isLoaded
  if (rules.may.includes(toFolder) || isException) return undefined
  return `${folder} may not import ${toFolder === '' ? 'an entry point' : toFolder}`
}

/** The machines of core/ must not import each other. */
function coreOffence(path, target) {
  const [folder, machine] = path.split('/')
  const [, other] = target.split('/')
  if (folder !== 'core' || machine === other || other.endsWith('.ts')) return undefined
  return `core/${machine} may not import core/${other}`
}

/** Reports each circle of static value imports once, with its files. */
function circles(files) {
  const offences = []
  const state = new Map()
  const visit = (path, trail) => {
    if (state.get(path) === 'done' || !files.has(path)) return
    if (state.get(path) === 'open') {
      const circle = [...trail.slice(trail.indexOf(path)), path]
      offences.push(`src/${path}: imports itself through ${circle.slice(1).join(' -> ')}`)
      return
    }
    state.set(path, 'open')
    for (const { specifier, isLoaded } of files.get(path)) {
      if (specifier.startsWith('.') && isLoaded) visit(resolve(path, specifier), [...trail, path])
    }
    state.set(path, 'done')
  }
  for (const path of files.keys()) visit(path, [])
  return offences
}

/** The imports of a file, and the impure globals and usage calls in it. */
function parse(path, text) {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports = []
  const impurities = []
  const usageCalls = []
  const lineOf = (node) => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
  const walk = (node) => {
    const specifier = specifierOf(node)
    if (specifier !== undefined && ts.isStringLiteral(specifier)) {
      const isLoaded = !ts.isCallExpression(node) && !isTypeOnly(node)
      imports.push({ specifier: specifier.text, line: lineOf(node), isLoaded })
    }
    const name = impureName(node)
    if (name !== undefined) impurities.push({ name, line: lineOf(node) })
    if (ts.isIdentifier(node) && USAGE_CALLS.has(node.text)) {
      usageCalls.push({ name: node.text, line: lineOf(node) })
    }
    ts.forEachChild(node, walk)
  }
  walk(file)
  return { imports, impurities, usageCalls }
}

function specifierOf(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isImportTypeNode(node)) return node.argument.literal
  const isImportCall =
    ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
  return isImportCall ? node.arguments[0] : undefined
}

function isTypeOnly(node) {
  if (ts.isImportTypeNode(node)) return true
  if (ts.isExportDeclaration(node)) return node.isTypeOnly
  return node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
}

function impureName(node) {
  if (ts.isPropertyAccessExpression(node) && node.getText() === 'Math.random') return 'Math.random'
  if (ts.isAwaitExpression(node) || node.kind === ts.SyntaxKind.AsyncKeyword) return 'async code'
  if (!ts.isIdentifier(node) || !IMPURE_GLOBALS.has(node.text)) return undefined
  const { parent } = node
  const isMemberName =
    parent.name === node || parent.propertyName === node || ts.isQualifiedName(parent)
  return isMemberName ? undefined : node.text
}

function resolve(path, specifier) {
  return posix.join(dirname(path), specifier).replace(/\.js$/, '.ts')
}

function folderOf(path) {
  return path.includes('/') ? path.slice(0, path.indexOf('/')) : ''
}

/** Tests, and their shared code (`*.kit.ts`). */
function isTest(path) {
  return /\.(test|kit)\./.test(path)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const paths = filesUnder('src', (path) => path.endsWith('.ts'))
  const sources = new Map(
    paths.map((path) => [path.slice('src/'.length), readFileSync(join(ROOT, path), 'utf8')]),
  )
  const offences = importOffences(sources)
  for (const offence of offences) console.log(offence)
  process.exitCode = offences.length === 0 ? 0 : 1
}

// Loads the code of the package, which is in a few CommonJS files, and keeps what V8 has compiled
// of it in a folder of the user's cache: processes that start later take it from there. The first
// file that any of them loads; it is bundled alone.

import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire, Module } from 'node:module'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { Script } from 'node:vm'
import './refuse-bundling.js'

/** A module of CommonJS. */
interface LoadedModule {
  exports: unknown
}

type Require = (id: string) => unknown

/** The function that a CommonJS file is the body of: `HEAD` names its parameters. */
type Body = (...args: [unknown, Require, LoadedModule, string, string]) => void

const HEAD = '(function (exports, require, module, __filename, __dirname) { '
const TAIL = '\n})'

/** The loader of this copy of the package: tools may load this file twice. */
const LOADER = Symbol.for(`scaler-ts.loader ${import.meta.url}`)

/**
 * Returns the exports of a file of this package; undefined if the module that asks, `from`, does
 * not come from Node itself but from Jest, say, which loads everything in its own way. `kind`: what
 * the process is, because each kind runs other parts of the same files.
 */
export function load(from: unknown, id: string, kind: string): unknown {
  if (!(from instanceof Module)) return undefined
  const holder = globalThis as { [LOADER]?: Loader }
  if (holder[LOADER] === undefined) {
    Object.defineProperty(holder, LOADER, { value: new Loader(new CompileCache(kind)) })
  }
  return holder[LOADER]?.load(join(dirname(from.filename), id))
}

/** Imports a module: V8 cannot, in code that comes from a cache. */
export function importModule(specifier: string): Promise<unknown> {
  return import(specifier)
}

/** Loads each file once. */
class Loader {
  readonly #modules = new Map<string, LoadedModule>()
  readonly #cache: CompileCache

  constructor(cache: CompileCache) {
    this.#cache = cache
  }

  load(path: string): unknown {
    const known = this.#modules.get(path)
    if (known !== undefined) return known.exports
    const loaded: LoadedModule = { exports: {} }
    this.#modules.set(path, loaded)
    const folder = dirname(path)
    const requireOther: Require = createRequire(path)
    const require: Require = (id) => {
      // Node itself loads this file.
      const isPart = id.startsWith('.') && id !== './load.cjs'
      return isPart ? this.load(join(folder, id)) : requireOther(id)
    }
    this.#compile(path)(loaded.exports, require, loaded, path, folder)
    return loaded.exports
  }

  #compile(path: string): Body {
    // They are ASCII.
    const source = readFileSync(path, 'latin1')
    const name = `${basename(path)}-${sumOf(source).toString('hex')}`
    const cachedData = this.#cache.read(name)
    const script = new Script(`${HEAD}${source}${TAIL}`, {
      filename: path,
      columnOffset: -HEAD.length,
      ...(cachedData === undefined ? {} : { cachedData }),
    })
    if (cachedData === undefined || script.cachedDataRejected === true) {
      this.#cache.add(name, script)
    }
    return script.runInThisContext() as Body
  }
}

// What V8 has compiled.

/** By then a process has run, and V8 has compiled, what it needs to start. */
const SETTLED_MS = 2_000
/** Files that are older are removed: most are of other versions. In milliseconds. */
const MAX_AGE_MS = 90 * 24 * 3_600_000
/** If there are more files, the oldest are removed. */
const MAX_FILES = 500
/** The length of a SHA-1, with which each file begins. */
const SUM_BYTES = 20

/** V8 refuses what another version has compiled, or one with other options. */
const ENGINE: string = sumOf(
  JSON.stringify([process.version, process.arch, process.execArgv, process.env['NODE_OPTIONS']]),
)
  .toString('hex')
  .slice(0, 12)

/**
 * Files with what V8 has compiled. Nothing depends on them: a cache that is missing, unreadable,
 * full or damaged only costs time.
 */
class CompileCache {
  readonly #kind: string
  readonly #folder: string | undefined = cacheFolder()
  readonly #missing = new Map<string, Script>()

  constructor(kind: string) {
    this.#kind = kind
  }

  read(name: string): Buffer | undefined {
    if (this.#folder === undefined) return undefined
    try {
      const bytes = readFileSync(this.#path(name))
      const code = bytes.subarray(SUM_BYTES)
      return sumOf(code).equals(bytes.subarray(0, SUM_BYTES)) ? code : undefined
    } catch {
      return undefined
    }
  }

  /** Adds what V8 has compiled of this script once the process has settled, or exits. */
  add(name: string, script: Script): void {
    if (this.#folder === undefined) return
    if (this.#missing.size === 0) {
      const write = (): void => {
        process.off('exit', write)
        clearTimeout(timer)
        this.#write()
      }
      const timer = setTimeout(write, SETTLED_MS)
      timer.unref()
      process.on('exit', write)
    }
    this.#missing.set(name, script)
  }

  #write(): void {
    const missing = [...this.#missing]
    this.#missing.clear()
    try {
      for (const [name, script] of missing) writeAtomically(this.#path(name), script)
      removeOld(this.#folder ?? '')
    } catch {
      // The next process tries again.
    }
  }

  #path(name: string): string {
    return join(this.#folder ?? '', `${this.#kind}-${ENGINE}-${name}`)
  }
}

function writeAtomically(path: string, script: Script): void {
  const code = script.createCachedData()
  const draft = `${path}.${process.pid}`
  try {
    writeFileSync(draft, Buffer.concat([sumOf(code), code]), { mode: 0o600 })
    renameSync(draft, path)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
}

function removeOld(folder: string): void {
  const files = readdirSync(folder)
    .map((name) => join(folder, name))
    .map((path) => ({ path, writtenMs: statSync(path).mtimeMs }))
    .sort((one, other) => other.writtenMs - one.writtenMs)
  for (const [at, { path, writtenMs }] of files.entries()) {
    if (at >= MAX_FILES || Date.now() - writtenMs > MAX_AGE_MS) rmSync(path, { force: true })
  }
}

/** Undefined: there is none that is safe to use, or none is wanted. */
function cacheFolder(): string | undefined {
  const { env } = process
  // As for the cache of Node itself; coverage is exact only for what was compiled from its text.
  if (env['NODE_DISABLE_COMPILE_CACHE'] || env['NODE_V8_COVERAGE']) return undefined
  try {
    const place = userCache(env)
    if (!isAbsolute(place)) return undefined
    const folder = join(place, 'scaler-ts')
    // Not recursively: in some folders of the system, Node would try forever.
    for (const each of [place, folder]) if (!existsSync(each)) mkdirSync(each, { mode: 0o700 })
    return isOwn(folder) ? folder : undefined
  } catch {
    return undefined
  }
}

function userCache(env: NodeJS.ProcessEnv): string {
  const given = env['NODE_COMPILE_CACHE'] || env['XDG_CACHE_HOME']
  if (given) return given
  const home = env['HOME'] || process.getBuiltinModule('node:os').homedir()
  if (process.platform === 'win32') return env['LOCALAPPDATA'] || join(home, 'AppData/Local')
  return join(home, process.platform === 'darwin' ? 'Library/Caches' : '.cache')
}

/** Whether nobody else can write there: V8 trusts what it is given. */
function isOwn(folder: string): boolean {
  if (process.getuid === undefined) return true
  const { uid, mode } = statSync(folder)
  return uid === process.getuid() && (mode & 0o022) === 0
}

function sumOf(content: string | Uint8Array): Buffer {
  return createHash('sha1').update(content).digest()
}

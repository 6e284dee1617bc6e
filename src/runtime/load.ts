// Loads the code of the package, which is in a few CommonJS files, and keeps what V8 has compiled
// of it in a folder of the user's cache: processes that start later take it from there. The first
// file that any of them loads; it is bundled alone.

import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire, Module } from 'node:module'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { Script } from 'node:vm'
import './refuse-bundling.js'

/** A module of CommonJS. */
interface LoadedModule {
  exports: unknown
}

/** More than the largest file of the package, and than what V8 makes of it. */
const MEMORY_BYTES = 2 ** 19

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
  return loaderOf(kind)?.load(join(dirname(from.filename), id))
}

/** Undefined if the process does not allow another global. */
function loaderOf(kind: string): Loader | undefined {
  const holder = globalThis as { [LOADER]?: Loader }
  if (holder[LOADER] === undefined) {
    const value = new Loader(kind)
    Reflect.defineProperty(holder, LOADER, { value })
  }
  return holder[LOADER]
}

/** Imports a module: V8 cannot, in code that comes from a cache. */
export function importModule(specifier: string): Promise<unknown> {
  return import(specifier)
}

/** Loads each file once. */
class Loader {
  readonly #modules = new Map<string, LoadedModule>()
  readonly #files = new FileReader()
  readonly #cache: CompileCache

  constructor(kind: string) {
    this.#cache = new CompileCache(kind, this.#files)
  }

  load(path: string): unknown {
    const known = this.#modules.get(path)
    if (known !== undefined) return known.exports
    const loaded: LoadedModule = { exports: {} }
    this.#modules.set(path, loaded)
    try {
      this.#run(path, loaded)
      return loaded.exports
    } catch (error) {
      // It may succeed another time: there may have been no free file descriptor.
      this.#modules.delete(path)
      throw error
    }
  }

  #run(path: string, loaded: LoadedModule): void {
    const folder = dirname(path)
    const requireOther: Require = createRequire(path)
    const require: Require = (id) => {
      // Node itself loads this file.
      const isPart = id.startsWith('.') && id !== './load.cjs'
      return isPart ? this.load(join(folder, id)) : requireOther(id)
    }
    this.#compile(path)(loaded.exports, require, loaded, path, folder)
  }

  #compile(path: string): Body {
    const bytes = this.#files.read(path, HEAD, TAIL)
    // V8 takes also the path from the cache in some versions.
    const name = `${basename(path)}-${sumOf(path, bytes).toString('hex')}`
    // They are ASCII.
    const source = bytes.toString('latin1')
    const cachedData = this.#cache.read(name)
    const script = new Script(source, {
      filename: path,
      columnOffset: -HEAD.length,
      ...(cachedData === undefined ? {} : { cachedData }),
    })
    // What V8 refuses was compiled with flags that another program has set since its start.
    if (cachedData === undefined) this.#cache.add(name, script)
    return script.runInThisContext() as Body
  }
}

/**
 * Reads files into the same memory: what was read is valid until the next call. A process reads
 * 1.5 MB of source and compiled code when it starts, and would hold all of it for a long time.
 */
class FileReader {
  #memory: Buffer | undefined

  /** Returns the content of a file between two texts. */
  read(path: string, head = '', tail = ''): Buffer {
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      const end = head.length + size
      const memory = this.#memoryFor(end + tail.length)
      memory.write(head, 'latin1')
      let at = head.length
      while (at < end) {
        const count = readSync(file, memory, at, end - at, null)
        if (count === 0) throw new Error(`${path} was changed while it was read`)
        at += count
      }
      memory.write(tail, end, 'latin1')
      return memory.subarray(0, end + tail.length)
    } finally {
      closeSync(file)
    }
  }

  #memoryFor(byteLength: number): Buffer {
    if (this.#memory === undefined) setImmediate(() => (this.#memory = undefined))
    else if (byteLength <= this.#memory.byteLength) return this.#memory
    this.#memory = Buffer.allocUnsafeSlow(Math.max(byteLength, MEMORY_BYTES))
    return this.#memory
  }
}

// What V8 has compiled.

/** By then a process has run, and V8 has compiled, what it needs to start. */
const SETTLED_MS = 2_000
/** Files that are older are removed: most are of other versions. In milliseconds. */
const MAX_AGE_MS = 90 * 24 * 3_600_000
/** If there are more files, the oldest are removed. */
const MAX_FILES = 500
/** On Windows, the folder of the user's caches is also that of other data. */
const OWN_FOLDER = process.platform === 'win32' ? 'scaler-ts-cache' : 'scaler-ts'
/** The length of a SHA-1, with which each file begins. */
const SUM_BYTES = 20

/** The names of these files, and of drafts of them. */
const OWN_NAME = /^[a-z-]+-[\w.-]+-[\w-]+\.cjs-[\da-f]{40}(\.\d+)?$/

/** An option of all our processors, which changes nothing of what V8 compiles. */
const THREADS_OPTION = '--v8-pool-size='

/** V8 refuses what another version has compiled, or one with other flags. */
function engine(): string {
  const { version, arch, platform, execArgv, env } = process
  const isEngineOption = (option: string): boolean => !option.startsWith(THREADS_OPTION)
  const hasOptions = execArgv.some(isEngineOption) || (env['NODE_OPTIONS'] ?? '') !== ''
  return [version, platform, arch, ...(hasOptions ? [flagsTag()] : [])].join('-')
}

/** What stands for the version and the flags of V8. It takes some milliseconds. */
function flagsTag(): number {
  return process.getBuiltinModule('node:v8').cachedDataVersionTag()
}

/**
 * Files with what V8 has compiled. Nothing depends on them: a cache that is missing, unreadable,
 * full or damaged only costs time.
 */
class CompileCache {
  readonly #prefix: string
  readonly #folder: string | undefined = cacheFolder()
  readonly #missing = new Map<string, Script>()
  /** The flags of V8 when it compiled the first of these. */
  #flags = 0

  readonly #files: FileReader

  constructor(kind: string, files: FileReader) {
    this.#prefix = `${kind}-${engine()}`
    this.#files = files
  }

  read(name: string): Buffer | undefined {
    if (this.#folder === undefined) return undefined
    try {
      const bytes = this.#files.read(this.#path(name))
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
      this.#flags = flagsTag()
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
    // V8 would refuse it in programs that do not set these flags.
    if (flagsTag() !== this.#flags) return
    for (const [name, script] of missing) {
      tried(() => writeAtomically(this.#path(name), script))
    }
    tried(() => removeOld(this.#folder ?? ''))
  }

  #path(name: string): string {
    return join(this.#folder ?? '', `${this.#prefix}-${name}`)
  }
}

/** What cannot be done now is left to another process. */
function tried(action: () => void): void {
  try {
    action()
  } catch {
    // See above.
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
    .filter((name) => OWN_NAME.test(name))
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
    makeFolder(place)
    const folder = join(realpathSync(place), OWN_FOLDER)
    makeFolder(folder)
    return isSafe(folder) ? folder : undefined
  } catch {
    return undefined
  }
}

function userCache(env: NodeJS.ProcessEnv): string {
  if (env['NODE_COMPILE_CACHE']) return resolve(env['NODE_COMPILE_CACHE'])
  if (env['XDG_CACHE_HOME']) return env['XDG_CACHE_HOME']
  const home = env['HOME'] || process.getBuiltinModule('node:os').homedir()
  if (process.platform === 'win32') return env['LOCALAPPDATA'] || join(home, 'AppData/Local')
  return join(home, process.platform === 'darwin' ? 'Library/Caches' : '.cache')
}

/**
 * Not with `recursive`: in some folders of the system, Node would try forever. Not in a folder of
 * another user, whose cache it could become.
 */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  const parent = dirname(path)
  makeFolder(parent)
  if (!isOf(lstatSync(realpathSync(parent)))) throw new Error('of another user')
  mkdirSync(path, { mode: 0o700 })
}

/** Whether no other user can change what is there: V8 trusts what it is given. */
function isSafe(folder: string): boolean {
  if (process.getuid === undefined) return true
  const [own, parent] = [lstatSync(folder), lstatSync(dirname(folder))]
  const isOwn = own.isDirectory() && own.uid === process.getuid() && (own.mode & 0o022) === 0
  // In a folder like `/tmp`, users cannot replace what belongs to others.
  const isSticky = (parent.mode & 0o1000) !== 0
  return isOwn && isOf(parent) && ((parent.mode & 0o022) === 0 || isSticky)
}

/** Whether something belongs to this user, or to the system. */
function isOf({ uid }: Stats): boolean {
  return process.getuid === undefined || uid === 0 || uid === process.getuid()
}

function sumOf(...parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHash('sha1')
  for (const part of parts) hash.update(part)
  return hash.digest()
}

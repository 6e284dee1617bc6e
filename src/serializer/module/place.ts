// A place in the tree of folders from which modules are found and imported, exactly as code in a
// file there would. Node tells only modules that are there, so we put one there, in memory: what
// `require` does with the text of an ES module works for text that no file has. That module is
// loaded synchronously, like all that it imports, and what `import()` gives is the same instance.
// Where Node refuses it (`--no-require-module`), the public means remain: they import later.

import Module, { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { types } from 'node:util'
import { compileFunction, constants } from 'node:vm'
import { findPackageFolder, packageNameOf } from './package.js'

// Node warns when it is asked to load modules in ways that it calls experimental: nothing that
// users of ours could act on, as it is us who ask.

/** What such warnings are about. */
const OURS = /\bES Module\b|JSON modules|USE_MAIN_CONTEXT_DEFAULT_LOADER/

/** Runs the work without warnings of that kind; all others are given as ever. */
export function quietly<T>(work: () => T): T {
  const emitWarning: unknown = Reflect.get(process, 'emitWarning')
  const emitOthers = (...parameters: unknown[]): void => {
    if (isOurs(parameters)) return
    Reflect.apply(emitWarning as (...all: unknown[]) => void, process, parameters)
  }
  Reflect.set(process, 'emitWarning', emitOthers)
  try {
    return work()
  } finally {
    // The work may have replaced it for good.
    if (Reflect.get(process, 'emitWarning') === emitOthers) {
      Reflect.set(process, 'emitWarning', emitWarning)
    }
  }
}

function isOurs([warning, kind]: readonly unknown[]): boolean {
  const type: unknown =
    typeof kind === 'object' && kind !== null ? (kind as { type?: unknown }).type : kind
  return type === 'ExperimentalWarning' && OURS.test(String(warning))
}

/** What only a module in the folder can do. */
interface Means {
  /** What to import in place of a specifier, if it is there. */
  readonly locate: (specifier: string) => string
  readonly load: (specifier: string, options: unknown) => Promise<object>
  readonly resolve: (specifier: string) => string
}

interface Compilable {
  readonly exports: unknown
  filename: string
  _compile?(text: string, filename: string, format: string): void
}

/** Names of no file: that of the module itself, and those of modules that import one other. */
const NAME = '[scaler-ts].mjs'

/** Codes of Node's errors where it cannot import synchronously, or has asked no loader. */
const NEEDS_TIME =
  /^ERR_(REQUIRE_|INTERNAL_ASSERTION|UNKNOWN_FILE_EXTENSION$|\w+_TYPESCRIPT_SYNTAX$)/

const TEXT =
  'export const load = (specifier, options) => import(specifier, options)\n' +
  'export const resolve = (specifier) => import.meta.resolve(specifier)\n'

/** Imports, resolves and requires from a folder. */
export class ModulePlace {
  readonly folder: string
  /** `require` in a CommonJS file of the folder. */
  readonly require: NodeJS.Require
  #means: Means | undefined

  constructor(folder: string) {
    this.folder = folder
    this.require = createRequire(join(folder, NAME))
  }

  /** The URL that `import` would load. Throws Node's own error if there is none. */
  resolve(specifier: string): string {
    return this.#get().resolve(specifier)
  }

  /**
   * What `importNow` and `importUrl` of this place take: the URL, or the specifier of a package
   * that is there where only importing it tells the URL. Throws Node's own error if there is none.
   */
  locate(specifier: string): string {
    return this.#get().locate(specifier)
  }

  /** What `import(specifier, options)` does. */
  import(specifier: string, options?: unknown): Promise<object> {
    return this.#get().load(specifier, options)
  }

  /**
   * The namespace of the module at the URL, at once. Throws what the module throws, and an error
   * for which `needsTime` holds where it can only be imported asynchronously.
   */
  importNow(url: string): object {
    const attributes = isJson(url) ? " with { type: 'json' }" : ''
    const from = `${JSON.stringify(url)}${attributes}`
    const text = `import * as namespace from ${from}\nexport { namespace }\n`
    // The name says all that the text depends on: Node keeps the first module of a name.
    const filename = join(this.folder, `[scaler-ts ${encodeURIComponent(url)}].mjs`)
    return (compileModule(text, filename) as { readonly namespace: object }).namespace
  }

  /** The same, with all the time that it takes. */
  importUrl(url: string): Promise<object> {
    return this.import(url, isJson(url) ? { with: { type: 'json' } } : undefined)
  }

  #get(): Means {
    this.#means ??= meansIn(this.folder)
    return this.#means
  }
}

function isJson(url: string): boolean {
  return url.endsWith('.json')
}

/**
 * Whether a module is worth another try with `import()`, which may wait, and which alone finds what
 * yarn's Plug'n'Play keeps in archives, and asks loaders such as tsx what files mean.
 */
export function needsTime(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | undefined)?.code
  if (code === 'ERR_MODULE_NOT_FOUND') return process.versions['pnp'] !== undefined
  return typeof code === 'string' && NEEDS_TIME.test(code)
}

function meansIn(folder: string): Means {
  const filename = join(folder, NAME)
  try {
    const { load, resolve } = compileModule(TEXT, filename) as Means
    return { load, resolve, locate: resolve }
  } catch {
    return publicMeans(filename)
  }
}

/** Evaluates the text as an ES module that would be in the file. */
function compileModule(text: string, filename: string): unknown {
  const made = new Module(filename) as Compilable
  made.filename = filename
  if (made._compile === undefined) throw Object.assign(new Error('no'), NOT_POSSIBLE)
  try {
    quietly(() => made._compile?.(text, filename, 'module'))
  } catch (error) {
    throw wasTakenForScript(error) ? Object.assign(error, NOT_POSSIBLE) : error
  }
  return made.exports
}

const NOT_POSSIBLE = { code: 'ERR_REQUIRE_ESM' }

/** Where something else has taken the place of Node's loader; its errors are of another realm. */
function wasTakenForScript(error: unknown): error is Error {
  if (!types.isNativeError(error) || error.name !== 'SyntaxError') return false
  return /outside a module|'import\.meta'/.test(error.message)
}

function publicMeans(filename: string): Means {
  const load = compileFunction('return import(specifier, options)', ['specifier', 'options'], {
    filename,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }) as Means['load']
  const require = createRequire(filename)
  const resolve = (specifier: string): string => {
    if (/^(node|data|file):/.test(specifier)) return specifier
    // What `import` would load may differ: the package can have a build for each.
    const found = require.resolve(specifier)
    return Module.isBuiltin(found)
      ? `node:${found.replace('node:', '')}`
      : pathToFileURL(found).href
  }
  const isInstalled = (specifier: string): boolean => {
    const name = packageNameOf(specifier)
    return name !== undefined && findPackageFolder(name, dirname(filename)) !== undefined
  }
  return {
    load: (specifier, options) => quietly(() => load(specifier, options)),
    locate: (specifier) => (isInstalled(specifier) ? specifier : resolve(specifier)),
    resolve,
  }
}

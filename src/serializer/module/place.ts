// A place in the tree of folders from which modules are resolved and imported, exactly as by code
// in a file there. Node resolves only for existing modules, so we create one there, in memory:
// `require` evaluates the text of an ES module even if no file contains it. That module is loaded
// synchronously, with everything that it imports, and `import()` returns the same instance. If Node
// refuses this (`--no-require-module`), the public means remain, which import asynchronously.

import Module, { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { types } from 'node:util'
import { compileFunction, constants } from 'node:vm'
import { findPackageFolder, packageNameOf } from './package.js'

// Node warns when it is asked to load modules in ways that it calls experimental. Users could not
// act on these warnings, because the requests are ours.

/** The texts of such warnings. */
const OURS = /\bES Module\b|JSON modules|USE_MAIN_CONTEXT_DEFAULT_LOADER/

/** Runs the work without warnings of that kind; all others are emitted as usual. */
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
    // The work may have replaced it permanently.
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

/** The functions that only a module in the folder can provide. */
interface Means {
  /** The specifier to import in place of another, if it exists. */
  readonly locate: (specifier: string) => string
  readonly load: (specifier: string, options: unknown) => Promise<object>
  readonly resolve: (specifier: string) => string
}

interface Compilable {
  readonly exports: unknown
  filename: string
  _compile?(text: string, filename: string, format: string): void
}

/**
 * Names without files: that of the module itself, and those of modules that import a single other
 * one.
 */
const NAME = '[scaler-ts].mjs'

/** Codes of Node's errors where it cannot import synchronously, or has not asked the loaders. */
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
   * The argument for `importNow` and `importUrl` of this place: the URL, or the specifier of an
   * installed package whose URL is known only by importing it. Throws Node's own error if there is
   * none.
   */
  locate(specifier: string): string {
    return this.#get().locate(specifier)
  }

  /** The function behind `import(specifier, options)`. */
  import(specifier: string, options?: unknown): Promise<object> {
    return this.#get().load(specifier, options)
  }

  /**
   * The namespace of the module at the URL, synchronously. Throws the module's errors, and an error
   * for which `needsTime` holds if it can only be imported asynchronously.
   */
  importNow(url: string): object {
    const attributes = isJson(url) ? " with { type: 'json' }" : ''
    const from = `${JSON.stringify(url)}${attributes}`
    const text = `import * as namespace from ${from}\nexport { namespace }\n`
    // The name contains everything that the text depends on: Node keeps the first module of a name.
    const filename = join(this.folder, `[scaler-ts ${encodeURIComponent(url)}].mjs`)
    return (compileModule(text, filename) as { readonly namespace: object }).namespace
  }

  /** The same, asynchronously. */
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
 * Whether to try a module again with `import()`, which may wait, and which alone finds files in the
 * archives of yarn's Plug'n'Play and asks loaders such as tsx how to read files.
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

/** If Node's loader was replaced; the errors of the replacement are of another realm. */
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
    // The target of `import` may differ: the package can have a build for each.
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

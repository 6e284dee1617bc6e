// Stops a program at once, and says what to do, if a bundler has put this package into one of its
// files. Functions of the package travel by the names of its files, and the processes that it
// starts are some of these files. Without this check the program would fail later, with another
// error.

import { existsSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../base/errors.js'

/** A file that only the folder of the package's files has, or that of the compiled ones. */
const NEIGHBOURS: readonly string[] = ['cluster/embedded-main.cjs', 'cluster/embedded-main.js']

/**
 * Throws `ConfigError` unless the code at `place` is in the files of this package. `place` is the
 * path or URL of its script according to V8; undefined if V8 has none.
 */
export function refuseBundling(place: string | undefined): void {
  if (place !== undefined && isOwn(place)) return
  const where = place === undefined ? 'evaluated code' : place
  fail(
    `scaler-ts was bundled into ${where}, where it cannot work: mark scaler-ts as external ` +
      "(esbuild: --external:scaler-ts; webpack: externals: { 'scaler-ts': 'node-commonjs " +
      "scaler-ts' }; rollup: external: ['scaler-ts']; vite: ssr.external: ['scaler-ts']; " +
      "Next.js: serverExternalPackages: ['scaler-ts']) and install it where the program runs",
  )
}

/**
 * Node prints the line of an uncaught error: here that could be all of a minified bundle. If this
 * one is not caught, it is printed without.
 */
function fail(text: string): never {
  const error = new ConfigError(text)
  process.on('uncaughtExceptionMonitor', (thrown: unknown) => {
    if (thrown !== error || process.listenerCount('uncaughtException') > 0) return
    writeSync(process.stderr.fd, `${error.stack ?? text}\n\nNode.js ${process.version}\n`)
    process.exit(1)
  })
  throw error
}

function isOwn(place: string): boolean {
  if (/^[\w-]{2,}:/.test(place) && !place.startsWith('file:')) return false
  const path = place.startsWith('file:') ? fileURLToPath(new URL(place)) : place
  const folders = [dirname(path), join(dirname(path), '..')]
  return folders.some((folder) => NEIGHBOURS.some((file) => existsSync(join(folder, file))))
}

/**
 * The script of this function. Values that a bundler provides, such as `import.meta.url`, may refer
 * to its place before bundling.
 */
function ownPlace(): string | undefined {
  const { stackTraceLimit } = Error
  const before = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace')
  try {
    Error.stackTraceLimit = 1
    Error.prepareStackTrace = (_, sites) => sites
    const sites = new Error().stack as unknown as readonly NodeJS.CallSite[] | undefined
    return sites?.[0]?.getFileName() ?? undefined
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    if (before === undefined) Reflect.deleteProperty(Error, 'prepareStackTrace')
    else Object.defineProperty(Error, 'prepareStackTrace', before)
  }
}

// Where the built-in classes are frozen, V8 cannot be asked.
if (Object.isExtensible(Error)) refuseBundling(ownPlace())

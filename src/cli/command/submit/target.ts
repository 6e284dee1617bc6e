// Resolves `FILE#exportName` to the function that the module exports under that name.

import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ConfigError, ScalerError } from '../../../base/errors.js'
import { nearestHint, show } from '../../../base/option.js'
import { checkScript, noTypeScript } from '../run-script.js'

/** A function that can be submitted. */
type TargetFunction = (...args: unknown[]) => unknown

/** The module could not be loaded; `cause` is the error that it threw. */
export class LoadFailure extends Error {}

/** The module has a top-level `await` that never settles. */
class EndlessLoad extends ScalerError {
  constructor(file: string) {
    super('ERR_SCALER_ENDLESS_LOAD', `cannot load ${file}: its top-level await never settles`)
  }
}

/**
 * Loads the function that `target` names: `math.mjs#double`; without a name, the default export.
 * Throws `ConfigError` with the nearest name if there is none, `LoadFailure` if the module throws
 * while it loads, and `ScalerError` if loading never finishes.
 */
export async function loadTarget(target: string): Promise<TargetFunction> {
  const { file, name } = splitTarget(target)
  checkScript(file)
  const names = await loadModule(file)
  if (!names.has(name)) {
    const known = [...names].flatMap(([each, value]) => (isFunction(value) ? [each] : []))
    const hint = known.length === 0 ? '; it exports no function' : nearestHint(name, known)
    throw new ConfigError(`${file} has no export ${JSON.stringify(name)}${hint}`)
  }
  const value = names.get(name)
  if (isFunction(value)) return value
  throw new ConfigError(`the export ${name} of ${file} is not a function (found ${show(value)})`)
}

/** Splits `FILE#name` at the last `#`: a file name may contain one, an export name does not. */
export function splitTarget(target: string): { readonly file: string; readonly name: string } {
  const at = target.lastIndexOf('#')
  const file = at === -1 ? target : target.slice(0, at)
  const name = at === -1 ? 'default' : target.slice(at + 1)
  if (file !== '' && name !== '') return { file, name }
  throw new ConfigError(`expected FILE#exportName, got ${JSON.stringify(target)}`)
}

/** What a module exports, by name. */
async function loadModule(file: string): Promise<ReadonlyMap<string, unknown>> {
  let loaded: Record<string, unknown>
  try {
    loaded = await importEnding(file)
  } catch (error) {
    const isUnknown = error instanceof Error && 'code' in error
    if (isUnknown && error.code === 'ERR_UNKNOWN_FILE_EXTENSION' && /\.[cm]?ts$/.test(file)) {
      throw new ConfigError(noTypeScript(file, process.versions.node), { cause: error })
    }
    if (error instanceof EndlessLoad) throw error
    throw new LoadFailure(`cannot load ${file}`, { cause: error })
  }
  // All exports of a CommonJS module are in `default`; Node detects only some of the names.
  const inner = loaded['default']
  const fallback = typeof inner === 'object' && inner !== null ? Object.entries(inner) : []
  return new Map([...fallback, ...Object.entries(loaded)])
}

/**
 * Like `import`, but rejects if a top-level `await` never settles, which would otherwise end the
 * process silently.
 */
function importEnding(file: string): Promise<Record<string, unknown>> {
  return new Promise((resolveImport, reject) => {
    const onIdle = (): void => {
      reject(new EndlessLoad(file))
    }
    process.once('beforeExit', onIdle)
    const loading = import(pathToFileURL(resolve(file)).href) as Promise<Record<string, unknown>>
    void loading.then(resolveImport, reject).finally(() => process.off('beforeExit', onIdle))
  })
}

function isFunction(value: unknown): value is TargetFunction {
  return typeof value === 'function'
}

// Functions whose users say what belongs to them: for programs that run without an inspector, which
// is what sees captured variables.

import { ConfigError } from '../../base/errors.js'
import type { ExportReference } from '../module/reference.js'
import type { AnyFunction } from '../native-names.js'

/** What `task` takes beside a function. */
export interface TaskCaptures {
  /** The variables around the function that it uses, by name: `{ captures: { rate, table } }`. */
  readonly captures: Readonly<Record<string, unknown>>
}

/** Remembers what was said of which function. */
export class ExplicitFunctions {
  readonly #captures = new WeakMap<AnyFunction, Readonly<Record<string, unknown>>>()
  readonly #references = new WeakMap<AnyFunction, ExportReference>()

  /** The captures given for a function. */
  capturesOf(fn: AnyFunction): Readonly<Record<string, unknown>> | undefined {
    return this.#captures.get(fn)
  }

  /** The export that a function stands for. */
  referenceOf(fn: AnyFunction): ExportReference | undefined {
    return this.#references.get(fn)
  }

  /** See `task`. */
  withCaptures<F extends AnyFunction>(fn: F, options: TaskCaptures): F {
    const { captures } = options
    if (typeof captures !== 'object' || captures === null) {
      throw new ConfigError('task: option captures must be an object of the variables by name')
    }
    this.#captures.set(fn, { ...captures })
    return fn
  }

  /** See `task`. */
  ofExport(url: string, name: string): (...parameters: unknown[]) => Promise<unknown> {
    if (!URL.canParse(url)) throw new ConfigError(`task: expected the URL of a module, got ${url}`)
    if (typeof name !== 'string' || name === '') {
      throw new ConfigError(`task: expected the name of an export, got ${String(name)}`)
    }
    const standIn = async (...parameters: unknown[]): Promise<unknown> => {
      const module = (await import(url)) as Readonly<Record<string, unknown>>
      const fn = module[name]
      if (typeof fn !== 'function') throw new TypeError(`${url} exports no function ${name}`)
      return (fn as (...parameters: unknown[]) => unknown)(...parameters)
    }
    Object.defineProperty(standIn, 'name', { value: name, configurable: true })
    const module = { kind: 'specifier', specifier: url, parent: url } as const
    this.#references.set(standIn, { module, form: 'import', path: [name] })
    return standIn
  }
}

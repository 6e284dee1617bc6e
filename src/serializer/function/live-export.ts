// Exports that their module changes, as others see them in its namespace: each is read by a getter,
// which is a function over the variable, as the functions of the module are.

import type { AnyFunction } from '../native-names.js'
import type { Binding, FunctionCode } from '../source/function-site.js'
import { analyzeText } from '../source/script-analysis.js'
import type { SourceParts } from './function-parts.js'

/** The name of the variable in the code of a getter. */
const NAME = 'exported'

/** An export of a module. */
interface LiveExport {
  readonly module: object
  readonly name: string
  readonly variable: Binding
}

/** The getters of all modules. */
export class LiveExports {
  readonly #getters = new WeakMap<Binding, AnyFunction>()
  readonly #exports = new WeakMap<AnyFunction, LiveExport>()
  #code: FunctionCode | undefined

  /** The getter of an export whose variable changes; the same one each time. */
  getterOf(live: LiveExport): AnyFunction {
    const { module, name, variable } = live
    let getter = this.#getters.get(variable)
    if (getter === undefined) {
      getter = () => Reflect.get(module, name)
      this.#getters.set(variable, getter)
      this.#exports.set(getter, live)
    }
    return getter
  }

  /** What a getter is made of, if it is one. */
  partsOf(getter: AnyFunction): SourceParts | undefined {
    const live = this.#exports.get(getter)
    if (live === undefined) return undefined
    this.#code ??= analyzeText(`() => ${NAME}`, true)?.codeWith(new Set([NAME]))
    if (this.#code === undefined) return undefined
    const { module, name, variable: key } = live
    const value: unknown = Reflect.get(module, name)
    const content = { kind: 'cell', key, value } as const
    const captures = [{ name: NAME, step: `the export ${name}`, content }]
    return { kind: 'source', code: this.#code, url: '', captures, classParts: undefined }
  }
}

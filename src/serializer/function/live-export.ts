// Exports that their module changes, as others see them in its namespace: each is read by a getter,
// which is a function over the variable, as the functions of the module are.

import type { MadeCell } from '../cell.js'
import type { AnyFunction } from '../native-names.js'
import type { Binding, FunctionCode } from '../source/function-site.js'
import { analyzeText } from '../source/script-analysis.js'
import type { Capture, SourceParts } from './function-parts.js'

/** The name of the variable in the code of a getter. */
const NAME = 'exported'

/** An export of a module. */
interface LiveExport {
  readonly module: object
  readonly name: string
  readonly variable: Binding
}

/** One that is made again on the other side. */
interface MadeExport {
  readonly name: string
  readonly cell: MadeCell
}

/** The getters of all modules. */
export class LiveExports {
  readonly #getters = new WeakMap<Binding, AnyFunction>()
  readonly #exports = new WeakMap<AnyFunction, LiveExport>()
  readonly #made = new WeakMap<MadeCell, AnyFunction>()
  readonly #madeExports = new WeakMap<AnyFunction, MadeExport>()
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

  /** The getter of an export that is made again where it arrives; the same one each time. */
  getterOfMade(name: string, cell: MadeCell): AnyFunction {
    let getter = this.#made.get(cell)
    if (getter === undefined) {
      getter = () => cell.v
      this.#made.set(cell, getter)
      this.#madeExports.set(getter, { name, cell })
    }
    return getter
  }

  /** What a getter is made of, if it is one. */
  partsOf(getter: AnyFunction): SourceParts | undefined {
    const live = this.#exports.get(getter) ?? this.#madeExports.get(getter)
    if (live === undefined) return undefined
    this.#code ??= analyzeText(`() => ${NAME}`, true)?.codeWith(new Set([NAME]))
    if (this.#code === undefined) return undefined
    const content: Capture['content'] =
      'cell' in live
        ? { kind: 'value', value: live.cell }
        : { kind: 'cell', key: live.variable, value: Reflect.get(live.module, live.name) }
    const captures = [{ name: NAME, step: `the export ${live.name}`, content }]
    return { kind: 'source', code: this.#code, url: '', captures, classParts: undefined }
  }
}

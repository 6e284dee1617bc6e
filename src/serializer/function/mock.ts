// What vitest puts in place of modules, which is recognized by the functions that vitest itself has
// written. `vi.mock` puts a proxy around what the factory returns, to report exports that this
// lacks: no other proxy may be looked through, since its traps decide what it contains. And what
// `export * from` exports are getters of vite, which read the exports of the other module.

import { types } from 'node:util'
import type { Inspector } from '../inspect/inspector.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import { packageFileOf, pathOf } from '../module/package.js'
import type { ScriptTable } from './scripts.js'

/** The packages that have contained that handler. */
const AUTHORS = /^(?:vitest|@vitest\/mocker)$/

/** The same for `export * from`. */
const EXPORTERS = /^(?:vite|vitest|vite-node)$/

/** The text of its getters: the other module, and the name. */
const FORWARDING = /^\(\) => ([\w$]+)\[([\w$]+)\]$/

/** At most so many modules are between an export and its declaration. */
const MAX_HOPS = 20

/** The text of its only trap: others return something else than the target has. */
const TEXT = /export is defined on the "[^]*"vi\.mock"/

/** The mocks and re-exports of this thread. */
export class MockedModules {
  readonly #inspector: Pick<Inspector, 'proxyView' | 'functionView'>
  readonly #scripts: Pick<ScriptTable, 'urlOf'>
  /** What is behind each proxy that was looked at, or the proxy itself if that is not vitest's. */
  readonly #known = new WeakMap<object, object>()
  readonly #contents = new WeakSet<object>()

  constructor(
    inspector: Pick<Inspector, 'proxyView' | 'functionView'>,
    scripts: Pick<ScriptTable, 'urlOf'>,
  ) {
    this.#inspector = inspector
    this.#scripts = scripts
  }

  /** What the factory returned, for the value of a variable that holds a mock; else the value. */
  unwrapped(value: unknown): unknown {
    if (!isProxy(value)) return value
    let content = this.#known.get(value)
    if (content === undefined) {
      content = this.#contentOf(value)
      this.#known.set(value, content)
      if (content !== value) this.#contents.add(content)
    }
    return content
  }

  /** Whether a value is a mock, or what is behind one. */
  isMock(value: unknown): boolean {
    const content = this.unwrapped(value)
    return typeof content === 'object' && content !== null && this.#contents.has(content)
  }

  /**
   * The getter of the module that declares an export, if the export is one of `export * from` and
   * holds a primitive value, which may change; undefined for any other.
   */
  getterBehind(module: object, name: string): AnyFunction | undefined {
    let getter = getterIn(module, name)
    let found: AnyFunction | undefined
    for (let hops = 0; getter !== undefined && hops < MAX_HOPS; hops += 1) {
      const next = this.#forwardedBy(getter)
      if (next === undefined) return found && isPrimitiveIn(module, name) ? found : undefined
      getter = found = getterIn(next.module, next.name)
    }
    return undefined
  }

  /** The export that a getter of vite reads. */
  #forwardedBy(getter: AnyFunction): { module: unknown; name: string } | undefined {
    if (types.isProxy(getter)) return undefined
    const text = FORWARDING.exec(Function.prototype.toString.call(getter))
    if (text === null || !EXPORTERS.test(this.#packageOf(getter))) return undefined
    const { scopes } = this.#inspector.functionView(getter)
    const [, module, name] = text.map(
      (each) => scopes.find(({ variables }) => Object.hasOwn(variables, each))?.variables[each],
    )
    return typeof name === 'string' ? { module, name } : undefined
  }

  #contentOf(proxy: object): object {
    const view = this.#inspector.proxyView(proxy)
    return view !== undefined && this.#isOfVitest(view.handler) ? view.target : proxy
  }

  #isOfVitest(handler: object): boolean {
    if (types.isProxy(handler) || Reflect.ownKeys(handler).join() !== 'get') return false
    const trap = ownValue(handler, 'get')
    if (typeof trap !== 'function' || types.isProxy(trap)) return false
    if (!TEXT.test(Function.prototype.toString.call(trap))) return false
    return AUTHORS.test(this.#packageOf(trap as AnyFunction))
  }

  /** The name of the package that a function comes from. */
  #packageOf(fn: AnyFunction): string {
    const path = pathOf(this.#scripts.urlOf(fn) ?? '')
    return (path && packageFileOf(path)?.packageName) ?? ''
  }
}

/** Where vitest has its list of mocks, and what is used of it. */
const MOCKER = '__vitest_mocker__'

interface Mocker {
  /** Something, if the module of a file is replaced. */
  readonly getDependencyMock?: (path: string) => unknown
}

/** Whether vitest replaces the module at the URL: then its text does not say what it exports. */
export function isReplaced(url: string): boolean {
  const mocker = (globalThis as { readonly [MOCKER]?: Mocker })[MOCKER]
  const path = mocker && pathOf(url)
  try {
    return path !== undefined && mocker?.getDependencyMock?.(path) !== undefined
  } catch {
    // It is another version of vitest.
    return false
  }
}

function isPrimitiveIn(module: object, name: string): boolean {
  try {
    const value: unknown = Reflect.get(module, name)
    return typeof value !== 'function' && (typeof value !== 'object' || value === null)
  } catch {
    // It is not initialized yet.
    return false
  }
}

/** The getter of an own property. */
function getterIn(object: unknown, name: string): AnyFunction | undefined {
  if (typeof object !== 'object' || object === null || types.isProxy(object)) return undefined
  const property: { readonly get?: unknown } | undefined = Object.getOwnPropertyDescriptor(
    object,
    name,
  )
  return property?.get as AnyFunction | undefined
}

function isProxy(value: unknown): value is object {
  return types.isProxy(value)
}

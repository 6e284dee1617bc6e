// Modules that tests replace by `vi.mock` of vitest, which puts a proxy around what the factory
// returns, to report exports that this lacks. It is recognized by its handler, which vitest itself
// has written: no other proxy may be looked through, since its traps decide what it contains.

import { types } from 'node:util'
import type { Inspector } from '../inspect/inspector.js'
import { type AnyFunction, ownValue } from '../module/native.js'
import { packageFileOf, pathOf } from '../module/package.js'
import type { ScriptTable } from './scripts.js'

/** The packages that have contained that handler. */
const AUTHORS = /^(?:vitest|@vitest\/mocker)$/

/** The text of its only trap: others return something else than the target has. */
const TEXT = /export is defined on the "[^]*"vi\.mock"/

/** The mocks of this thread. */
export class MockedModules {
  readonly #inspector: Pick<Inspector, 'proxyView'>
  readonly #scripts: Pick<ScriptTable, 'urlOf'>
  /** What is behind each proxy that was looked at, or the proxy itself if that is not vitest's. */
  readonly #known = new WeakMap<object, object>()
  readonly #contents = new WeakSet<object>()

  constructor(inspector: Pick<Inspector, 'proxyView'>, scripts: Pick<ScriptTable, 'urlOf'>) {
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

  #contentOf(proxy: object): object {
    const view = this.#inspector.proxyView(proxy)
    return view !== undefined && this.#isOfVitest(view.handler) ? view.target : proxy
  }

  #isOfVitest(handler: object): boolean {
    if (types.isProxy(handler) || Reflect.ownKeys(handler).join() !== 'get') return false
    const trap = ownValue(handler, 'get')
    if (typeof trap !== 'function' || types.isProxy(trap)) return false
    if (!TEXT.test(Function.prototype.toString.call(trap))) return false
    const path = pathOf(this.#scripts.urlOf(trap as AnyFunction) ?? '')
    return AUTHORS.test((path && packageFileOf(path)?.packageName) ?? '')
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

function isProxy(value: unknown): value is object {
  return types.isProxy(value)
}

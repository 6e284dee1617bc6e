// Facts about functions of this process from V8's inspector: where they were defined, which
// variables they have captured, and the hidden state of bound functions and private fields. No user
// code runs, and nothing stays changed.

import type { Runtime } from 'node:inspector'
import { types } from 'node:util'
import type { AnyFunction } from '../module/native.js'
import { leadsToProxy } from '../class/prototype-chain.js'
import {
  InspectorSession,
  internal,
  locationIn,
  type Properties,
  RemoteObjects,
} from './objects.js'
import { ScriptCatalog } from './scripts.js'

// V8's facts about an existing function. Types only; `inspector.ts` reads them.

/** The place in a script where V8 has the text of a function. */
export interface FunctionLocation {
  readonly scriptId: string
  /** The line where its parameters (or those of its class's constructor) begin; from 0. */
  readonly line: number
  readonly column: number
}

/** The variables of one scope around a function. */
export interface ScopeView {
  readonly type:
    'module' | 'closure' | 'block' | 'catch' | 'class' | 'script' | 'with' | 'global' | 'other'
  /**
   * Names to values, as they were when the object was made. Reading one, or its property
   * descriptor, throws if the variable is not initialized yet (in Node 20 it is `undefined`
   * instead); `Object.hasOwn` and `Object.keys` do not throw. The object has no prototype. It
   * contains neither `this`, nor `new.target`, nor the name of a function expression. Empty for
   * `with`, because that object is the user's own.
   */
  readonly variables: Readonly<Record<string, unknown>>
}

/** One function, as V8 sees it. */
export interface FunctionView {
  readonly location: FunctionLocation | undefined
  /**
   * Inner scopes first, without the global scope. Read them in the same turn of the event loop:
   * later they show later values.
   */
  readonly scopes: readonly ScopeView[]
}

/** A function made by `bind`. */
interface BoundView {
  readonly target: (...parameters: never[]) => unknown
  readonly self: unknown
  readonly parameters: readonly unknown[]
}

/** A proxy from behind. */
interface ProxyView {
  readonly target: object
  readonly handler: object
}

/** A script compiled by V8. */
export interface Script {
  readonly id: string
  /** A `file:` URL (of CommonJS files, too), `node:…`, anything else, or empty. */
  readonly url: string
  readonly source: string
  /** Where the source begins in the coordinates of locations. */
  readonly startLine: number
  readonly startColumn: number
  readonly isModule: boolean
  /** As the script itself states it (may be a `data:` URL); empty if it does not. */
  readonly sourceMapUrl: string
}

// Converts V8's list of the scopes around a function.

/** An entry of the list. V8 makes `object` for us, except for `with` and the global scope. */
interface ScopeEntry {
  /** `'Module'`, `'Closure (name of the function)'`, `'With Block'`, … */
  readonly description: string
  readonly object: Readonly<Record<string, unknown>>
}

const TYPES: ReadonlyMap<string, ScopeView['type']> = new Map([
  ['Module', 'module'],
  ['Closure', 'closure'],
  ['Block', 'block'],
  ['Catch', 'catch'],
  ['Class', 'class'],
  ['Script', 'script'],
  ['With Block', 'with'],
  ['Global', 'global'],
])

const NO_VARIABLES: ScopeView['variables'] = Object.freeze(
  Object.create(null) as Record<string, unknown>,
)

/** The scopes in V8's order, from the inside out, without the global scope. */
function scopeViews(list: unknown): readonly ScopeView[] {
  const entries = list as ArrayLike<ScopeEntry>
  const views: ScopeView[] = []
  // The list has no prototype, hence no iterator.
  for (let at = 0; at < entries.length; at += 1) {
    const entry = entries[at]
    const view = entry && scopeView(entry)
    if (view !== undefined && view.type !== 'global') views.push(view)
  }
  return views
}

function scopeView({ description, object }: ScopeEntry): ScopeView {
  const end = description.indexOf(' (')
  const type = TYPES.get(end < 0 ? description : description.slice(0, end)) ?? 'other'
  // The object of a `with` is the user's own: it may have getters, or be a proxy.
  return { type, variables: type === 'with' ? NO_VARIABLES : object }
}

/**
 * Up to Node 21, V8 shows `undefined` for a variable that is not initialized yet, unless it runs
 * with a flag. Other flags invalidate cached code, so it is set only for the moment of a question.
 */
const HIDES_DEAD_ZONE = Number.parseInt(process.versions.node, 10) < 22

function canRead(variables: ScopeView['variables'], name: string): boolean {
  try {
    Reflect.get(variables, name)
    return true
  } catch {
    return false
  }
}

const NO_VIEW: FunctionView = { location: undefined, scopes: [] }

/** One session with V8 for the whole thread. It does not keep the process alive. */
export class Inspector {
  /** Undefined until it is first used. A thread has one V8, so that one session is enough. */
  static #opened: { readonly inspector: Inspector | undefined } | undefined

  readonly #objects: RemoteObjects
  readonly #scripts: ScriptCatalog

  private constructor(session: InspectorSession, objects: RemoteObjects) {
    this.#objects = objects
    this.#scripts = new ScriptCatalog(session)
  }

  /**
   * The inspector of this thread; always the same one. Undefined where there is none: under the
   * permission model, in a Node that was built without it, in other runtimes.
   */
  static open(): Inspector | undefined {
    Inspector.#opened ??= { inspector: Inspector.#connect() }
    return Inspector.#opened.inspector
  }

  static #connect(): Inspector | undefined {
    const session = InspectorSession.connect()
    if (session === undefined) return undefined
    try {
      const objects = RemoteObjects.open(session)
      if (objects !== undefined) {
        const inspector = new Inspector(session, objects)
        if (inspector.#sees()) return inspector
      }
    } catch {
      // Something that claims to be an inspector but does not work as one.
    }
    session.disconnect()
    return undefined
  }

  /** A test of all the steps: other runtimes implement only some of them. */
  #sees(): boolean {
    const probe = {}
    const { location, scopes } = this.functionView(() => probe)
    return (
      location !== undefined &&
      scopes.some(({ variables }) => Object.values(variables).includes(probe))
    )
  }

  /**
   * Where the function was defined and what it has captured. A function unknown to V8 (native,
   * bound, a proxy, or an object that inherits from a function) has no location and no scopes.
   */
  functionView(fn: AnyFunction): FunctionView {
    const properties = this.#propertiesOf(fn)
    const scopes = internal(properties, '[[Scopes]]')
    if (properties === undefined || scopes === undefined) return NO_VIEW
    const location = locationIn(properties)
    let views: readonly ScopeView[] | undefined
    // A separate question, which is unnecessary for a function without captured variables.
    const fetched = (): readonly ScopeView[] => (views ??= this.#scopesOf(fn, scopes))
    return {
      location,
      get scopes(): readonly ScopeView[] {
        return fetched()
      },
    }
  }

  /** `list` belongs to the current turn; V8 may have released it since. */
  #scopesOf(fn: AnyFunction, list: Runtime.RemoteObject): readonly ScopeView[] {
    try {
      return scopeViews(this.#objects.fetch([list])[0])
    } catch {
      const again = internal(this.#propertiesOf(fn), '[[Scopes]]')
      return again === undefined ? [] : scopeViews(this.#objects.fetch([again])[0])
    }
  }

  /** The arguments of the `bind` call; undefined for a function that was not made by `bind`. */
  boundView(fn: AnyFunction): BoundView | undefined {
    const properties = this.#propertiesOf(fn)
    const target = internal(properties, '[[TargetFunction]]')
    const self = internal(properties, '[[BoundThis]]')
    const given = internal(properties, '[[BoundArgs]]')
    if (target === undefined || self === undefined || given === undefined) return undefined
    const [targetValue, selfValue, list] = this.#objects.fetch([target, self, given])
    return {
      target: targetValue as AnyFunction,
      self: selfValue,
      parameters: Array.from(list as ArrayLike<unknown>),
    }
  }

  /**
   * What is behind a proxy; undefined if it has been revoked, or the object is not a proxy. Calls
   * no trap of it.
   */
  proxyView(proxy: object): ProxyView | undefined {
    const properties = types.isProxy(proxy) ? this.#ask(proxy) : undefined
    const target = internal(properties, '[[Target]]')
    const handler = internal(properties, '[[Handler]]')
    if (target?.objectId === undefined || handler?.objectId === undefined) return undefined
    const [targetValue, handlerValue] = this.#objects.fetch([target, handler])
    return { target: targetValue as object, handler: handlerValue as object }
  }

  /**
   * The private static fields of a class, with `#`, and their current values. Undefined where V8
   * does not show them: for a proxy, and for an object that inherits from one.
   */
  staticPrivates(cls: object): ReadonlyMap<string, unknown> | undefined {
    const fields = this.instancePrivates(cls)
    // The class itself adds its fields before any other code can.
    return fields && new Map(fields.toReversed())
  }

  /**
   * The private fields of an object, with `#`, in the order in which they were added: those of
   * parent classes first. Not a map, because two classes may use the same name. Undefined as above.
   */
  instancePrivates(
    owner: object,
  ): readonly (readonly [name: string, value: unknown])[] | undefined {
    const properties = this.#propertiesOf(owner)
    if (properties === undefined) return undefined
    const fields = properties.privateProperties ?? []
    const remotes = fields.flatMap(({ value }) => value ?? [])
    if (remotes.length === 0) return []
    const values = this.#objects.fetch(remotes)
    return fields
      .filter(({ value }) => value !== undefined)
      .map(({ name }, at) => [name, values[at]] as const)
  }

  /** A script by V8's id; undefined if V8 has none. `source` is read on first use. */
  script(scriptId: string): Script | undefined {
    return this.#scripts.byId(scriptId)
  }

  /**
   * The scripts with this URL, oldest first: several if the file was loaded several times. An
   * unknown URL costs a few milliseconds if V8 has compiled anything since the last lookup.
   */
  scriptsByUrl(url: string): readonly Script[] {
    return this.#scripts.byUrl(url)
  }

  /** The scripts of the user's files: not those of packages and of Node. */
  userScripts(): readonly Script[] {
    return this.#scripts.ofUser()
  }

  /** Whether the variable in one of the function's scopes, by index, is initialized by now. */
  isInitialized(fn: AnyFunction, scope: number, name: string): boolean {
    const setFlag = (flag: string): void => {
      if (HIDES_DEAD_ZONE) process.getBuiltinModule('node:v8').setFlagsFromString(flag)
    }
    setFlag('--experimental-value-unavailable')
    try {
      const variables = this.functionView(fn).scopes[scope]?.variables
      return variables === undefined || canRead(variables, name)
    } finally {
      setFlag('--no-experimental-value-unavailable')
    }
  }

  /**
   * Undefined if V8 cannot be asked: it also reads the names in the prototypes, so that a proxy
   * among them would notice.
   */
  #propertiesOf(owner: object): Properties | undefined {
    return leadsToProxy(owner) ? undefined : this.#ask(owner)
  }

  #ask(owner: object): Properties | undefined {
    try {
      return this.#objects.propertiesOf(owner)
    } catch {
      return undefined
    }
  }
}

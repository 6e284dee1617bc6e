// What V8 tells about functions of this process, through its inspector: where they come from, which
// variables they have captured, what hides in bound functions and in private fields. No code of the
// user runs, nothing stays changed.

import type { Runtime } from 'node:inspector'
import type { AnyFunction } from '../native-names.js'
import { leadsToProxy } from '../prototype-chain.js'
import type { BoundView, FunctionView, ScopeView, Script } from './function-view.js'
import { internal, locationIn, type Properties } from './properties.js'
import { RemoteObjects } from './remote-objects.js'
import { scopeViews } from './scope-view.js'
import { ScriptCatalog } from './script-catalog.js'
import { InspectorSession } from './session.js'
import { type VariableAccess, VariableFinder } from './variable-finder.js'

const NOTHING: FunctionView = { location: undefined, scopes: [] }

/** One session with V8 for the whole thread. It does not keep the process alive. */
export class Inspector {
  /** Undefined before it was asked for. A thread has one V8, which needs no second session. */
  static #opened: { readonly inspector: Inspector | undefined } | undefined

  readonly #objects: RemoteObjects
  readonly #scripts: ScriptCatalog
  readonly #variables: VariableFinder

  private constructor(session: InspectorSession, objects: RemoteObjects) {
    this.#objects = objects
    this.#scripts = new ScriptCatalog(session)
    this.#variables = new VariableFinder(session, objects)
  }

  /**
   * The inspector of this thread, the same at each call. Undefined where there is none: under the
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
      // Something that calls itself an inspector and is not.
    }
    session.disconnect()
    return undefined
  }

  /** A test of the whole way: other runtimes have parts of it. */
  #sees(): boolean {
    const probe = {}
    const { location, scopes } = this.functionView(() => probe)
    return (
      location !== undefined &&
      scopes.some(({ variables }) => Object.values(variables).includes(probe))
    )
  }

  /**
   * Where the function comes from and what it has captured. A function that V8 knows nothing about
   * (native, bound, a proxy, what inherits from one) has no location and no scopes.
   */
  functionView(fn: AnyFunction): FunctionView {
    const properties = this.#propertiesOf(fn)
    const scopes = internal(properties, '[[Scopes]]')
    if (properties === undefined || scopes === undefined) return NOTHING
    const location = locationIn(properties)
    let views: readonly ScopeView[] | undefined
    // A question of its own, which is not worth asking for a function that has captured nothing.
    const fetched = (): readonly ScopeView[] => (views ??= this.#scopesOf(fn, scopes))
    return {
      location,
      get scopes(): readonly ScopeView[] {
        return fetched()
      },
    }
  }

  /** `list` is V8's of this turn, which may have been given up since. */
  #scopesOf(fn: AnyFunction, list: Runtime.RemoteObject): readonly ScopeView[] {
    try {
      return scopeViews(this.#objects.fetch([list])[0])
    } catch {
      const again = internal(this.#propertiesOf(fn), '[[Scopes]]')
      return again === undefined ? [] : scopeViews(this.#objects.fetch([again])[0])
    }
  }

  /** What `bind` was called with; undefined for a function that it has not made. */
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
   * The private static fields of a class, with `#`, and what they hold now. Undefined where V8 does
   * not tell: for a proxy, and for what inherits from one.
   */
  staticPrivates(cls: object): ReadonlyMap<string, unknown> | undefined {
    const fields = this.instancePrivates(cls)
    // The class itself adds its fields before anybody else can.
    return fields && new Map(fields.toReversed())
  }

  /**
   * The private fields of an object, with `#`, in the order in which they were added: those of
   * parent classes first. Not a map, for two classes may use the same name. Undefined as above.
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

  /** A script by V8's id; undefined if V8 has none. `source` is looked up when it is first read. */
  script(scriptId: string): Script | undefined {
    return this.#scripts.byId(scriptId)
  }

  /**
   * The scripts with this URL: several, if the file was loaded several times; the oldest first. A
   * URL that is not there costs a few milliseconds if V8 has compiled anything since the last.
   */
  scriptsByUrl(url: string): readonly Script[] {
    return this.#scripts.byUrl(url)
  }

  /** The scripts of the user's files: not those of packages and of Node. */
  userScripts(): readonly Script[] {
    return this.#scripts.ofUser()
  }

  /**
   * The variable that `name` is in the body of a function (variable-finder.ts); undefined where it
   * cannot be had.
   */
  accessTo(fn: AnyFunction, name: string): VariableAccess | undefined {
    const properties = this.#propertiesOf(fn)
    if (properties === undefined || locationIn(properties) === undefined) return undefined
    try {
      return this.#variables.find(fn, name)
    } catch {
      return undefined
    }
  }

  /** Several calls of `accessTo` cost little more than one inside of this. */
  searching<T>(action: () => T): T {
    return this.#variables.searching(action)
  }

  /**
   * Undefined if V8 cannot be asked: it looks at the names in the prototypes, too, so that a proxy
   * among them would notice.
   */
  #propertiesOf(owner: object): Properties | undefined {
    if (leadsToProxy(owner)) return undefined
    try {
      return this.#objects.propertiesOf(owner)
    } catch {
      return undefined
    }
  }
}

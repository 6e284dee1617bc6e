// What V8 tells about functions of this process, through its inspector: where they come from, which
// variables they have captured, what hides in bound functions and in private fields. No code of the
// user runs, nothing stays changed.

import type { Runtime } from 'node:inspector'
import type { AnyFunction } from '../module/native.js'
import { leadsToProxy } from '../value/prototype-chain.js'
import {
  InspectorSession,
  internal,
  locationIn,
  type Properties,
  RemoteObjects,
} from './objects.js'
import { ScriptCatalog } from './scripts.js'
import { type VariableAccess, VariableFinder } from './variables.js'

// What V8 tells about a function that exists. Types only; `inspector.ts` asks.

/** Where V8 has the text of a function. */
export interface FunctionLocation {
  readonly scriptId: string
  /** Of the place where its parameters (or its class's constructor) begin; from 0. */
  readonly line: number
  readonly column: number
}

/** The variables of one scope around a function. */
export interface ScopeView {
  readonly type:
    'module' | 'closure' | 'block' | 'catch' | 'class' | 'script' | 'with' | 'global' | 'other'
  /**
   * Names to values, as they were when it was made. Reading one, or its property descriptor,
   * throws where the variable is not initialised yet (in Node 20 it is `undefined` instead);
   * `Object.hasOwn` and `Object.keys` do not. It has no prototype. Neither `this`, nor
   * `new.target`, nor the name of a function expression is in it. Empty for `with`, the object
   * being the user's own.
   */
  readonly variables: Readonly<Record<string, unknown>>
}

/** One function from inside. */
export interface FunctionView {
  readonly location: FunctionLocation | undefined
  /**
   * Inner scopes first. Without the global scope. To be read in the turn in which it was asked for:
   * later they show later values.
   */
  readonly scopes: readonly ScopeView[]
}

/** A function that `bind` made. */
interface BoundView {
  readonly target: (...parameters: never[]) => unknown
  readonly self: unknown
  readonly parameters: readonly unknown[]
}

/** A script that V8 has compiled. */
export interface Script {
  readonly id: string
  /** A `file:` URL (of CommonJS files, too), `node:…`, anything else, or empty. */
  readonly url: string
  readonly source: string
  /** Where the source begins in the coordinates of locations. */
  readonly startLine: number
  readonly startColumn: number
  readonly isModule: boolean
  /** As the script itself says it (`data:` too); empty if it does not. */
  readonly sourceMapUrl: string
}

// V8's list of the scopes around a function, made into ours.

/** An entry of the list. `object` is made for us, but of `with` and of the global scope. */
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

/** The scopes in V8's order, which is from the inside out, without the global one. */
function scopeViews(list: unknown): readonly ScopeView[] {
  const entries = list as ArrayLike<ScopeEntry>
  const views: ScopeView[] = []
  // It has no prototype, hence no iterator.
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

const NO_VIEW: FunctionView = { location: undefined, scopes: [] }

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
    if (properties === undefined || scopes === undefined) return NO_VIEW
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
   * The variable that `name` is in the body of a function (variables.ts); undefined where it
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

// Passes objects to V8's inspector and back. V8 identifies objects by ids of its own. To get an id
// for an object, we put it on the tray, an object that both sides can access, and a call of one
// line returns it on the other side. Objects that V8 shows by id come back the same way, as
// themselves.

import type { Debugger, Runtime, Session } from 'node:inspector'
import type { FunctionLocation } from './inspector.js'

// V8's description of an object: its properties and those that only V8 can see.

/** A private field or accessor. */
interface PrivateProperty {
  readonly name: string
  /** Missing for accessors. */
  readonly value?: Runtime.RemoteObject
}

/** V8's description of one object. */
export interface Properties extends Runtime.GetPropertiesReturnType {
  readonly privateProperties?: readonly PrivateProperty[]
}

/**
 * A property that only V8 can see, such as `[[Scopes]]`; undefined if the object does not have it.
 */
export function internal(
  properties: Properties | undefined,
  wanted: string,
): Runtime.RemoteObject | undefined {
  return properties?.internalProperties?.find(({ name }) => name === wanted)?.value
}

/** The place in a script where V8 has the text of the function. */
export function locationIn(properties: Properties): FunctionLocation | undefined {
  const location = internal(properties, '[[FunctionLocation]]')?.value as
    Debugger.Location | undefined
  return (
    location && {
      scriptId: location.scriptId,
      line: location.lineNumber,
      column: location.columnNumber ?? 0,
    }
  )
}

// The connection to V8's inspector in this same thread. The answer is there when `ask` returns,
// because a session in the same thread answers before `post` returns. It does not keep the process
// alive and does not affect debuggers, which have sessions of their own.

/** An expression by which V8's main context finds `InspectorSession.meetingPlace`. */
const PLACE = "process.getBuiltinModule('node:inspector').Session"

/** `@types/node` does not declare all of the protocol. */
interface PropertiesQuestion extends Runtime.GetPropertiesParameterType {
  /** Leaves out elements of arrays: there may be millions of them. */
  readonly nonIndexedPropertiesOnly: boolean
}

/** Questions and the types of their answers. */
interface Exchanges {
  'Runtime.evaluate': [Runtime.EvaluateParameterType, Runtime.EvaluateReturnType]
  'Runtime.callFunctionOn': [Runtime.CallFunctionOnParameterType, Runtime.CallFunctionOnReturnType]
  'Runtime.getProperties': [PropertiesQuestion, Properties]
  'Runtime.releaseObject': [Runtime.ReleaseObjectParameterType, object]
  'Runtime.releaseObjectGroup': [Runtime.ReleaseObjectGroupParameterType, object]
  'Debugger.enable': [object, object]
  'Debugger.disable': [object, object]
  'Debugger.getScriptSource': [
    Debugger.GetScriptSourceParameterType,
    Debugger.GetScriptSourceReturnType,
  ]
}

interface Events {
  'Debugger.scriptParsed': Debugger.ScriptParsedEventDataType
}

/** The part of `node:inspector` that is used. */
interface InspectorModule {
  readonly Session: new () => Session
}

/** A session with V8. */
export class InspectorSession {
  readonly #session: Session
  readonly #module: InspectorModule

  private constructor(module: InspectorModule) {
    this.#module = module
    this.#session = new module.Session()
    this.#session.connect()
  }

  /** Undefined where there is no inspector, or this process may not use it. */
  static connect(): InspectorSession | undefined {
    try {
      // Looked up, not imported: otherwise a Node that was built without it could not load this
      // file.
      return new InspectorSession(process.getBuiltinModule('node:inspector'))
    } catch {
      return undefined
    }
  }

  /** An object that V8's main context also has, whatever context this code runs in. */
  get meetingPlace(): object {
    return this.#module.Session
  }

  /** Asks and returns the answer. Throws V8's error if it refuses. */
  ask<M extends keyof Exchanges>(method: M, question: Exchanges[M][0]): Exchanges[M][1] {
    // No error in advance: its stack takes a noticeable part of the time.
    let failure: Error | null | undefined
    let answer: object | undefined
    this.#session.post(method, question, (error, result) => {
      failure = error
      answer = result
    })
    if (failure === undefined) throw new Error(`${method} was not answered`)
    if (failure !== null) throw failure
    return answer ?? {}
  }

  /** Runs `action`; `listener` receives V8's reports meanwhile. */
  listening<E extends keyof Events>(
    event: E,
    listener: (report: Events[E]) => void,
    action: () => void,
  ): void {
    const listen = ({ params }: { readonly params: unknown }): void => listener(params as Events[E])
    this.#session.on(event as string, listen)
    try {
      action()
    } finally {
      this.#session.off(event, listen)
    }
  }

  /** Closes a session that turns out to be useless. */
  disconnect(): void {
    this.#session.disconnect()
  }
}

/**
 * The values passed between the two sides. Without a prototype, so that nothing else is looked up.
 */
interface Tray {
  item: unknown
  taken: readonly unknown[]
}

/**
 * V8 keeps objects with an id alive; after this number of questions all ids are released together.
 */
const MAX_QUESTIONS = 64

const GROUP = 'scaler-ts'

/** Other copies of this package use the same key, each for one question only. */
const KEY = 'scaler-ts.inspect'

/** Ids of objects; valid until the end of the turn. */
export class RemoteObjects {
  readonly #session: InspectorSession
  readonly #tray: Tray
  readonly #trayId: string
  readonly #ids = new Map<unknown, string>()
  #questionCount = 0
  #isReleasePlanned = false

  private constructor(session: InspectorSession, tray: Tray, trayId: string) {
    this.#session = session
    this.#tray = tray
    this.#trayId = trayId
  }

  /** Undefined where V8 does not see our objects. */
  static open(session: InspectorSession): RemoteObjects | undefined {
    const tray = Object.assign(Object.create(null), { item: undefined, taken: [] }) as Tray
    const place = session.meetingPlace
    const key = Symbol.for(KEY)
    Object.defineProperty(place, key, { value: tray, configurable: true })
    try {
      const expression = `${PLACE}[Symbol.for('${KEY}')]`
      const { result } = session.ask('Runtime.evaluate', { expression, silent: true })
      return result.objectId === undefined
        ? undefined
        : new RemoteObjects(session, tray, result.objectId)
    } finally {
      Reflect.deleteProperty(place, key)
    }
  }

  /**
   * The own properties of the object, with those that only V8 can see. Runs no getter and no trap,
   * with one exception: if a value is an error, V8 reads `stack`, `name` and `message`.
   */
  propertiesOf(value: object): Properties {
    return this.#session.ask('Runtime.getProperties', {
      objectId: this.idOf(value),
      ownProperties: true,
      nonIndexedPropertiesOnly: true,
    })
  }

  /** The id of an object, valid at most until this turn of the event loop ends. */
  idOf(value: object): string {
    this.#planRelease()
    const known = this.#ids.get(value)
    if (known !== undefined) return known
    this.#tray.item = value
    const { result } = this.#session.ask('Runtime.callFunctionOn', {
      objectId: this.#trayId,
      functionDeclaration: 'function(){return this.item}',
      objectGroup: GROUP,
      silent: true,
    })
    this.#tray.item = undefined
    if (result.objectId === undefined) throw new Error('V8 gave no id for an object')
    this.#ids.set(value, result.objectId)
    return result.objectId
  }

  /** The values themselves. */
  fetch(remotes: readonly Runtime.RemoteObject[]): readonly unknown[] {
    this.#session.ask('Runtime.callFunctionOn', {
      objectId: this.#trayId,
      functionDeclaration: 'function(...values){this.taken=values}',
      arguments: remotes.map(argumentFor),
      silent: true,
    })
    const { taken } = this.#tray
    this.#tray.taken = []
    return taken
  }

  /** Releases all ids now: V8 no longer keeps any of the objects alive. */
  release(): void {
    this.#questionCount = 0
    this.#ids.clear()
    this.#session.ask('Runtime.releaseObjectGroup', { objectGroup: GROUP })
  }

  /**
   * Called before an id is given out, so that the ids of one question are all released together.
   */
  #planRelease(): void {
    this.#questionCount += 1
    if (this.#questionCount > MAX_QUESTIONS) {
      this.release()
      this.#questionCount = 1
    }
    if (this.#isReleasePlanned) return
    this.#isReleasePlanned = true
    queueMicrotask(() => {
      this.#isReleasePlanned = false
      if (this.#questionCount > 0) this.release()
    })
  }
}

function argumentFor(remote: Runtime.RemoteObject): Runtime.CallArgument {
  const { objectId, unserializableValue } = remote
  if (objectId !== undefined) return { objectId }
  if (unserializableValue !== undefined) return { unserializableValue }
  if (remote.subtype === 'null') return { value: null }
  return remote.type === 'undefined' ? {} : { value: remote.value as unknown }
}

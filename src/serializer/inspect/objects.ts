// Objects on their way to V8's inspector and back. V8 knows objects by ids of its own. An object
// gets one by way of the tray, an object that both sides know: it is laid there, and a call of one
// line returns it on the other side. What V8 shows by id comes back the same way, as itself.

import type { Debugger, Runtime, Session } from 'node:inspector'
import type { FunctionLocation } from './inspector.js'

// What V8's inspector says about an object: beside its properties those that only V8 knows.

/** A private field or accessor. */
interface PrivateProperty {
  readonly name: string
  /** Missing for accessors. */
  readonly value?: Runtime.RemoteObject
}

/** What V8 says about one object. */
export interface Properties extends Runtime.GetPropertiesReturnType {
  readonly privateProperties?: readonly PrivateProperty[]
}

/** A property that only V8 knows, such as `[[Scopes]]`; undefined if the object has none of it. */
export function internal(
  properties: Properties | undefined,
  wanted: string,
): Runtime.RemoteObject | undefined {
  return properties?.internalProperties?.find(({ name }) => name === wanted)?.value
}

/** Where V8 has the text of the function. */
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

// The connection to V8's inspector in this very thread. An answer is there when `ask` returns, for
// a session in the same thread answers before `post` returns. It does not keep the process alive
// and says nothing to debuggers, which have sessions of their own.

/** Where V8's main context finds `InspectorSession.meetingPlace`: an expression. */
export const PLACE = "process.getBuiltinModule('node:inspector').Session"

/** `@types/node` does not know all of the protocol. */
interface PropertiesQuestion extends Runtime.GetPropertiesParameterType {
  /** Leaves out elements of arrays, of which there may be millions. */
  readonly nonIndexedPropertiesOnly: boolean
}

interface EvaluateQuestion extends Runtime.EvaluateParameterType {
  /** What takes longer is ended, in milliseconds. */
  readonly timeout?: number
}

/** What is asked, and what the answer is. */
interface Exchanges {
  'Runtime.evaluate': [EvaluateQuestion, Runtime.EvaluateReturnType]
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
  'Debugger.setBreakpointOnFunctionCall': [
    { readonly objectId: string },
    { readonly breakpointId: string },
  ]
  'Debugger.removeBreakpoint': [Debugger.RemoveBreakpointParameterType, object]
  'Debugger.evaluateOnCallFrame': [
    Debugger.EvaluateOnCallFrameParameterType,
    Debugger.EvaluateOnCallFrameReturnType,
  ]
  'Debugger.resume': [{ readonly terminateOnResume: boolean }, object]
}

interface Events {
  'Debugger.scriptParsed': Debugger.ScriptParsedEventDataType
  'Debugger.paused': Debugger.PausedEventDataType
}

/** The part of `node:inspector` that is used. */
interface InspectorModule {
  readonly Session: new () => Session
  url(): string | undefined
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
      // Looked up, not imported: a Node that was built without it could not load this file.
      return new InspectorSession(process.getBuiltinModule('node:inspector'))
    } catch {
      return undefined
    }
  }

  /** An object that V8's main context has too, whatever context this code runs in. */
  get meetingPlace(): object {
    return this.#module.Session
  }

  /** Whether a debugger is attached, or could be at any time. */
  get isDebuggable(): boolean {
    return this.#module.url() !== undefined
  }

  /** Asks and returns the answer. Throws what V8 says against it. */
  ask<M extends keyof Exchanges>(method: M, question: Exchanges[M][0]): Exchanges[M][1] {
    let failure: Error | null = new Error(`${method} was not answered`)
    let answer: object | undefined
    this.#session.post(method, question, (error, result) => {
      failure = error
      answer = result
    })
    if (failure !== null) throw failure
    return answer ?? {}
  }

  /** Runs `action`; `listener` gets what V8 reports meanwhile. */
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

  /** Ends it: for one that turns out to be of no use. */
  disconnect(): void {
    this.#session.disconnect()
  }
}

/** What passes between the two sides. Without a prototype, so that nothing else is looked up. */
interface Tray {
  item: unknown
  taken: readonly unknown[]
}

/** V8 keeps alive what has an id, so ids are given up together after so many questions. */
const MAX_QUESTIONS = 64

const GROUP = 'scaler-ts'

/** Any other copy of this package uses the same key, and has it for no longer than one question. */
const KEY = 'scaler-ts.inspect'

/** Ids of objects; they live to the end of the turn. */
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
   * The own properties of the object, with those that only V8 knows. Runs no getter and no trap,
   * but for this: of a value that is an error, V8 reads `stack`, `name` and `message`.
   */
  propertiesOf(value: object): Properties {
    return this.#session.ask('Runtime.getProperties', {
      objectId: this.idOf(value),
      ownProperties: true,
      nonIndexedPropertiesOnly: true,
    })
  }

  /** The id of an object: good until this turn of the event loop ends, at most. */
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

  /** Gives up all ids now: nothing that was shown to V8 is kept alive by it any longer. */
  release(): void {
    this.#questionCount = 0
    this.#ids.clear()
    this.#session.ask('Runtime.releaseObjectGroup', { objectGroup: GROUP })
  }

  /** Before an id is given out, so that all that belongs to one question has its ids. */
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

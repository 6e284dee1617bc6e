// The connection to V8's inspector in this very thread. An answer is there when `ask` returns, for
// a session in the same thread answers before `post` returns. It does not keep the process alive
// and says nothing to debuggers, which have sessions of their own.

import type { Debugger, Runtime, Session } from 'node:inspector'
import type { Properties } from './properties.js'

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

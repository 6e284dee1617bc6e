// Access to a captured variable. V8 shows the value of a variable, but not its identity. To find
// out whether two functions share a variable, the caller assigns it through one function and reads
// it through the other.
//
// Only code in the function's place can assign it. So the function is called with a breakpoint at
// its entry, where V8 evaluates an expression in its scope, and is ended there: none of its own
// code runs. That takes some 2 ms, whatever the size of the program.

import type { Runtime } from 'node:inspector'
import type { AnyFunction } from '../module/native.js'
import { type DebuggerSwitch, type InspectorSession, PLACE, type RemoteObjects } from './objects.js'

/** A captured variable. */
export interface VariableAccess {
  get(): unknown
  set(value: unknown): void
}

/** Other copies of this package use the same key, each for one question only. */
const KEY = 'scaler-ts.call'

/**
 * V8 can end an evaluation, and continue afterwards, only if the evaluation has a time limit: any
 * limit will do.
 */
const LIMIT_MS = 60_000

/** Finds variables. */
export class VariableFinder {
  readonly #session: InspectorSession
  readonly #objects: RemoteObjects
  readonly #debugger: DebuggerSwitch

  constructor(session: InspectorSession, objects: RemoteObjects, debug: DebuggerSwitch) {
    this.#session = session
    this.#objects = objects
    this.#debugger = debug
  }

  /**
   * V8 is prepared once for all the variables that `action` finds: preparing takes longer than
   * finding.
   */
  searching<T>(action: () => T): T {
    return this.#session.isDebuggable ? action() : this.#debugger.using(action)
  }

  /**
   * The variable that `name` refers to in the body of a function. The function must have simple
   * parameters only, because defaults are evaluated before its entry, and must be neither a class
   * nor a generator. Undefined if V8 does not stop there, and while a debugger can be attached,
   * because that would stop as well. Throws V8's error if it refuses.
   */
  find(fn: AnyFunction, name: string): VariableAccess | undefined {
    if (this.#session.isDebuggable) return undefined
    const found = this.searching(() => this.#enter(fn, name))
    if (found?.objectId === undefined) return undefined
    return this.#objects.fetch([found])[0] as VariableAccess
  }

  #enter(fn: AnyFunction, name: string): Runtime.RemoteObject | undefined {
    const objectId = this.#objects.idOf(fn)
    let found: Runtime.RemoteObject | undefined
    const { breakpointId } = this.#session.ask('Debugger.setBreakpointOnFunctionCall', { objectId })
    this.#session.listening(
      'Debugger.paused',
      ({ callFrames: [frame] }) => {
        try {
          if (frame !== undefined) found = this.#evaluate(frame.callFrameId, name)
        } finally {
          this.#session.ask('Debugger.resume', { terminateOnResume: true })
        }
      },
      () => this.#call(fn),
    )
    this.#session.ask('Debugger.removeBreakpoint', { breakpointId })
    return found
  }

  #evaluate(callFrameId: string, name: string): Runtime.RemoteObject {
    // The parameter of the setter needs a name other than that of the variable.
    const value = name === 'v' ? 'w' : 'v'
    const expression = `({get:()=>${name},set:(${value})=>{${name}=${value}}})`
    const question = { callFrameId, expression, silent: true }
    return this.#session.ask('Debugger.evaluateOnCallFrame', question).result
  }

  #call(fn: AnyFunction): void {
    const place = this.#session.meetingPlace
    const key = Symbol.for(KEY)
    const value = (): unknown => Reflect.apply(fn, undefined, [])
    Object.defineProperty(place, key, { value, configurable: true })
    const expression = `${PLACE}[Symbol.for('${KEY}')]()`
    try {
      this.#session.ask('Runtime.evaluate', { expression, silent: true, timeout: LIMIT_MS })
    } catch {
      // It was ended.
    } finally {
      Reflect.deleteProperty(place, key)
    }
  }
}

// A way to a captured variable. V8 shows what it holds, but not which variable it is: so whoever
// wants to know whether two functions share one assigns it by the one and looks at it by the other.
//
// Only code in the function's place can assign it. So the function is called with a breakpoint at
// its entry, where V8 evaluates an expression in its scope, and ended there: nothing of it runs.
// That takes some 2 ms, whatever the size of the program.

import type { Runtime } from 'node:inspector'
import type { AnyFunction } from '../module/native.js'
import { type InspectorSession, PLACE, type RemoteObjects } from './objects.js'

/** A captured variable. */
export interface VariableAccess {
  get(): unknown
  set(value: unknown): void
}

/** Any other copy of this package uses the same key, and has it for no longer than one question. */
const KEY = 'scaler-ts.call'

/** V8 can end what it evaluates, and go on behind it, only where it has a limit: any will do. */
const LIMIT_MS = 60_000

/** Finds variables. */
export class VariableFinder {
  readonly #session: InspectorSession
  readonly #objects: RemoteObjects
  #isSearching = false

  constructor(session: InspectorSession, objects: RemoteObjects) {
    this.#session = session
    this.#objects = objects
  }

  /** V8 is prepared once for all that `action` finds: that takes longer than finding. */
  searching<T>(action: () => T): T {
    if (this.#isSearching || this.#session.isDebuggable) return action()
    this.#session.ask('Debugger.enable', {})
    this.#isSearching = true
    try {
      return action()
    } finally {
      this.#isSearching = false
      this.#session.ask('Debugger.disable', {})
    }
  }

  /**
   * The variable that `name` is in the body of a function. The function must have simple parameters
   * only, for defaults are evaluated before its entry, and be no class or generator. Undefined if
   * V8 does not stop there, and while a debugger can be attached: that would stop, too. Throws what
   * V8 says against it.
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
    // What it is set to must not be called as the variable may be.
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

// What is known of all functions that are made at one place of a script, such as the body of a
// loop. Each of them is another function, but if it refers to the same variables as the others, it
// need not be examined again.

import { engineQuestion } from './engine.js'
import type { AnyFunction } from '../module/native.js'
import type { KnownScript, ScriptTable } from '../function/scripts.js'

type OfFunction = readonly [AnyFunction]

const SAMPLE: OfFunction = [() => {}]

/** The id of the script of a function; -1 for a native one. */
const scriptIdOf = engineQuestion<OfFunction, number>('%FunctionGetScriptId(fn)', ['fn'], SAMPLE)

/** Where the function begins in its script. */
const positionOf = engineQuestion<OfFunction, number>(
  '%FunctionGetScriptSourcePosition(fn)',
  ['fn'],
  SAMPLE,
)

/** Facts about places, kept as long as their scripts. */
export class CodePlaces<Fact> {
  readonly #facts = new WeakMap<KnownScript, Map<number, Fact>>()

  /** `fact` holds for all functions made where `fn` was made. */
  add(fn: AnyFunction, script: KnownScript, fact: Fact): void {
    const position = positionOf(fn)
    if (position === undefined || String(scriptIdOf(fn)) !== script.script.id) return
    const facts = this.#facts.get(script) ?? new Map<number, Fact>()
    this.#facts.set(script, facts.set(position, fact))
  }

  /** The fact about a function; undefined if none is known, or if the engine cannot be asked. */
  find(fn: AnyFunction, scripts: ScriptTable): Fact | undefined {
    const script = scripts.known(String(scriptIdOf(fn)))
    const facts = script && this.#facts.get(script)
    if (facts === undefined) return undefined
    const position = positionOf(fn)
    return position === undefined ? undefined : facts.get(position)
  }
}

// Questions that only the engine can answer, in its own syntax: they take nanoseconds, where its
// inspector takes a tenth of a millisecond. Not every engine has each of them.

import { compileFunction } from 'node:vm'

/** A compiled question; undefined means that the engine cannot be asked. */
type Question<Given extends readonly unknown[], Answer> = (...given: Given) => Answer | undefined

/**
 * The question `text` about `parameters`, compiled when it is first asked, and tried with `sample`.
 * V8 discards the code
 * of functions that have not been called for a while, and cannot compile this one again, because
 * the syntax is allowed only while it is compiled here.
 */
export function engineQuestion<Given extends readonly unknown[], Answer>(
  text: string,
  parameters: readonly string[],
  sample: Given,
): Question<Given, Answer> {
  let ask: Question<Given, Answer> | undefined
  let isImpossible = false
  const compileNow = (): void => {
    ask = compiled(text, parameters, sample)
    isImpossible = ask === undefined
  }
  return (...given) => {
    if (isImpossible) return undefined
    if (ask === undefined) compileNow()
    try {
      return ask?.(...given)
    } catch {
      compileNow()
      return ask?.(...given)
    }
  }
}

function compiled<Given extends readonly unknown[], Answer>(
  text: string,
  parameters: readonly string[],
  sample: Given,
): Question<Given, Answer> | undefined {
  // Loaded when it is needed: it takes a while.
  const { setFlagsFromString } = process.getBuiltinModule('node:v8')
  try {
    setFlagsFromString('--allow-natives-syntax')
    const ask = compileFunction(`return ${text}`, parameters) as Question<Given, Answer>
    // Functions are compiled on their first call.
    ask(...sample)
    return ask
  } catch {
    return undefined
  } finally {
    setFlagsFromString('--no-allow-natives-syntax')
  }
}

// For tests: finds a function in a script, and evaluates the code of one with given values.

import assert from 'node:assert/strict'
import type { Session } from 'node:inspector'
import { compileFunction } from 'node:vm'
import type { FunctionCode, FunctionSite } from './sites.js'
import { analyzeScript, type ScriptAnalysis } from './analysis.js'

export type AnyFunction = (...parameters: never[]) => unknown

/** The analysis of a script that is known to be valid. */
export function analysisOf(source: string, isModule = true): ScriptAnalysis {
  const analysis = analyzeScript(source, isModule)
  assert.ok(analysis !== undefined, `cannot be parsed: ${source}`)
  return analysis
}

/** The site of the function with this text, which occurs once in the script. */
export function siteIn(source: string, text: string, isModule = true): FunctionSite {
  const analysis = analysisOf(source, isModule)
  const start = source.indexOf(text)
  assert.ok(start >= 0 && source.indexOf(text, start + 1) < 0, `not once in the script: ${text}`)
  for (let offset = start; offset < start + text.length; offset += 1) {
    const site = analysis.siteAt(offset, text)
    if (site !== undefined) return site
  }
  return assert.fail(`no function: ${text}`)
}

/** The value of a code's expression with these values for its names. */
export function evaluate(
  code: FunctionCode,
  values: Readonly<Record<string, unknown>> = {},
): (...parameters: unknown[]) => unknown {
  const given = code.names.filter(({ free }) => Object.hasOwn(values, free.name))
  const others = [...code.runtime.map(({ name }) => name), code.parentName, code.adoptName].filter(
    (name) => name !== undefined,
  )
  const names = [...given.map(({ name }) => name), ...others]
  const text = `${code.isStrict ? "'use strict';" : ''}return (${code.expression}\n)`
  const make = compileFunction(text, names) as AnyFunction
  const parameters = [
    ...given.map(({ free }) => values[free.name]),
    ...others.map((name) => values[name]),
  ]
  const value: unknown = Reflect.apply(make, undefined, parameters)
  if (code.form === 'value') return value as () => unknown
  const member = Object.getOwnPropertyDescriptor(value, 'm')
  const field = ({ method: 'value', getter: 'get', setter: 'set' } as const)[code.form]
  return member?.[field] as () => unknown
}

/** V8's position of a function. */
export function placeByV8(session: Session, fn: unknown): { line: number; column: number } {
  const post = (method: string, parameters: object): Record<string, unknown> => {
    let answer: object | undefined
    session.post(method, parameters, (error, result) => {
      assert.equal(error, null)
      answer = result
    })
    assert.ok(answer !== undefined)
    return answer as Record<string, unknown>
  }
  const key = 'place by v8'
  Reflect.set(globalThis, key, fn)
  const { result } = post('Runtime.evaluate', { expression: `globalThis['${key}']` })
  Reflect.deleteProperty(globalThis, key)
  const { objectId } = result as { objectId: string }
  const { internalProperties } = post('Runtime.getProperties', { objectId, ownProperties: true })
  const all = internalProperties as { name: string; value: { value: unknown } }[]
  const found = all.find(({ name }) => name === '[[FunctionLocation]]')?.value.value
  const { lineNumber, columnNumber } = found as { lineNumber: number; columnNumber: number }
  return { line: lineNumber, column: columnNumber }
}

// Functions of generated programs have the same results and effects in their place and elsewhere,
// after they were moved with their captures.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFunction } from 'node:vm'
import fc from 'fast-check'
import { sized } from '../../base/short-run.kit.js'
import type { Binding, FunctionSite } from './sites.js'
import { programOf } from './program.kit.js'
import type { ScriptAnalysis } from './analysis.js'
import { analysisOf, type AnyFunction } from './site.kit.js'

interface Program {
  readonly functions: Readonly<Record<string, AnyFunction>>
  readonly variables: () => Readonly<Record<string, unknown>>
}

/** Undefined if the text has an error. */
function start(text: string): Program | undefined {
  try {
    return (compileFunction(text) as () => Program)()
  } catch (error) {
    // Some statements run when the program starts, and fail.
    assert.ok(error instanceof Error)
    return undefined
  }
}

/** Moves functions of a program out of it. */
class Mover {
  readonly #text: string
  readonly #analysis: ScriptAnalysis
  readonly #variables: Readonly<Record<string, unknown>>
  readonly #moved = new Map<unknown, { value: unknown }>()
  /** Work that has to wait until all functions exist. */
  readonly #pending: (() => void)[] = []
  readonly cells = new Map<Binding, { v: unknown }>()

  constructor(text: string, program: Program) {
    this.#text = text
    this.#analysis = analysisOf(text, false)
    this.#variables = program.variables()
  }

  move(value: unknown): unknown {
    const moved = this.#make(value)
    while (this.#pending.length > 0) this.#pending.pop()?.()
    return moved
  }

  #make(value: unknown): unknown {
    if (typeof value !== 'function') return value
    const known = this.#moved.get(value)
    if (known !== undefined) return known.value
    const site = this.#siteOf(value)
    if (site === undefined) return value
    const entry: { value: unknown } = { value: undefined }
    this.#moved.set(value, entry)
    const { code } = site
    const names = code.names.filter(({ free }) => free.binding !== undefined)
    const late = names.filter(
      ({ free, isCell, isEarly }) =>
        !isCell && !isEarly && typeof this.#variables[free.name] === 'function',
    )
    const given = names.filter((name) => !late.includes(name))
    const setters = late.map(({ name }) => `set ${name}(v) { ${name} = v }`)
    const declarations = late.length > 0 ? `let ${late.map(({ name }) => name).join()};` : ''
    const make = compileFunction(
      `${code.isStrict ? "'use strict';" : ''}${declarations}
       return [(${code.expression}\n), {${setters.join()}}]`,
      [
        ...given.map(({ name }) => name),
        ...(code.parentName === undefined ? [] : [code.parentName]),
      ],
    )
    const [made, setLate] = Reflect.apply(make as AnyFunction, undefined, [
      ...given.map(({ free, isCell }) =>
        isCell && free.binding
          ? this.#cellOf(free.binding)
          : this.#make(this.#variables[free.name]),
      ),
      this.#make(Object.getPrototypeOf(value)),
    ]) as [Record<string, unknown>, Record<string, unknown>]
    entry.value = code.form === 'value' ? made : made['m']
    Object.defineProperty(entry.value, 'name', { value: value.name, configurable: true })
    if (site.kind === 'class') this.#moveStatics(value, entry.value as object)
    for (const { name, free } of late) {
      this.#pending.push(() => (setLate[name] = this.#make(this.#variables[free.name])))
    }
    return entry.value
  }

  #moveStatics(from: object, to: object): void {
    for (const key of Object.keys(from)) {
      this.#pending.push(() => Reflect.set(to, key, this.#make(Reflect.get(from, key))))
    }
  }

  #cellOf(binding: Binding): { v: unknown } {
    const known = this.cells.get(binding)
    if (known !== undefined) return known
    const cell: { v: unknown } = { v: undefined }
    this.cells.set(binding, cell)
    this.#pending.push(() => (cell.v = this.#make(this.#variables[binding.name])))
    return cell
  }

  #siteOf(fn: unknown): FunctionSite | undefined {
    const text = Function.prototype.toString.call(fn)
    const begin = this.#text.indexOf(text)
    if (begin < 0) return undefined
    for (let offset = begin; offset < begin + text.length; offset += 1) {
      const site = this.#analysis.siteAt(offset, text)
      if (site !== undefined) return site
    }
    return undefined
  }
}

/** The form of a value, and its result if it is a function. */
function lookOf(value: unknown, depth = 3): unknown {
  if (typeof value === 'function') {
    const own =
      depth > 2 ? outcomeOf(() => Reflect.apply(value as AnyFunction, undefined, [1]), 1) : ''
    return ['function', value.name, own]
  }
  // The text of a function differs after it was moved.
  if (typeof value === 'string') return /[{}]|=>/.test(value) ? 'text' : value
  if (typeof value !== 'object' || value === null) return String(value)
  if (depth === 0) return 'object'
  if (value instanceof Error) return value.name
  if (Symbol.iterator in value && 'next' in value) {
    return outcomeOf(() => [...(value as Iterable<unknown>)].slice(0, 5), depth - 1)
  }
  return Object.entries(value).map(([key, each]) => [lookOf(key), lookOf(each, depth - 1)])
}

function outcomeOf(run: () => unknown, depth: number): unknown {
  try {
    return lookOf(run(), depth)
  } catch (error) {
    return ['thrown', lookOf(error)]
  }
}

/** Calls a function several times, awaiting it. */
async function resultsOf(fn: AnyFunction, variables: () => unknown): Promise<unknown> {
  const results: unknown[] = []
  for (const parameter of [1, 'text', { x: 1 }]) {
    try {
      const value: unknown = Reflect.apply(fn, undefined, [parameter])
      results.push(lookOf(value instanceof Promise ? await value : value))
    } catch (error) {
      results.push(['thrown', lookOf(error)])
    }
    results.push(variables())
  }
  return results
}

test('a function behaves the same after it was moved with its captures', async () => {
  const covered = new Set<string>()
  const numbers = fc.array(fc.nat({ max: 999 }), { maxLength: 400, size: 'max' })
  const property = fc.asyncProperty(numbers, fc.boolean(), async (list, isStrict) => {
    const text = programOf(list, isStrict)
    const functions = Object.entries(start(text)?.functions ?? {})
    const names = functions.filter(([, fn]) => typeof fn === 'function').map(([name]) => name)
    for (const name of names) {
      const [here, there] = [start(text), start(text)]
      assert.ok(here !== undefined && there !== undefined)
      const mover = new Mover(text, there)
      const original = here.functions[name]
      const moved = mover.move(there.functions[name]) as AnyFunction
      assert.ok(original !== undefined && moved !== there.functions[name])
      const cells = [...mover.cells]
      const shown = cells.map(([binding]) => binding.name).toSorted()
      const look = (read: (name: string) => unknown): unknown =>
        shown.map((each) => [each, lookOf(read(each), 1)])
      const expected = await resultsOf(original, () => look((each) => here.variables()[each]))
      const actual = await resultsOf(moved, () =>
        look((each) => cells.find(([binding]) => binding.name === each)?.[1].v),
      )
      assert.deepEqual(actual, expected, `${name} of\n${text}`)
      covered.add(name)
      if (cells.length > 0) covered.add('cells')
    }
  })
  await fc.assert(property, { numRuns: sized(60, 20) })
  const expected = ['cells', 'f0', 'f1', 'f2', 'f3', 'm', 'make']
  assert.deepEqual([...covered].toSorted(), expected)
})

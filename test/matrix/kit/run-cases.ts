// Runs cases inside the program of an environment and writes a report. The build of the program
// differs; this file is the same plain JavaScript for all, like a package.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { SerializeError, defaultSerializer, Client } from 'scaler-ts'
import type { Case, Outcome, Place, Report, Ship } from './case.js'
import { Far } from './far.js'

/** The request of the environment's harness, in the variable MATRIX. */
export interface Order {
  /** Where to write the report. */
  readonly report: string
  readonly folder: string
  /** The working directory of the far side. */
  readonly farFolder: string
  /** `local` calls the functions here, which shows whether the cases are correct. */
  readonly mode: 'ship' | 'local'
  readonly hasSmoke: boolean
  /** Words; only cases with one of them in their name are run. None means all. */
  readonly words: readonly string[]
  /** The features that the environment lacks. */
  readonly lacks: readonly string[]
}

/** Runs all cases that the environment variable MATRIX requests, one after the other. */
export async function runCases(all: readonly Case[]): Promise<void> {
  const order = JSON.parse(process.env['MATRIX'] ?? '') as Order
  const isWanted = ({ name }: Case): boolean =>
    order.words.length === 0 || order.words.some((word) => name.includes(word))
  const wanted = all.filter(isWanted)
  assertNamesDiffer(all)
  const far = new Far(order.farFolder)
  const ship: Ship = async (fn, ...args) => {
    const bytes = defaultSerializer.serialize(fn)
    const answer = await far.ask({
      fn: bytes,
      args: args.map((arg) => defaultSerializer.serialize(arg)),
    })
    if (answer.kind === 'value') return defaultSerializer.deserialize(answer.bytes)
    if (answer.kind === 'thrown') throw defaultSerializer.deserialize(answer.bytes)
    throw new assert.AssertionError({ message: `could not be read there: ${answer.text}` })
  }
  try {
    const cases = await outcomesOf(wanted, order.mode === 'ship' ? ship : callHere, order)
    const smoke = order.hasSmoke ? await smokeOutcomes(wanted, order) : []
    const report: Report = { nodeVersion: process.version, cases, smoke }
    writeFileSync(order.report, JSON.stringify(report))
  } finally {
    await far.close()
  }
}

const callHere: Ship = async (fn, ...args) => (fn as (...parameters: unknown[]) => unknown)(...args)

function assertNamesDiffer(cases: readonly Case[]): void {
  const names = cases.map(({ name }) => name)
  const twice = names.filter((name, index) => names.indexOf(name) !== index)
  assert.deepEqual(twice, [], 'two cases have the same name')
}

async function outcomesOf(
  cases: readonly Case[],
  ship: Ship,
  order: Order,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  for (const one of cases) {
    const begun = performance.now()
    const { result, detail } = await outcomeOf(one, ship, order)
    outcomes.push({ name: one.name, result, detail, durationMs: performance.now() - begun })
  }
  return outcomes
}

/** A few of the cases on a cluster with one worker. */
async function smokeOutcomes(cases: readonly Case[], order: Order): Promise<readonly Outcome[]> {
  const client = await Client.local({ workers: 1, timeoutMs: 60_000 })
  try {
    const submit: Ship = async (fn, ...args) => client.submit(fn, ...(args as never[]))
    return await outcomesOf(
      cases.filter(({ isSmoke }) => isSmoke),
      submit,
      order,
    )
  } finally {
    await client.close()
  }
}

type Judgement = Pick<Outcome, 'result' | 'detail'>

async function outcomeOf(one: Case, ship: Ship, order: Order): Promise<Judgement> {
  const isHere = one.needs?.some((feature) => order.lacks.includes(feature)) !== true
  if (!isHere) return { result: 'not run', detail: '' }
  // Cases that must be refused may still be called here.
  if (order.mode === 'local' && 'refused' in one) return { result: 'right', detail: '' }
  try {
    await perform(one, ship, order)
  } catch (error) {
    if (error instanceof SerializeError) return refusalOf(one, error)
    return { result: 'failed', detail: textOf(error) }
  }
  if ('refused' in one) return { result: 'failed', detail: 'it was not refused' }
  return { result: 'right', detail: '' }
}

async function perform(one: Case, ship: Ship, place: Place): Promise<void> {
  if ('scenario' in one) return one.scenario(ship, place)
  const args = one.args ?? []
  if ('throws' in one) {
    const thrown = await ship(one.fn, ...args).then(
      () => assert.fail('it threw nothing'),
      (reason: unknown) => reason,
    )
    if (thrown instanceof SerializeError || thrown instanceof assert.AssertionError) throw thrown
    return one.throws(thrown, place)
  }
  const result = await ship(one.fn, ...args)
  if ('want' in one) assert.deepStrictEqual(result, one.want)
  if ('check' in one) await one.check(result, place)
}

function refusalOf(one: Case, error: SerializeError): Judgement {
  const allowed = 'refused' in one ? one.refused : one.mayBeRefused
  const { message } = error
  if (allowed === undefined) return { result: 'failed', detail: `refused: ${message}` }
  if (!allowed.test(message)) {
    return { result: 'failed', detail: `refused, but not with ${String(allowed)}: ${message}` }
  }
  return { result: 'refused' in one ? 'refused' : 'declined', detail: message }
}

function textOf(error: unknown): string {
  return error instanceof Error ? String(error.stack) : `thrown: ${JSON.stringify(error)}`
}

// A client for the chaos: keeps mixed work in progress and checks every result, until its stdin
// says "finish" (then it waits for unfinished work) or closes. It reports in lines of JSON.
// Arguments: the scheduler's address, a seed, and kinds of work, if not all.

import { setTimeout as delay } from 'node:timers/promises'
import { createInterface } from 'node:readline'
import { Client, type Future } from 'scaler-ts'
import { Random } from '../random.js'
import type { ClientReport, KindCount } from '../tally.js'
import { LOADS, isCollateral } from './load.js'

/** Pieces of work at a time. */
const WIDTH = 6
const REPORT_MS = 250
/** Longer than the longest fault and its consequences. */
const LATE_MS = 60_000
/** Worth a line in the journal. */
const SLOW_MS = 15_000

const [address = '', seed = '0', ...kinds] = process.argv.slice(2)
const random = new Random(Number(seed))
const weights = Object.fromEntries(
  Object.entries(LOADS)
    .filter(([name]) => kinds.length === 0 || kinds.includes(name))
    .map(([name, load]) => [name, load.weight]),
)
const counts: Record<string, KindCount> = {}
const open = new Map<number, { readonly kind: string; readonly begun: number }>()
let isFinishing = false
let number = 0

function say(report: ClientReport): void {
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

/** One piece of work, from its choice to its outcome. */
async function perform(client: Client): Promise<void> {
  const kind = random.weighted(weights)
  const load = LOADS[kind]
  if (load === undefined) throw new Error(`no load is named ${kind}`)
  const id = (number += 1)
  const begun = performance.now()
  open.set(id, { kind, begun })
  const count = (counts[kind] ??= { ended: 0, collateral: 0, late: 0, longestMs: 0 })
  const futures: Future<unknown>[] = []
  const late = setTimeout(() => void tellLate(kind, begun, futures), LATE_MS)
  try {
    await load.run(recording(client, futures), new Random(random.below(2 ** 31)))
  } catch (error) {
    if (isCollateral(error)) count.collateral += 1
    else say({ event: 'finding', kind, text: describe(error) })
  }
  clearTimeout(late)
  open.delete(id)
  const ms = performance.now() - begun
  count.ended += 1
  count.longestMs = Math.max(count.longestMs, Math.round(ms))
  if (ms > LATE_MS) count.late += 1
  if (ms > SLOW_MS) say({ event: 'slow', kind, ms: Math.round(ms) })
}

/** The same client; adds the future of each submit to the list. */
function recording(client: Client, futures: Future<unknown>[]): Client {
  return new Proxy(client, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function') return value
      return (...given: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, given)
        if (key === 'submit') futures.push(result as Future<unknown>)
        return key === 'with' ? recording(result as Client, futures) : result
      }
    },
  })
}

const ENDED: ReadonlySet<string> = new Set(['done', 'failed', 'cancelled'])

/** Work that has not ended in time, with what its tasks wait for. */
async function tellLate(
  kind: string,
  begun: number,
  futures: readonly Future<unknown>[],
): Promise<void> {
  const waiting = futures.filter(({ state }) => !ENDED.has(state))
  const told = await Promise.all(
    waiting.slice(0, 4).map((future) => future.explain().catch((error: unknown) => String(error))),
  )
  const ms = Math.round(performance.now() - begun)
  const cluster = await describeCluster()
  const text =
    `${waiting.length} of ${futures.length} submits are open: ` +
    `${JSON.stringify(told)}; ${cluster}`
  say({ event: 'late', kind, ms, text })
}

async function describeCluster(): Promise<string> {
  try {
    const { scheduler, tasks, waiting, hosts } = await client.info()
    const workers = hosts.flatMap((host) =>
      host.workers.map(({ state, queued }) => [state, queued]),
    )
    return JSON.stringify({ uptimeS: scheduler.uptimeS, tasks, waiting, workers })
  } catch (error) {
    return String(error)
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? ` <- ${error.cause.stack}` : ''
  return `${error.stack}${cause}`
}

async function lane(client: Client): Promise<void> {
  while (!isFinishing) {
    await perform(client)
    // Work that ends immediately must not starve the rest.
    await delay(random.below(10))
  }
}

function unfinished(): string[] {
  const now = performance.now()
  return [...open.values()].map(({ kind, begun }) => `${kind} for ${Math.round(now - begun)} ms`)
}

const lines = createInterface({ input: process.stdin })
lines.on('line', (text) => {
  if (text === 'finish') isFinishing = true
  if (text === 'unfinished') say({ event: 'unfinished', what: unfinished() })
})
lines.on('close', () => process.exit(3))

const client = new Client(address, { heartbeatIntervalMs: 500, timeoutMs: 120_000 })
const view = client.with({ maxWorkerDeaths: 1_000_000 })
const timer = setInterval(() => say({ event: 'progress', counts }), REPORT_MS)
await Promise.all(Array.from({ length: WIDTH }, () => lane(view)))
clearInterval(timer)
await client.disconnect()
say({ event: 'done', counts })
lines.removeAllListeners('close')
lines.close()
process.stdin.destroy()

// What it costs to be watched: `map` of no-op tasks alone, and while `scaler_top`, `scaler_ui` with
// an open page, a scrape each second, a client that reads all events and a monitor of 1.9.9 are
// attached; and the turns of a scheduler with thousands of workers.

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'scaler-ts'
import { simulateWorkers } from '#src/scheduler/simulated-workers.kit.js'
import { SubSocket } from '#src/transport/sub.js'
import { inputs, timeMs, type Benchmark, type BenchOptions, type Sample } from './benchmark.js'
import { BenchCluster, command, endCommand, type LogLine } from './cluster.js'
import { median } from './figures.js'
import { measureTurns } from './turns.js'

const TIMES = 30
/** Passes of each kind, each next to one without, so that both see the same machine. */
const PASSES = 3
const SCRAPE_MS = 1_000
/** Workers that only send heartbeats, while the scheduler's turns are measured. */
const IDLE_WORKERS = 5_000
const TURNS_MS = 30_000
/** From their connection until the scheduler's code is warm. */
const SETTLE_MS = 8_000
const EVENTS_PROGRAM = fileURLToPath(new URL('events-program.js', import.meta.url))
const noop = <T>(input: T): T => input

/** Attaches something that watches; resolves, when it has received something, to what ends it. */
type Watcher = (cluster: BenchCluster) => Promise<() => Promise<void>>

/** `scaler_top` on a pipe. */
const top: Watcher = async ({ address }) => {
  const child = command([], 'scaler-top.js', address)
  await once(createInterface({ input: child.stdout as Readable }), 'line')
  return () => endCommand(child)
}

/** `scaler_ui`, and a page of it. */
const ui: Watcher = async ({ address }) => {
  const child = command([], 'scaler-ui.js', address, '--port', '0')
  const closing = new AbortController()
  const page = read(`${await pageOf(child)}api/events?view=workers`, closing.signal)
  return async () => {
    closing.abort()
    await page
    await endCommand(child)
  }
}

const scrape: Watcher = async ({ metricsAddress }) => {
  const closing = new AbortController()
  const { signal } = closing
  const get = (): Promise<void> => read(`http://${metricsAddress}/metrics`, signal)
  await get()
  const timer = setInterval(() => void get(), SCRAPE_MS)
  return async () => {
    clearInterval(timer)
    closing.abort()
  }
}

const events: Watcher = async ({ address }) => {
  const child = fork(EVENTS_PROGRAM, [address])
  await once(child, 'message')
  return async () => {
    child.send('stop')
    await once(child, 'exit')
  }
}

/** A monitor of 1.9.9: it is sent whatever is published. */
const monitor: Watcher = async ({ monitorAddress }) => {
  const socket = new SubSocket(monitorAddress, {
    onMessages: () => {},
    onConnect: () => {},
    onDisconnect: () => {},
    onConnectFailed: () => {},
  })
  socket.subscribe(Buffer.alloc(0))
  return () => socket.close()
}

const KINDS: readonly (readonly [string, readonly Watcher[]])[] = [
  ['events and a scrape', [events, scrape]],
  ['scaler_top', [top]],
  ['scaler_ui and its page', [ui]],
  ['all of these and a 1.9.9 monitor', [events, scrape, top, ui, monitor]],
]

/** The throughput of `map` with each kind of watchers, and how long the scheduler's turns are. */
export const watched: Benchmark = {
  name: 'watched',
  run: async (settings) => [...(await throughput(settings)), ...(await turns())],
}

async function throughput({
  workers,
  tasks,
  payloadBytes,
}: BenchOptions): Promise<readonly Sample[]> {
  const cluster = await BenchCluster.start([], ['--metrics-address', '127.0.0.1:0'])
  try {
    await cluster.startWorkers(workers)
    const client = await Client.connect(cluster.address)
    try {
      const count = tasks * TIMES
      const pass = (): Promise<number> =>
        timeMs(() => client.map(noop, inputs(count, payloadBytes)))
      await pass()
      const samples: Sample[] = []
      for (const [kind, watchers] of KINDS) {
        const ratios: number[] = []
        for (let round = 0; round < PASSES; round += 1) {
          ratios.push(await ratioOf(pass, () => attach(cluster, watchers)))
        }
        const name = `map with ${kind}, ratio to without`
        samples.push({ name, unit: '', value: median(ratios) })
      }
      return samples
    } finally {
      await client.close()
    }
  } finally {
    await cluster.stop()
  }
}

/** Heartbeats of thousands of workers, with a client that reads all events, and scrapes. */
function turns(): Promise<readonly Sample[]> {
  const during = ` with ${IDLE_WORKERS.toLocaleString('en')} workers, events and a scrape`
  return measureTurns(during, ['--metrics-address', '127.0.0.1:0'], async (cluster, count) => {
    const workers = await simulateWorkers(cluster.address, IDLE_WORKERS)
    const end = await attach(cluster, [events, scrape])
    await delay(SETTLE_MS)
    await count(() => delay(TURNS_MS))
    await end()
    await workers.close()
  })
}

/** Attaches all of them; resolves to what ends them. */
async function attach(
  cluster: BenchCluster,
  watchers: readonly Watcher[],
): Promise<() => Promise<void>> {
  const ends = await Promise.all(watchers.map((watch) => watch(cluster)))
  return async () => {
    for (const end of ends) await end()
  }
}

/** The time of a pass alone, over that of one that is watched. */
async function ratioOf(
  pass: () => Promise<number>,
  watch: () => Promise<() => Promise<void>>,
): Promise<number> {
  const aloneMs = await pass()
  const end = await watch()
  // Not measured: what watches has only just started.
  await pass()
  const watchedMs = await pass()
  await end()
  return aloneMs / watchedMs
}

/** Where the page is, as the command's log says. */
async function pageOf(ui: ChildProcess): Promise<string> {
  for await (const text of createInterface({ input: ui.stdout as Readable })) {
    const { url } = JSON.parse(text) as LogLine
    if (typeof url === 'string') {
      ui.stdout?.resume()
      return url
    }
  }
  throw new Error('scaler_ui has exited')
}

/** Reads a response until it ends or is aborted. */
async function read(url: string, signal: AbortSignal): Promise<void> {
  try {
    const response = await fetch(url, { signal })
    for await (const part of response.body ?? []) void part
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

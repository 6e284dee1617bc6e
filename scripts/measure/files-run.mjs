// A program of `npm run measure`: counts the files of `lib/` in which a function runs while one
// thing happens, as V8 counts the calls. Prints one line of JSON.

import { once } from 'node:events'
import { Session } from 'node:inspector'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../paths.mjs'

const LIB = pathToFileURL(join(ROOT, 'lib/')).href
const { Client } = await import(`${LIB}index.js`)
const { Scheduler } = await import(`${LIB}scheduler/scheduler.js`)
const { Agent } = await import(`${LIB}worker/agent/agent.js`)

/** Each is counted this often: a timer of something else can only add files. */
const ROUNDS = 5
const WARM_UP_ROUNDS = 20
/** Long enough that no heartbeat is sent while something else is counted. */
const RARE_MS = 600_000
const RARELY = { heartbeatIntervalMs: RARE_MS, timeoutMs: 3 * RARE_MS }
const OFTEN_MS = 100
const SETTLE_MS = 200

const noop = (input) => input

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** The number of files in which a function has run since the last call, except module code. */
function takeFiles() {
  let result
  session.post('Profiler.takePreciseCoverage', (error, { result: scripts }) => (result = scripts))
  const hasRun = ({ functions: [, ...functions] }) =>
    functions.some(({ ranges }) => ranges.some(({ count }) => count > 0))
  return result.filter((script) => script.url.startsWith(LIB) && hasRun(script)).length
}

/** The smallest number of files in several rounds. What `prepare` does is not counted. */
async function fewestFiles(happen, prepare) {
  let fewest = Infinity
  for (let round = 0; round < ROUNDS; round += 1) {
    const prepared = await prepare?.()
    takeFiles()
    await happen(prepared)
    fewest = Math.min(fewest, takeFiles())
  }
  return fewest
}

/** The client, with a cluster in other processes. */
async function countClient() {
  const client = await Client.local({ workers: 1, ...RARELY })
  takeFiles()
  const first = client.submit(noop, 0)
  const firstSubmit = takeFiles()
  await first
  await warmUp(client)
  const futures = []
  const repeatedSubmit = await fewestFiles(() => {
    futures.push(client.submit(noop, 1))
  })
  await Promise.all(futures)
  const clientRoundTrip = await fewestFiles(() => client.submit(noop, 1))
  await client.close()
  return { repeatedSubmit, firstSubmit, clientRoundTrip }
}

/** Client, scheduler and agent in this process; only the processor has its own. */
async function countParts() {
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const { address } = scheduler
  const agent = await startAgent(address, RARE_MS)
  const client = await Client.connect(address, RARELY)
  await warmUp(client)
  const roundTrip = await fewestFiles(() => client.submit(noop, 1))
  const cancel = await fewestFiles(cancelRunning, () => startEndless(client))
  await client.close()
  await agent.stop()
  await scheduler.close()
  return { roundTrip, cancel }
}

/** An agent that sends heartbeats often, and its scheduler. */
async function countHeartbeat() {
  const scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  const agent = await startAgent(scheduler.address, OFTEN_MS)
  // The scheduler's report to monitors, once a second, is not part of it.
  const heartbeat = await fewestFiles(() => wait(OFTEN_MS * 2))
  await agent.stop()
  await scheduler.close()
  return { heartbeat }
}

async function startAgent(address, heartbeatIntervalMs) {
  const agent = await Agent.start({ address, workers: 1, heartbeatIntervalMs })
  await agent.ready
  return agent
}

async function warmUp(client) {
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) await client.submit(noop, round)
}

/** Submits a task that never ends; resolves when it runs. */
async function startEndless(client) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const future = client.submit(async (port) => {
    const { connect } = await import('node:net')
    connect(port, '127.0.0.1')
    await new Promise(() => {})
  }, server.address().port)
  const [socket] = await once(server, 'connection')
  socket.resume()
  server.close()
  return { future, socket }
}

/** Cancels the task, whose processor is stopped, and waits until all parts have settled that. */
async function cancelRunning({ future, socket }) {
  const end = once(socket, 'close')
  future.cancel()
  await future.result().catch(() => {})
  await end
  await wait(SETTLE_MS)
}

const counts = { ...(await countClient()), ...(await countParts()), ...(await countHeartbeat()) }
console.log(JSON.stringify(counts))

// `node scripts/measure-page.mjs [--workers 5000] [--events 2000] [--view NAME]`: what the web page
// costs in a
// large cluster. The cluster is a recorded feed: half of the workers report each second, and tasks
// end at a steady rate. Prints for each view how many bytes per second its page gets, how long the
// server works for it, and how many tasks of the page take more than 50 ms in ten seconds: panning
// and zooming the timeline, scrolling the others. Needs Chromium and .peers/browser.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { ROOT } from './paths.mjs'
import { ensurePeers } from './peers.mjs'
import { build } from './prepare.mjs'

const { values } = parseArgs({
  options: {
    workers: { type: 'string', default: '5000' },
    events: { type: 'string', default: '2000' },
    seconds: { type: 'string', default: '10' },
    view: { type: 'string', multiple: true },
    'no-build': { type: 'boolean', default: false },
  },
})
const [WORKERS, EVENTS, SECONDS] = [values.workers, values.events, values.seconds].map(Number)
const PER_HOST = 50
const BATCHES = 10
const FUNCTIONS = ['price', 'simulate', 'load', 'combine', 'report', 'train']
const VIEWS = [
  'overview',
  'workers',
  'tasks',
  'functions',
  'clients',
  'graphs',
  'failures',
  'log',
  'timeline',
]

if (!values['no-build']) await build()
await ensurePeers((name) => name === 'browser')
const { chromium } = await import(
  join(ROOT, '.peers/browser/node_modules/playwright-core/index.mjs')
)
const { Board } = await import(join(ROOT, 'lib/cli/ui/board.js'))
const { UiServer } = await import(join(ROOT, 'lib/cli/ui/server.js'))
const { silentLogger } = await import(join(ROOT, 'lib/base/logger.js'))
const kit = await import(join(ROOT, 'lib/cli/ui/board.kit.js'))
const { worker } = await import(join(ROOT, 'lib/cli/report/cluster-info.kit.js'))

const board = new Board()
const feed = new Feed(board)
// A past to pan through.
for (let ago = 60; ago > 0; ago -= 1) feed.second(Date.now() - ago * 1_000)
const server = await UiServer.listen({
  host: '127.0.0.1',
  port: 0,
  allowedHosts: [],
  board,
  page: await pageFiles(),
  ask: () => Promise.reject(new Error('there is no scheduler')),
  logger: silentLogger,
})
const timer = feed.start()
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox'],
})
console.log(`${WORKERS} workers, ${EVENTS} ended tasks per second, ${SECONDS} s per view`)
console.log('view       KB/s  server ms/s  long tasks  longest ms')
try {
  for (const view of values.view ?? VIEWS) await measure(view)
} finally {
  await browser.close()
  clearInterval(timer)
  await server.close()
}

async function measure(view) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  await page.addInitScript(() => {
    globalThis.longTasks = []
    new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) globalThis.longTasks.push(duration)
    }).observe({ type: 'longtask' })
  })
  const network = await page.context().newCDPSession(page)
  await network.send('Network.enable')
  let bytes = 0
  // What is not compressed may have no encoded length.
  network.on('Network.dataReceived', ({ dataLength, encodedDataLength }) => {
    bytes += encodedDataLength || dataLength
  })
  await page.goto(`${server.url}#/${view}`)
  // The order changes all the time.
  if (view === 'workers') await page.getByRole('button', { name: 'cpu', exact: true }).click()
  await page.evaluate(() => {
    setTimeout(() => {
      const end = performance.now() + 120
      while (performance.now() < end);
    })
  })
  await pause(2_500)
  const seen = await page.evaluate(() => globalThis.longTasks.splice(0).length)
  if (seen === 0) throw new Error('this browser does not report long tasks')
  bytes = 0
  const before = process.cpuUsage()
  await (view === 'timeline' ? pan(page) : scroll(page))
  const { user, system } = process.cpuUsage(before)
  const tasks = await page.evaluate(() => globalThis.longTasks)
  const cells = [
    (bytes / SECONDS / 1_000).toFixed(1).padStart(6),
    ((user + system) / 1_000 / SECONDS).toFixed(0).padStart(11),
    String(tasks.length).padStart(10),
    String(Math.round(Math.max(0, ...tasks))).padStart(10),
  ]
  console.log(`${view.padEnd(9)} ${cells.join('  ')}`)
  await page.close()
}

async function scroll(page) {
  const end = performance.now() + SECONDS * 1_000
  for (let down = true; performance.now() < end; down = !down) {
    await page.mouse.move(600, 500)
    await page.mouse.wheel(0, down ? 300 : -300)
    await pause(100)
  }
}

/** Drags the timeline to and fro, and zooms. */
async function pan(page) {
  const { x, y, width } = await page.locator('canvas').boundingBox()
  const end = performance.now() + SECONDS * 1_000
  const middle = { x: x + width / 2, y: y + 100 }
  for (let round = 0; performance.now() < end; round += 1) {
    await page.mouse.move(middle.x, middle.y)
    await page.mouse.down()
    for (let step = 0; step < 20; step += 1) {
      const by = (round % 2 === 0 ? step : 20 - step) * 12
      await page.mouse.move(middle.x + by, middle.y)
      await pause(16)
    }
    await page.mouse.up()
    await page.mouse.move(middle.x, middle.y)
    await page.mouse.wheel(0, round % 4 < 2 ? -200 : 200)
  }
}

/** The page as a server of its own sends it. */
async function pageFiles() {
  const program = join(ROOT, 'dist/cli/scaler-ui.js')
  const child = spawn(process.execPath, [program, 'tcp://127.0.0.1:1', '--port', '0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { url } = JSON.parse(line)
      if (url === undefined) continue
      const text = async (path) => (await fetch(new URL(path, url))).text()
      const html = await text('/')
      const [css, js] = [/href="([^"]+\.css)"/, /src="([^"]+\.js)"/].map(
        (name) => name.exec(html)[1],
      )
      const page = html.replace(css, '/page.css').replace(js, '/page.js')
      return { html: page, css: await text(css), js: await text(js) }
    }
    throw new Error('scaler ui has not started')
  } finally {
    child.kill('SIGKILL')
  }
}

/** A large cluster, always the same. */
function Feed(into) {
  let [ended, round] = [0, 0]
  let seed = 1
  const random = () => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed / 2_147_483_647
  }
  const workers = Array.from({ length: WORKERS }, (_, at) => {
    return worker(`${at}|worker-${at}|${String(at).padStart(32, '0')}`, { name: `worker-${at}` })
  })
  const idOf = (number) => number.toString(16).padStart(32, '0')

  const sample = (timeMs) => {
    for (const [at, each] of workers.entries()) {
      if (at % 2 !== round % 2) continue
      const sinceMs = random() * 2_000
      const running = [{ task: idOf(1e9 + at * 1e5 + round), name: 'simulate', sinceMs }]
      workers[at] = {
        ...each,
        state: 'busy',
        running: random() < 0.7 ? running : [],
        cpu: Math.round(random() * 1_000) / 10,
        rssBytes: Math.round(6e7 + random() * 1e7),
        lagMs: Math.round(random() * 100) / 100,
        sent: 2,
        silentS: 0,
      }
    }
    const hosts = Array.from({ length: Math.ceil(WORKERS / PER_HOST) }, (_, at) => {
      const own = workers.slice(at * PER_HOST, (at + 1) * PER_HOST)
      return { host: `host-${at}`, address: undefined, cpu: 20, freeBytes: 4e9, workers: own }
    })
    const functions = FUNCTIONS.map((name) => {
      const ms = { meanMs: random(), p50Ms: 1, p90Ms: 2, p99Ms: 3, maxMs: 4 }
      return { name, count: ended, failed: 3, ...ms, peakBytes: undefined }
    })
    const rates = { submitted: EVENTS, ended: EVENTS * random(), failed: 1 }
    const time = new Date(timeMs)
    return { type: 'sample', info: kit.info({ time, hosts, functions, rates }) }
  }
  const events = (count, timeMs) => {
    return Array.from({ length: count }, () => {
      ended += 1
      const at = Math.floor(random() * WORKERS)
      return kit.ended(idOf(ended), {
        time: new Date(timeMs - random() * 100),
        function: FUNCTIONS[Math.floor(random() ** 2 * FUNCTIONS.length)],
        worker: workers[at].id,
        durationMs: 1 + random() ** 3 * 2_000,
        queuedMs: random() * 100,
        status: random() < 0.001 ? 'failed' : 'success',
      })
    })
  }

  this.second = (timeMs) => {
    round += 1
    into.onEvents([...events(EVENTS, timeMs), sample(timeMs)], timeMs)
  }
  this.start = () => {
    let batch = 0
    return setInterval(() => {
      batch += 1
      const now = Date.now()
      const more = batch % BATCHES === 0 ? [sample(now)] : []
      if (more.length > 0) round += 1
      into.onEvents([...events(EVENTS / BATCHES, now), ...more], now)
    }, 1_000 / BATCHES)
  }
}

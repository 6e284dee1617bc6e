// `npm run pictures`: takes the pictures of the web page in docs/, from a real cluster in a real
// browser: some functions that run, wait and fail, a graph, and a host that has been lost. With
// `--all FOLDER`, every view in all sizes and colours instead, to be looked at. Needs Chromium
// (Debian: chromium-headless-shell) and .peers/browser.

import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { ROOT } from './paths.mjs'
import { ensurePeers } from './peers.mjs'
import { pngOf } from './picture/png.mjs'
import { build } from './prepare.mjs'

/** The view of each picture, and its height. */
const PICTURES = {
  'web-overview': ['overview', 775],
  'web-timeline': ['timeline', 440],
  'web-graph': ['graph', 720],
}
const WIDTH = 1280
const ALL_SIZES = [
  { width: 1280, height: 900 },
  { width: 390, height: 844 },
]
const VIEWS =
  'overview workers tasks timeline functions clients graphs failures log graph function worker task'
/** How long the cluster works before it is looked at. */
const WARM_UP_MS = 75_000

const [flag, folder = join(ROOT, 'docs')] = process.argv.slice(2)
await build()
await ensurePeers((name) => name === 'browser')
const { chromium } = await import(
  join(ROOT, '.peers/browser/node_modules/playwright-core/index.mjs')
)
const { Client } = await import(join(ROOT, 'dist/index.js'))

const children = []
let browser
try {
  const scheduler = start('scaler-scheduler', ['tcp://127.0.0.1:0'])
  const { address } = await lineOf(scheduler, 'address')
  startCluster(address, ['north', 'south', 'east', 'west'])
  const lost = startCluster(address, ['spare-1', 'spare-2'])
  const ui = start('scaler-ui', [address, '--port', '0'])
  const { url } = await lineOf(ui, 'url')
  const client = await Client.connect(address, { name: 'pricing' })
  const stop = new AbortController()
  const working = work(client, stop.signal)
  await pause(WARM_UP_MS * 0.6)
  lost.kill('SIGKILL')
  await pause(WARM_UP_MS * 0.4)
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
    args: ['--no-sandbox'],
  })
  await (flag === '--all' ? takeAll(url, folder) : takePictures(url))
  stop.abort()
  await working
  await client.close()
} finally {
  await browser?.close()
  for (const child of children.reverse()) child.kill('SIGKILL')
}

function start(name, args) {
  const child = spawn(process.execPath, [join(ROOT, `dist/cli/${name}.js`), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  children.push(child)
  return child
}

function startCluster(address, names) {
  const workers = ['-n', String(names.length), '--worker-names', names.join(',')]
  const child = start('scaler-cluster', [...workers, '--heartbeat-interval', '0.5', address])
  child.stdout.resume()
  return child
}

/** The first line of its log that has a field. */
async function lineOf(child, field) {
  const lines = createInterface({ input: child.stdout })
  for await (const line of lines) {
    const found = JSON.parse(line)
    if (field in found) {
      child.stdout.resume()
      return found
    }
  }
  throw new Error(`no line with ${field}`)
}

/** Gives the cluster something to do until it is told to stop. */
async function work(client, signal) {
  const busy = (ms) => {
    const end = performance.now() + ms
    while (performance.now() < end) Math.sqrt(end)
  }
  const price = (ms) => {
    if (ms > 11.8) throw new RangeError('no price before now')
    busy(ms)
    return ms
  }
  const simulate = async (ms) => {
    await new Promise((resolve) => setTimeout(resolve, ms))
  }
  const load = (ms) => busy(ms)
  const combine = async (...values) => {
    await new Promise((resolve) => setTimeout(resolve, 1_400))
    return values.length
  }
  client
    .with({ capabilities: { gpu: 1 } })
    .submit(function train() {})
    .catch(() => {})
  const graphs = graphsOf(client, { load: async () => simulate(900), combine }, signal)
  while (!signal.aborted) {
    const durations = (count, least, most) => {
      return Array.from({ length: count }, () => least + Math.random() ** 3 * (most - least))
    }
    await Promise.allSettled([
      ...durations(60, 1, 12).map((ms) => client.submit(price, ms)),
      ...durations(6, 200, 900).map((ms) => client.submit(simulate, ms)),
      ...durations(10, 20, 60).map((ms) => client.submit(load, ms)),
    ])
  }
  await graphs
}

async function graphsOf(client, { load, combine }, signal) {
  while (!signal.aborted) {
    const graph = {}
    const names = (kind, count) => Array.from({ length: count }, (_, at) => `${kind}${at}`)
    for (const name of names('load', 12)) graph[name] = [load]
    for (const [at, name] of names('clean', 12).entries()) graph[name] = [combine, `load${at}`]
    for (const [at, name] of names('join', 6).entries()) {
      graph[name] = [combine, `clean${at * 2}`, `clean${at * 2 + 1}`, `clean${(at * 2 + 2) % 12}`]
    }
    for (const [at, name] of names('model', 3).entries()) {
      graph[name] = [combine, `join${at * 2}`, `join${at * 2 + 1}`]
    }
    graph.report = [combine, 'model0', 'model1', 'model2']
    await client.get(graph, ['report'])
  }
}

async function takePictures(url) {
  for (const [name, [view, height]] of Object.entries(PICTURES)) {
    const viewport = { width: WIDTH, height }
    const { page, go } = await openPage(url, { viewport, colorScheme: 'light' })
    await go(view)
    const path = join(folder, `${name}.png`)
    const png = pngOf(await pixelsOf(await page.screenshot()))
    writeFileSync(path, png)
    console.log(`wrote docs/${name}.png: ${Math.round(png.length / 1_000)} kB`)
  }
}

/** The pixels of a PNG: browsers can read what they write. */
async function pixelsOf(png) {
  const reader = await browser.newPage()
  const { width, height, text } = await reader.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
    const image = await createImageBitmap(new Blob([bytes]))
    const canvas = new OffscreenCanvas(image.width, image.height)
    const drawing = canvas.getContext('2d')
    drawing.drawImage(image, 0, 0)
    const { data } = drawing.getImageData(0, 0, image.width, image.height)
    let chars = ''
    for (const value of data) chars += String.fromCharCode(value)
    return { width: image.width, height: image.height, text: btoa(chars) }
  }, png.toString('base64'))
  await reader.close()
  return { width, height, rgba: Buffer.from(text, 'base64') }
}

async function takeAll(url, into) {
  mkdirSync(into, { recursive: true })
  for (const viewport of ALL_SIZES) {
    for (const colorScheme of ['light', 'dark']) {
      const { page, go } = await openPage(url, { viewport, colorScheme })
      for (const view of VIEWS.split(' ')) {
        await go(view)
        const path = join(into, `${view}-${viewport.width}-${colorScheme}.png`)
        await page.screenshot({ path, fullPage: true })
      }
      await page.close()
    }
  }
}

async function openPage(url, options) {
  const page = await browser.newPage(options)
  const go = async (view) => {
    await page.goto(`${url}#/${await pathOf(url, view)}`)
    await page.reload()
    await pause(2_500)
  }
  return { page, go }
}

/** A view, or the page of something that is there now. */
async function pathOf(url, view) {
  const tables = { graph: 'graphs', function: 'functions', worker: 'workers', task: 'tasks' }
  const table = tables[view]
  if (table === undefined) return view
  const query = view === 'task' ? '?filter=state=failed' : ''
  for (;;) {
    const answer = await (await fetch(`${url}api/${table}${query}`)).json()
    const found = answer.rows.find((row) => view !== 'graph' || isHalfDone(row))
    if (found !== undefined) return `${table}/${encodeURIComponent(found.id ?? found.name)}`
    await pause(200)
  }
}

function isHalfDone({ counts, total, ended }) {
  return ended === null && counts.succeeded > total / 3 && counts.succeeded < (2 * total) / 3
}

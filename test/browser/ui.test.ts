// The web page of `scaler ui` in a real browser, with a real cluster.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Allocator, Client } from 'scaler-ts'
import {
  ROOT,
  type RunningCommand,
  startCommand,
  startProgram,
  startScheduler,
} from '../package/command.js'
import { axeFindings, MISSING_BROWSER, openPage } from './browser.js'

const skip = MISSING_BROWSER

interface Started {
  readonly address: string
  readonly url: string
  readonly client: Client
}

const HOSTILE = '<img src=x onerror="document.title=1">'

/** A cluster with a failed task, a stuck one, one that waits for what is missing, and others. */
async function start(t: TestContext): Promise<Started> {
  const { address, url, client } = await startEmpty(t, ['left', 'right'])
  const price = (years: number): number => years * 2
  const fails = (): never => {
    throw new RangeError('no price for <img src=x onerror="document.title=1">')
  }
  const stuck = (): never => {
    for (;;);
  }
  await client.map(price, [1, 2, 3, 4])
  await client.get({ first: [price, 1], second: [price, 'first'] }, ['second'])
  await client.submit(fails).catch(() => {})
  client
    .with({ capabilities: { gpu: 1 } })
    .submit(price, 10)
    .catch(() => {})
  client.submit(stuck).catch(() => {})
  return { address, url, client }
}

/** A cluster without tasks. */
async function startEmpty(
  t: TestContext,
  names: readonly string[],
): Promise<Started & { readonly scheduler: RunningCommand }> {
  const clients: Client[] = []
  // The first to end: it says goodbye to its scheduler.
  t.after(() => Promise.all(clients.map((each) => each.close())))
  const { scheduler, address } = await startScheduler(t)
  const workers = ['-n', String(names.length), '--worker-names', names.join(',')]
  const times = ['--heartbeat-interval', '0.2', '--death-timeout-seconds', '120']
  startCommand(t, 'scaler-cluster', [...workers, ...times, address])
  const client = await Client.connect(address, { name: `shop ${HOSTILE}` })
  clients.push(client)
  const ui = startCommand(t, 'scaler-ui', [address, '--port', '0'])
  const { url } = await ui.line((line) => 'url' in line)
  await reported(String(url))
  return { scheduler, address, url: String(url), client }
}

/** Resolves when the server has the first report. */
async function reported(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(new URL('/api/overview', url))
    const { stale } = (await response.json()) as { readonly stale: boolean }
    if (!stale) return
  }
}

test('each view shows the cluster, and axe finds nothing', { skip }, async (t) => {
  const { url, address } = await start(t)
  for (const scheme of ['light', 'dark'] as const) {
    const { page, complaints } = await openPage(t, { scheme })
    await page.goto(url)
    await page.getByText(/Attention: 1 task of price\(\) waits: no worker offers gpu=1/).waitFor()
    await page.locator(`header:has-text("${address}")`).waitFor()
    const seen: readonly (readonly [view: string, selector: string])[] = [
      ['overview', 'text=no worker offers what they need (gpu=1)'],
      ['workers', 'a:has-text("left")'],
      ['tasks', 'tr:has-text("1 task"):has-text("waiting: no-capability (gpu=1)")'],
      ['timeline', 'text=workers 1 to 2 of 2'],
      ['functions', 'td:has-text("price")'],
      ['clients', 'td:has-text("shop <img")'],
      ['graphs', 'td:has-text("success")'],
      ['log', 'td:has-text("a task of fails() failed: RangeError: no price for <img")'],
      ['failures', 'summary:has-text("RangeError: no price for <img")'],
    ]
    for (const [view, selector] of seen) {
      await page.locator(`nav a[href="#/${view}"]`).click()
      await page.locator(selector).first().waitFor()
      assert.deepEqual(await axeFindings(page), [], `${view}, ${scheme}`)
      assert.match(await page.evaluate<string>('document.title'), /^\w+ – tcp:.* – Scaler$/)
    }
    assert.deepEqual(complaints, [])
  }
})

test('a failed task is found, with its error', { skip }, async (t) => {
  const { url } = await start(t)
  const { page, complaints } = await openPage(t)
  await page.goto(`${url}#/tasks`)
  const search = page.getByLabel('id, name, function or client contains')
  await search.fill('shop <img')
  await page.locator('tr:has-text("price") td a:has-text("shop <img")').first().waitFor()
  await search.fill('rangeerror')
  await page.locator('text=1 to 1 of 1').waitFor()
  await page.locator('tbody a').first().click()
  await page.locator('pre:has-text("RangeError: no price for <img")').waitFor()
  await page.locator('h2:has-text("Attempts")').waitFor()
  await page.locator('text=Show the stack').waitFor({ state: 'hidden' })
  await page.locator('dd a:has-text("shop <img")').click()
  await page.locator('text=1 to 1 of 1').waitFor()
  await page.goto(`${url}#/failures`)
  await page.locator('summary:has-text("no price")').click()
  await page.locator('li:has-text("shop <img"):has-text(": 1")').waitFor()
  await page.locator('text=1 failure in total').waitFor()
  assert.deepEqual(complaints, [])
})

test('a stuck loop is found: its worker, and where it is', { skip }, async (t) => {
  const { url } = await start(t)
  const { page, complaints } = await openPage(t)
  await page.goto(`${url}#/tasks`)
  await page.locator('tr:has-text("running") a').first().click()
  await page.locator('text=Show the stack').click()
  await page.locator('pre:has-text("at stuck")').waitFor()
  await page.locator('dd a').first().waitFor()
  await page.goto(`${url}#/workers`)
  await page.locator('tr:has-text("stuck") a').first().click()
  await page.getByText(/^As of its last heartbeat, .* ago\.$/).waitFor()
  for (const about of ['stack', 'last lines']) await page.locator(`text=Show the ${about}`).click()
  for (const title of ['Stack, at', 'Last lines, at', 'Runs']) {
    await page.locator(`h2:has-text("${title}")`).waitFor()
  }
  await page.locator('pre:has-text("at stuck")').waitFor()
  assert.deepEqual(complaints, [])
})

test('the keyboard alone is enough', { skip }, async (t) => {
  const { url } = await start(t)
  const { page } = await openPage(t)
  await page.goto(`${url}#/workers`)
  await page.locator('a:has-text("left")').waitFor()
  await page.locator('th button:has-text("worker")').focus()
  await page.locator('th button:has-text("worker")').press('Enter')
  await page.locator('th[aria-sort="descending"]:has-text("worker")').waitFor()
  await page.goto(`${url}#/timeline`)
  await page.locator('text=workers 1 to 2 of 2').waitFor()
  const canvas = page.locator('canvas')
  await canvas.focus()
  for (const key of ['n', 'p', '+', '-', 'ArrowLeft', 'Home']) await canvas.press(key)
  const tip = page.locator('.tip')
  // The window may hold no bar yet; later ones are added to it, and those that run are shown so.
  for (const text of [' on ', 'running since']) {
    while (!(await tip.allTextContents()).join('').includes(text)) await canvas.press('n')
  }
  await canvas.press('Enter')
  await page.locator('h1:has-text("Task ")').waitFor()
  assert.match(page.url(), /#\/tasks\/[\da-f]+$/)
})

test('a timeline in which nothing ran says so; following it is a state', { skip }, async (t) => {
  const { url } = await startEmpty(t, ['left'])
  const { page, complaints } = await openPage(t)
  await page.goto(`${url}#/timeline`)
  await page.getByText(/^Nothing ran from .*\. No task has ended/).waitFor()
  await page.locator('button[aria-pressed="true"]:has-text("Follow")').click()
  await page.locator('button[aria-pressed="false"]:has-text("Follow")').click()
  await page.locator('button[aria-pressed="true"]:has-text("Follow")').waitFor()
  assert.deepEqual(await axeFindings(page), [])
  assert.deepEqual(complaints, [])
})

test('nothing is wider than a phone', { skip }, async (t) => {
  const { url } = await start(t)
  const { page } = await openPage(t, { width: 360, height: 740 })
  const views = [
    'overview',
    'workers',
    'tasks',
    'timeline',
    'functions',
    'graphs',
    'failures',
    'log',
  ]
  for (const view of views) {
    await page.goto(`${url}#/${view}`)
    await page.locator('main h1').waitFor()
    const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(over <= 0, `${view}: ${over}`)
  }
})

test('a worker that is lost disappears, but its loss is seen', { skip }, async (t) => {
  const { address, url, client } = await startEmpty(t, [])
  const { page, complaints } = await openPage(t)
  const startThird = (): RunningCommand => {
    return startCommand(t, 'scaler-cluster', ['-n', '1', '--worker-names', 'third', address])
  }
  const third = startThird()
  await page.goto(`${url}#/workers`)
  await page.locator('a:has-text("third")').waitFor()
  const future = client.submit(async function slow() {
    await new Promise((resolve) => setTimeout(resolve, 2_000))
  })
  await page.locator('tr:has-text("third"):has-text("busy")').waitFor()
  third.child.kill('SIGKILL')
  await page.locator('a:has-text("third")').waitFor({ state: 'hidden' })
  await page.goto(`${url}#/overview`)
  const lost = /Attention: 1 worker lost in the last 10 minutes: third on .* \(connection closed\)/
  await page.getByText(lost).waitFor()
  await page.goto(`${url}#/log`)
  await page.locator('td.bad:has-text("worker third on")').waitFor()
  // What it ran is a bar of its own, where it was.
  startThird()
  await future
  await page.goto(`${url}#/timeline`)
  await page.locator('text=workers 1 to 2 of 2').waitFor()
  const canvas = page.locator('canvas')
  const tip = page.locator('.tip')
  // The window may not hold it yet.
  while (!(await tip.allTextContents()).join('').includes('its worker was lost')) {
    await canvas.press('n')
  }
  await page.locator('.tip:has-text("slow on"):has-text("its worker was lost")').waitFor()
  assert.deepEqual(complaints, [])
})

test('allocators are listed with what they have decided, and why', { skip }, async (t) => {
  const { address, url, client } = await startEmpty(t, ['left'])
  const { page, complaints } = await openPage(t)
  await page.goto(url)
  await page.locator('h2:has-text("Hosts")').waitFor()
  assert.equal(
    (await page.locator('h2').allTextContents()).filter((text) => text === 'Allocators').length,
    0,
  )
  const allocator = await Allocator.start({
    provider: 'command',
    name: 'night',
    address,
    submitCommand: `echo ${JSON.stringify(HOSTILE)} >&2; false {script} {name}`,
    listCommand: 'true',
    cancelCommand: 'true',
    capabilities: { gpu: 1 },
  })
  t.after(() => allocator.stop())
  const decided = (text: string): Promise<unknown> => {
    return page.locator(`tr:has-text("night (command)"):has-text("${text}")`).waitFor()
  }
  await decided('wait: no work')
  const future = client.with({ capabilities: { gpu: 1 } }).submit(Math.sqrt, 16)
  await decided('back-off: 1 failed start: ')
  await decided('; last start failed: ')
  await page
    .getByText(/the allocator night cannot start workers/)
    .first()
    .waitFor()
  assert.deepEqual(await axeFindings(page), [])
  const order = startCommand(t, 'scaler', ['allocate', 'pause', address, 'night'])
  assert.equal((await order.ended).code, 0)
  await decided('paused; last start failed: ')
  assert.notEqual(await page.evaluate<string>('document.title'), '1')
  assert.deepEqual(complaints, [])
  future.cancel()
})

test(
  'a graph is drawn while it runs, and its nodes are links to their tasks',
  { skip },
  async (t) => {
    const { url, client } = await startEmpty(t, ['left', 'right'])
    const load = (value: number): number => value
    const slow = (value: number): Promise<number> => {
      return new Promise((resolve) => setTimeout(() => resolve(value), 60_000))
    }
    const graph = {
      a: [load, 1],
      b: [load, 2],
      c: [slow, 'a'],
      d: [(...all: number[]) => all.length, 'b', 'c'],
    }
    client.get(graph, ['d']).catch(() => {})
    for (const scheme of ['light', 'dark'] as const) {
      const { page, complaints } = await openPage(t, { scheme })
      await page.goto(`${url}#/graphs`)
      await page.locator('tr:has-text("running") a').first().click()
      await page.locator('.node.running:has-text("slow")').waitFor()
      await page.locator('.node.waiting').waitFor()
      await page.locator('tr:has-text("100 %")').first().waitFor()
      assert.equal((await page.locator('.node.succeeded').allTextContents()).length, 2)
      assert.deepEqual(await axeFindings(page), [], scheme)
      await page.locator('.node.running').focus()
      await page.locator('.node.running').press('Enter')
      await page.locator('h1:has-text("Task ")').waitFor()
      assert.deepEqual(complaints, [])
    }
  },
)

test('a function has a chart of its durations, with axes and units', { skip }, async (t) => {
  const { url, client } = await startEmpty(t, ['left'])
  await client.map(
    function price(years: number) {
      return years * 2
    },
    [1, 2, 3],
  )
  const { page, complaints } = await openPage(t)
  await page.goto(`${url}#/functions`)
  await page.locator('td a:has-text("price")').click()
  await page.locator('figcaption:has-text("How long 3 tasks took")').waitFor()
  await page.locator('svg text:has-text("duration")').waitFor()
  await page.locator('svg text:has-text(" ms")').first().waitFor()
  assert.deepEqual(await axeFindings(page), [])
  assert.deepEqual(complaints, [])
})

test('before the first data, nothing is said to be empty', { skip }, async (t) => {
  const ui = startCommand(t, 'scaler-ui', ['tcp://127.0.0.1:1', '--port', '0', '-t', '60'])
  const { url } = await ui.line((line) => 'url' in line)
  const { page } = await openPage(t)
  await page.goto(`${String(url)}#/tasks`)
  await page.locator('.count:has-text("no data yet")').waitFor()
  await page.goto(`${String(url)}#/failures`)
  await page.locator('text=No data yet.').waitFor()
})

test(
  'a lost scheduler is a banner; with the next one, the past is still there',
  { skip },
  async (t) => {
    const { scheduler, address, url, client } = await startEmpty(t, ['only'])
    await client.submit(function first() {})
    const { page } = await openPage(t)
    // A task that has ended may be among the waiting ones until the next state.
    const first = page.locator('td:has-text("first")').first()
    await page.goto(`${url}#/tasks`)
    await first.waitFor()
    scheduler.child.kill('SIGKILL')
    await page.locator('.banner:has-text("The scheduler has not reported for")').waitFor()
    await first.waitFor()
    startCommand(t, 'scaler-scheduler', [address])
    await page.locator('.banner').waitFor({ state: 'hidden' })
    await client.submit(function second() {})
    await page.locator('td:has-text("second")').first().waitFor()
    await first.waitFor()
    await page.reload()
    await first.waitFor()
  },
)

test('5,000 workers are shown; how fast is measured, not asserted', { skip }, async (t) => {
  const views = ['workers', 'tasks', 'timeline'].flatMap((view) => ['--view', view])
  const script = `${ROOT}scripts/measure-page.mjs`
  const measuring = startProgram(t, [script, '--no-build', '--seconds', '1', ...views])
  const { code, stdout, stderr } = await measuring.ended
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^5000 workers, 2000 ended tasks per second, 1 s per view$/m)
  for (const view of ['workers', 'tasks', 'timeline']) {
    assert.match(stdout, new RegExp(`^${view} +[\\d.]+ +\\d+ +\\d+ +\\d+$`, 'm'))
  }
})

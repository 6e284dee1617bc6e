// The web page of `scaler ui` in a real browser, with a real cluster.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client } from 'scaler-ts'
import { type RunningCommand, startCommand, startScheduler } from '../package/command.js'
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
  const { url } = await start(t)
  for (const scheme of ['light', 'dark'] as const) {
    const { page, complaints } = await openPage(t, { scheme })
    await page.goto(url)
    await page.getByText(/Attention: 1 task of price\(\) waits: no worker offers gpu=1/).waitFor()
    const seen: readonly (readonly [view: string, selector: string])[] = [
      ['overview', 'text=no worker offers what they need (gpu=1)'],
      ['workers', 'a:has-text("left")'],
      ['tasks', 'td:has-text("failed: RangeError")'],
      ['timeline', 'text=workers 1 to 2 of 2'],
      ['functions', 'td:has-text("price")'],
      ['clients', 'td:has-text("shop <img")'],
      ['failures', 'summary:has-text("RangeError: no price for <img")'],
    ]
    for (const [view, selector] of seen) {
      await page.locator(`nav a[href="#/${view}"]`).click()
      await page.locator(selector).first().waitFor()
      assert.deepEqual(await axeFindings(page), [], `${view}, ${scheme}`)
      assert.match(await page.evaluate<string>('document.title'), /^\w+ – Scaler$/)
    }
    assert.deepEqual(complaints, [])
  }
})

test('a failed task is found, with its error', { skip }, async (t) => {
  const { url } = await start(t)
  const { page, complaints } = await openPage(t)
  await page.goto(`${url}#/tasks`)
  await page.getByLabel('id, name, function or client contains').fill('rangeerror')
  await page.locator('text=1 to 1 of 1').waitFor()
  await page.locator('tbody a').first().click()
  await page.locator('pre:has-text("RangeError: no price for <img")').waitFor()
  await page.locator('h2:has-text("Attempts")').waitFor()
  assert.deepEqual(complaints, [])
})

test('a stuck loop is found: its worker, and where it is', { skip }, async (t) => {
  const { url } = await start(t)
  const { page, complaints } = await openPage(t)
  await page.goto(`${url}#/tasks`)
  await page.locator('tr:has-text("running") a').first().click()
  await page.locator('text=Show the stack').click()
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
  for (const key of ['n', 'p', '+', '-', 'ArrowLeft', 'Home', 'n']) await canvas.press(key)
  const tip = page.locator('.tip')
  await page.locator('.tip:has-text(" on ")').waitFor()
  for (let tries = 0; tries < 50; tries += 1) {
    if ((await tip.allTextContents()).join('').includes('running since')) break
    await canvas.press('n')
  }
  await canvas.press('Enter')
  await page.locator('h1:has-text("Task ")').waitFor()
  assert.match(page.url(), /#\/tasks\/[\da-f]+$/)
})

test('nothing is wider than a phone', { skip }, async (t) => {
  const { url } = await start(t)
  const { page } = await openPage(t, { width: 360, height: 740 })
  for (const view of ['overview', 'workers', 'tasks', 'timeline', 'functions', 'failures']) {
    await page.goto(`${url}#/${view}`)
    await page.locator('main h1').waitFor()
    const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    assert.ok(over <= 0, `${view}: ${over}`)
  }
})

test('a worker that is lost disappears, and its task is elsewhere', { skip }, async (t) => {
  const { address, url } = await start(t)
  const { page } = await openPage(t)
  const other = startCommand(t, 'scaler-cluster', ['-n', '1', '--worker-names', 'third', address])
  await page.goto(`${url}#/workers`)
  await page.locator('a:has-text("third")').waitFor()
  other.child.kill('SIGKILL')
  await page.locator('a:has-text("third")').waitFor({ state: 'hidden' })
})

test(
  'a lost scheduler is a banner; with the next one, the past is still there',
  { skip },
  async (t) => {
    const { scheduler, address, url, client } = await startEmpty(t, ['only'])
    await client.submit(function first() {})
    const { page } = await openPage(t)
    await page.goto(`${url}#/tasks`)
    await page.locator('td:has-text("first")').waitFor()
    scheduler.child.kill('SIGKILL')
    await page.locator('.banner:has-text("The scheduler has not reported for")').waitFor()
    await page.locator('td:has-text("first")').waitFor()
    startCommand(t, 'scaler-scheduler', [address])
    await page.locator('.banner').waitFor({ state: 'hidden' })
    await client.submit(function second() {})
    await page.locator('td:has-text("second")').waitFor()
    await page.locator('td:has-text("first")').waitFor()
    await page.reload()
    await page.locator('td:has-text("first")').waitFor()
  },
)

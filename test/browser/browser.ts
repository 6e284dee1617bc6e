// A real browser for tests: Chromium as the system has it, driven by playwright-core. What is used
// of the latter is declared here: it is not a dependency.

import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'node:test'
import { ROOT } from '../package/command.js'

const PEER = join(ROOT, '.peers/browser')
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

const program = (process.env['PATH'] ?? '')
  .split(delimiter)
  .flatMap((folder) => NAMES.map((name) => join(folder, name)))
  .find((path) => existsSync(path))

/** Why there is no browser; undefined if there is one. */
export const MISSING_BROWSER: string | undefined =
  program === undefined
    ? 'there is no Chromium'
    : existsSync(join(PEER, 'made-of'))
      ? undefined
      : 'no playwright-core: node scripts/peers.mjs browser'

/** Part of an element or several. */
export interface Locator {
  readonly first: () => Locator
  readonly click: () => Promise<void>
  readonly fill: (text: string) => Promise<void>
  readonly press: (key: string) => Promise<void>
  readonly focus: () => Promise<void>
  readonly waitFor: (options?: { readonly state?: 'visible' | 'hidden' }) => Promise<void>
  readonly allTextContents: () => Promise<string[]>
  readonly getAttribute: (name: string) => Promise<string | null>
}

/** A page. */
export interface Page {
  readonly goto: (url: string) => Promise<unknown>
  readonly reload: () => Promise<unknown>
  readonly locator: (selector: string) => Locator
  readonly getByLabel: (text: string) => Locator
  readonly getByText: (text: string | RegExp) => Locator
  readonly evaluate: <T>(script: string) => Promise<T>
  readonly url: () => string
  readonly on: (event: 'console' | 'pageerror', listener: (told: unknown) => void) => void
}

interface Browser {
  readonly newPage: (options: object) => Promise<Page>
  readonly close: () => Promise<void>
}

interface Playwright {
  readonly chromium: { readonly launch: (options: object) => Promise<Browser> }
}

/** Opens a page that fails the test if anything in it fails or is refused. */
export async function openPage(
  t: TestContext,
  options: {
    readonly width?: number
    readonly height?: number
    readonly scheme?: 'light' | 'dark'
  } = {},
): Promise<{ readonly page: Page; readonly complaints: string[] }> {
  const { width = 1280, height = 900, scheme = 'light' } = options
  const { chromium } = (await import(
    join(PEER, 'node_modules/playwright-core/index.mjs')
  )) as Playwright
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] })
  t.after(() => browser.close())
  const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme })
  const complaints: string[] = []
  page.on('console', (message) => {
    const { type, text } = message as { type: () => string; text: () => string }
    const kind = type.call(message)
    if (kind === 'error' || kind === 'warning') complaints.push(text.call(message))
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  return { page, complaints }
}

interface Finding {
  readonly id: string
  readonly nodes: readonly { readonly html: string }[]
}

/** What axe finds wrong with what a page shows. */
export async function axeFindings(page: Page): Promise<readonly string[]> {
  await page.evaluate(readFileSync(join(PEER, 'node_modules/axe-core/axe.min.js'), 'utf8'))
  const { violations, passes } = await page.evaluate<{
    readonly violations: readonly Finding[]
    readonly passes: readonly Finding[]
  }>('axe.run()')
  if (passes.length === 0) return ['axe has checked nothing']
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

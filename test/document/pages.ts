// The pages of the repository, and their locations.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isShort } from '#src/base/short-run.kit.js'
import { readMarkdown, type Markdown } from './markdown.js'

/** The root of the repository, seen from build/test/document/. */
export const ROOT: string = fileURLToPath(new URL('../../../', import.meta.url))

/** A page and its content. */
export interface Page extends Markdown {
  /** From the root, with `/`. */
  readonly path: string
  readonly text: string
}

/** Locations of pages: single files at the root, and whole folders. */
const FOLDERS = ['docs', 'deploy', 'examples', 'protocol', 'bench', 'test']

/** All pages. */
export function allPages(): Page[] {
  const atRoot = readdirSync(ROOT).filter((name) => name.endsWith('.md'))
  return [...atRoot, ...FOLDERS.flatMap(pagesUnder)].sort().map(readPage)
}

/** Those of `userPages` whose blocks run without `--all`, too. */
const FIRST_PAGES = ['README.md', 'docs/quick-start.md', 'docs/functions.md']

/** The pages whose blocks this run of the tests runs. */
export function pagesToRun(): Page[] {
  const pages = userPages().filter(({ path }) => !isShort || FIRST_PAGES.includes(path))
  return pages.filter(({ blocks }) => blocks.length > 0)
}

/**
 * Pages for users, and those in docs/internals/: their blocks run. The protocol page has drawings
 * of bytes.
 */
export function userPages(): Page[] {
  const others = ['docs/api/', 'docs/protocol.md']
  return allPages().filter(({ path }) => {
    const isForUsers = ['README.md', 'CONTRIBUTING.md'].includes(path) || path.startsWith('docs/')
    return isForUsers && !others.some((other) => path.startsWith(other))
  })
}

/** Whether a page shows commands. */
export function hasCommands({ blocks }: Page): boolean {
  return blocks.some(({ language }) => language === 'console' || language === 'sh')
}

/** Reads one page. */
export function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return { path, text, ...readMarkdown(text) }
}

function pagesUnder(folder: string): string[] {
  const top = join(ROOT, folder)
  if (!existsSync(top)) return []
  return readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !path.includes('node_modules/'))
}

// All targets of links in pages, and in comments of the source, exist. Links to other hosts are
// checked for their form only: tests use no network.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { readMarkdown } from './markdown.js'
import { allPages, readPage, ROOT } from './pages.js'

const anchorsOf = new Map<string, ReadonlySet<string>>()

/** The error of a link from a page in a folder; undefined if it is correct. */
function linkOffence(target: string, folder: string, own: string): string | undefined {
  if (/^[a-z]+:/i.test(target)) return externalOffence(target)
  const [file = '', anchor] = target.split('#', 2)
  const path = file === '' ? own : normalize(join(folder, decodeURI(file)))
  if (path.startsWith('..') || !existsSync(join(ROOT, path))) return `there is no ${path}`
  if (anchor === undefined) return undefined
  if (!path.endsWith('.md')) return `${path} has no anchors`
  return hasAnchor(path, anchor) ? undefined : `${path} has no heading #${anchor}`
}

function externalOffence(target: string): string | undefined {
  if (target.startsWith('mailto:')) return undefined
  if (!URL.canParse(target)) return 'is no address'
  const { protocol, hostname } = new URL(target)
  if (protocol !== 'https:') return `${protocol} instead of https:`
  return hostname.includes('.') ? undefined : 'has no host'
}

function hasAnchor(path: string, anchor: string): boolean {
  const anchors = anchorsOf.get(path) ?? readPage(path).anchors
  anchorsOf.set(path, anchors)
  return anchors.has(anchor)
}

test('every link of every page leads somewhere', () => {
  const offences: string[] = []
  let count = 0
  for (const { path, links } of allPages()) {
    for (const { target, line } of links) {
      count += 1
      const offence = linkOffence(target, dirname(path), path)
      if (offence !== undefined) offences.push(`${path}:${line}: ${target}: ${offence}`)
    }
  }
  assert.deepEqual(offences, [])
  assert(count > 100, `found only ${count} links`)
})

test('the repository files that pages name exist', () => {
  const offences: string[] = []
  for (const { path, codes } of allPages().filter((page) => page.path !== 'CHANGELOG.md')) {
    for (const { target, line } of codes) {
      if (!/^(?:src|test|docs|scripts|examples|deploy|bench|protocol)\/[\w./-]+$/.test(target))
        continue
      if (!existsSync(join(ROOT, target))) offences.push(`${path}:${line}: ${target} is not there`)
    }
  }
  assert.deepEqual(offences, [])
})

test('the source files that pages about the code name exist', () => {
  const offences: string[] = []
  let count = 0
  for (const { path, codes } of allPages().filter((page) => isAboutCode(page.path))) {
    for (const { target, line } of codes) {
      if (!/^[\w-]+\/[\w./-]+\.ts$/.test(target)) continue
      count += 1
      const isThere = ['src', '.'].some((folder) => existsSync(join(ROOT, folder, target)))
      if (!isThere) offences.push(`${path}:${line}: ${target} is not there`)
    }
  }
  assert.deepEqual(offences, [])
  assert(count > 100, `found only ${count}`)
})

/** Whether a page may name files by their paths under `src/`. */
function isAboutCode(path: string): boolean {
  return path === 'ARCHITECTURE.md' || path.startsWith('docs/internals/')
}

test('the headings that comments in the source and the schemas name exist', () => {
  const offences: string[] = []
  let count = 0
  for (const folder of ['src', 'protocol']) {
    for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })) {
      const path = join(folder, name)
      if (!statSync(join(ROOT, path)).isFile()) continue
      const text = readFileSync(join(ROOT, path), 'utf8')
      for (const [target] of text.matchAll(/\bdocs\/(?:internals\/)?[\w-]+\.md(?:#[\w-]+)?/g)) {
        count += 1
        const offence = linkOffence(target, '.', path)
        if (offence !== undefined) offences.push(`${path}: ${target}: ${offence}`)
      }
    }
  }
  assert.deepEqual(offences, [])
  assert(count > 50, `found only ${count}`)
})

test('every page can be reached from the README, or is named there as outside of the package', () => {
  const reached = new Set<string>()
  const follow = (path: string): void => {
    if (reached.has(path)) return
    reached.add(path)
    for (const { target } of readPage(path).links) {
      const [file = ''] = target.split('#', 1)
      if (/^[a-z]+:/i.test(target) || !file.endsWith('.md')) continue
      follow(normalize(join(dirname(path), file)))
    }
  }
  follow('README.md')
  // The README, which is part of the package, only names it.
  follow('ARCHITECTURE.md')
  const { text } = readPage('README.md')
  const isNamed = (path: string): boolean => {
    return text.includes(`\`${path}\``) || text.includes(`\`${dirname(path)}/\``)
  }
  const pages = allPages().map(({ path }) => path)
  const wanted = pages.filter((path) => path.startsWith('docs/') || !path.includes('/'))
  assert.deepEqual(
    wanted.filter((path) => !reached.has(path) && !isNamed(path)),
    [],
  )
})

test('the check finds links that lead nowhere', () => {
  const wrong = ['no-such-page.md', 'README.md#no-such-heading', '#nothing', '../outside.md']
  for (const target of [...wrong, 'http://example.org/', 'https://nowhere/', 'https://']) {
    assert.notEqual(linkOffence(target, '.', 'README.md'), undefined, target)
  }
  assert.equal(linkOffence('https://example.org/a(b)', '.', 'README.md'), undefined)
})

test('links, anchors and blocks are read as repository hosts read them', () => {
  const page = readMarkdown(
    [
      '# What `x` & y do',
      'See [a](b.md), ![c](d.png) and <https://e.org>; not `[f](g)`.',
      '[h]: https://i.org',
      '## Same',
      '## Same',
      '```ts strict',
      '# no heading, [no](link)',
      '```',
      '<a id="written-out"></a>',
    ].join('\n'),
  )
  const targets = page.links.map(({ target }) => target)
  assert.deepEqual(targets, ['b.md', 'd.png', 'https://e.org', 'https://i.org'])
  assert.deepEqual([...page.anchors], ['what-x--y-do', 'same', 'same-1', 'written-out'])
  const [block] = page.blocks
  assert.deepEqual(block, {
    language: 'ts',
    words: ['strict'],
    text: '# no heading, [no](link)\n',
    section: 'Same',
    line: 6,
  })
})

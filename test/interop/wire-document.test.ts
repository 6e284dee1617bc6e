// docs/protocol.md: all references to it, and all its own references, have targets.

import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { repositoryPath } from './capnp-tool.js'

const DOCUMENT = repositoryPath('docs', 'protocol.md')
const text = readFileSync(DOCUMENT, 'utf8')

/** The anchors of headings, and explicit ones. */
function anchors(): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map((match) => slug(match[1] ?? ''))
  const explicit = [...text.matchAll(/<a id="([\w-]+)">/g)].map((match) => match[1] ?? '')
  return new Set([...headings, ...explicit])
}

/** Like GitHub: lower case, hyphens for spaces, no other punctuation. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}

function filesUnder(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

describe('docs/protocol.md', () => {
  test('has every anchor that the source refers to', () => {
    const known = anchors()
    const folders = ['src', 'protocol'].map((folder) => repositoryPath(folder))
    for (const path of folders.flatMap(filesUnder)) {
      const source = readFileSync(path, 'utf8')
      for (const [, anchor] of source.matchAll(/docs\/protocol\.md#([\w-]+)/g)) {
        assert.ok(known.has(anchor ?? ''), `${path} refers to #${anchor}`)
      }
    }
  })

  test('has every anchor and file that it links to itself', () => {
    const known = anchors()
    for (const [, target] of text.matchAll(/\]\(([^)]+)\)/g)) {
      const link = target ?? ''
      if (link.startsWith('https://')) continue
      if (link.startsWith('#')) assert.ok(known.has(link.slice(1)), `link to ${link}`)
      else assert.ok(existsSync(join(dirname(DOCUMENT), link)), `link to ${link}`)
    }
  })

  test('has a table for every struct and enum of the schemas', () => {
    const known = anchors()
    for (const path of filesUnder(repositoryPath('protocol'))) {
      if (path.endsWith('annotation.capnp')) continue
      const types = readFileSync(path, 'utf8').matchAll(/^ *(struct|enum) (\w+)/gm)
      for (const [, kind, name] of types) {
        const suffix = (name ?? '').toLowerCase()
        const isThere = [...known].some(
          (anchor) => anchor.startsWith(`${kind}-`) && anchor.endsWith(suffix),
        )
        assert.ok(isThere, `${kind} ${name}`)
      }
    }
  })
})

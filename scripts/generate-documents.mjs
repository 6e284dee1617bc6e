// `npm run docs`: generates documents from the source: the tables of options, between marks in
// pages, and docs/api/ from the doc comments. With --check it only checks that the committed files
// are up to date (exit code 1 if not), with --tables as well only the tables. Reads the compiled
// code.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { apiPages } from './generate-documents/api-pages.mjs'
import { optionTable } from './generate-documents/option-tables.mjs'
import { ROOT, filesUnder } from './paths.mjs'
import { build } from './prepare.mjs'

const MARKED = /(<!-- generated: (\w+) ([\w-]+) -->\n).*?(<!-- end -->)/gs

/** Everything that this script writes: `{ name, path, text }`; or only the pages with tables. */
async function outputs(isOnlyTables) {
  const pages = filesUnder('docs', (path) => path.endsWith('.md') && !path.startsWith('docs/api/'))
  const texts = new Map()
  for (const page of pages) {
    const text = readFileSync(join(ROOT, page), 'utf8')
    if (text.match(MARKED) !== null) texts.set(page, await withTables(text))
  }
  const own = await Promise.all([...texts].map(([name, text]) => formatted(name, text)))
  if (isOnlyTables) return own
  // Not formatted: in a padded table, a change of one cell would change all lines.
  const reference = (await apiPages()).map(([name, text]) => at(`docs/api/${name}`, text))
  return [...own, ...reference]
}

/** Fills in the tables of a page between its marks. */
export async function withTables(text, tableOf = optionTable) {
  let updated = ''
  let end = 0
  for (const match of text.matchAll(MARKED)) {
    const [whole, begin, kind, name, close] = match
    updated += `${text.slice(end, match.index)}${begin}\n${await tableOf(kind, name)}\n\n${close}`
    end = match.index + whole.length
  }
  return updated + text.slice(end)
}

async function formatted(name, text) {
  const path = join(ROOT, name)
  const config = await resolveConfig(path)
  return at(name, await format(text, { ...config, filepath: path }))
}

function at(name, text) {
  return { name, path: join(ROOT, name), text }
}

function textOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

async function main() {
  const isCheck = process.argv.includes('--check')
  if (!isCheck) await build()
  const stale = (await outputs(process.argv.includes('--tables'))).filter(
    ({ path, text }) => textOf(path) !== text,
  )
  for (const { name, path, text } of stale) {
    if (isCheck) {
      console.error(`${name} is out of date; run \`npm run docs\``)
    } else {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
      console.log(`wrote ${name}`)
    }
  }
  if (isCheck && stale.length > 0) process.exitCode = 1
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()

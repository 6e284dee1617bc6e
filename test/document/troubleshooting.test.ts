// docs/troubleshooting.md quotes what the code says, and leaves out no error and no warning.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readPage, ROOT } from './pages.js'

const page = readPage('docs/troubleshooting.md').text
const source = sourceText()

/** The source as text of messages: strings that are cut at the ends of lines are whole again. */
function sourceText(): string {
  const names = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => /(?<!\.test|\.kit|\.d)\.ts$/.test(name))
  const text = files.map((name) => readFileSync(join(ROOT, 'src', name), 'utf8')).join('\n')
  return text.replaceAll(/['`]\s*\+\s*['`]/g, '')
}

/** What stands in backticks in the column of the texts. */
function quotes(): string[] {
  let column = -1
  const found: string[] = []
  for (const line of page.split('\n')) {
    const cells = line.split('|').map((cell) => cell.trim())
    if (!line.startsWith('|')) column = -1
    else if (column === -1) column = cells.indexOf('text')
    else if (column > 0) found.push(...(cells[column]?.match(/(?<=^`)[^`]+(?=`$)/g) ?? []))
  }
  return found
}

test('every text that is quoted is what the code says', () => {
  assert.ok(quotes().length >= 30)
  for (const quote of quotes()) {
    // Without what differs, and what only joins it.
    const parts = quote.split('…').map((part) => part.replaceAll(/^[\s,:]+|[\s,:]+$/g, ''))
    for (const part of parts) {
      assert.ok(part.length < 4 || source.includes(part), `${part}, of: ${quote}`)
    }
  }
})

test('every error that has a code, and every warning, is there', () => {
  const codes = new Set(source.match(/(?<=')(?:ERR_)?SCALER_[A-Z_]+(?=')/g))
  const isOfWarning = (code: string): boolean => source.includes(`code: '${code}'`)
  const wanted = [...codes].filter((code) => code.startsWith('ERR_') || isOfWarning(code))
  assert.ok(wanted.length > 20)
  const missing = wanted.filter((code) => !page.includes(`\`${code}\``))
  assert.deepEqual(missing, [])
})

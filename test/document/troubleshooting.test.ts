// docs/troubleshooting.md quotes texts of the code, and omits no error and no warning.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readPage, ROOT } from './pages.js'

const page = readPage('docs/troubleshooting.md').text
const source = sourceText()

/** The source as text of messages: strings that are split across lines are joined. */
function sourceText(): string {
  const names = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  const files = names.filter((name) => /(?<!\.test|\.kit|\.d)\.ts$/.test(name))
  const text = files.map((name) => readFileSync(join(ROOT, 'src', name), 'utf8')).join('\n')
  return text.replaceAll(/['`]\s*\+\s*['`]/g, '')
}

/** The quotes in backticks in the column of the texts. */
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

test('every quoted text is in the source', () => {
  assert.ok(quotes().length >= 30)
  for (const quote of quotes()) {
    // Without the variable parts, and their separators.
    const parts = quote.split('…').map((part) => part.replaceAll(/^[\s,:]+|[\s,:]+$/g, ''))
    for (const part of parts) {
      assert.ok(part.length < 4 || source.includes(part), `${part}, of: ${quote}`)
    }
  }
})

test('every error with a code, and every warning, is on the page', () => {
  const codes = new Set(source.match(/(?<=')(?:ERR_)?SCALER_[A-Z_]+(?=')/g))
  const isOfWarning = (code: string): boolean => source.includes(`code: '${code}'`)
  const wanted = [...codes].filter((code) => code.startsWith('ERR_') || isOfWarning(code))
  assert.ok(wanted.length > 20)
  const missing = wanted.filter((code) => !page.includes(`\`${code}\``))
  assert.deepEqual(missing, [])
})

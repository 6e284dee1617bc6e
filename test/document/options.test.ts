// The hand-written tables of options contain every option, with its default and bounds in the
// source. (Tables between marks are generated from the source.)

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AnyOptionTable, OptionSpec } from '#src/base/option.js'
import { CLIENT_OPTIONS } from '#src/client/options.js'
import { DEFAULT_WINDOW } from '#src/client/map/window.js'
import { changeTaskSettings, defaultTaskSettings } from '#src/client/submit/task-options.js'
import { readPage } from './pages.js'

/** The cells of the first row of a page's tables that begins with this option. */
function rowOf(path: string, option: string): string[] {
  const line = readPage(path)
    .text.split('\n')
    .find((text) => text.startsWith(`| \`${option}\` `))
  assert(line !== undefined, `${path} has no row for ${option}`)
  return line.split('|').map((cell) => cell.trim())
}

function grouped(value: number): string {
  return value.toLocaleString('en-US')
}

test('the page about clients lists their options correctly', () => {
  for (const [name, spec] of Object.entries(CLIENT_OPTIONS as AnyOptionTable)) {
    const [, , fallback = '', bounds = ''] = rowOf('docs/client.md', name)
    const { type, default: value }: OptionSpec = spec
    const isNumber = type.kind === 'integer' || type.kind === 'duration'
    if (isNumber) {
      assert(bounds.startsWith(`${grouped(type.min)} to ${grouped(type.max)}`), name)
      assert(fallback.startsWith(grouped(Number(value))), name)
    }
    if (type.kind === 'boolean') assert.equal(fallback, `\`${String(value)}\``, name)
  }
})

test('the page about task options lists their bounds correctly', () => {
  const settings = defaultTaskSettings(false)
  for (const name of ['timeoutMs', 'retries', 'maxWorkerDeaths', 'priority']) {
    const [, , , bounds = ''] = rowOf('docs/task-options.md', name)
    const [, min = '', max = ''] = /^(-?[\d,]+) to ([\d,]+)$/.exec(bounds) ?? []
    const plain = `from ${min.replaceAll(',', '')} to ${max.replaceAll(',', '')}`
    const refuse = (): unknown => changeTaskSettings(settings, { [name]: Number.NaN })
    assert.throws(refuse, (error: Error) => error.message.includes(plain), name)
  }
  for (const name of ['capabilities', 'signal', 'name', 'profiling']) {
    rowOf('docs/task-options.md', name)
  }
})

test('the page about clients states the default of concurrency correctly', () => {
  const { maxTasks, tasksPerWorker, workMs } = DEFAULT_WINDOW
  const { text } = readPage('docs/client.md')
  assert(text.includes(`at most ${grouped(maxTasks)} of an awaited map are in flight`))
  assert(text.includes(`${workMs} ms of work for each worker`))
  assert(text.includes(`at least ${tasksPerWorker} tasks`))
})

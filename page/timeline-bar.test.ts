import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyText } from './timeline-bar.js'

test('an empty timeline says so, and when the last task ended', () => {
  const window = { from: 60_000, to: 120_000 }
  const time = String.raw`\d\d:\d\d:\d\d`
  const begin = String.raw`^Nothing ran from ${time} to ${time}\. `
  assert.match(emptyText(window, null), new RegExp(`${begin}No task has ended since`))
  assert.match(
    emptyText(window, 30_000),
    new RegExp(`${begin}The last task ended at ${time} \\(90 s before\\)\\.$`),
  )
  assert.match(emptyText(window, 150_000), new RegExp(`The last task ended at ${time}\\.$`))
})

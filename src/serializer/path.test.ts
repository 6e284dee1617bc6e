import assert from 'node:assert/strict'
import { test } from 'node:test'
import { captureText, placeText } from './refusal.js'

test('a place is the name of the file and the line, counted from 1', () => {
  for (const location of ['file:///srv/app.ts', '/srv/app.ts', 'C:\\srv\\app.ts', 'app.ts']) {
    assert.equal(placeText(location, 11), 'app.ts:12', location)
  }
  assert.equal(placeText('file:///srv/app.ts?v=/3#/x', 0), 'app.ts:1')
  assert.equal(placeText('', 0), undefined)
})

test('a captured variable is shown with its place, if it has one', () => {
  assert.equal(captureText('db', 'app.ts:12'), 'db (captured at app.ts:12)')
  assert.equal(captureText('db', undefined), 'db')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitText, textWidth } from './line.js'

test('letters take one column, East Asian characters and emoji two, marks none', () => {
  const widths = new Map([
    ['', 0],
    ['plain text', 10],
    ['Größe', 5],
    ['e\u0301', 1],
    ['計算', 4],
    ['ひらがな', 8],
    ['ｶﾀｶﾅ', 4],
    ['한국', 4],
    ['Ａ', 2],
    ['👍🏽', 2],
    ['👩‍👩‍👧', 2],
    ['❤️', 2],
    ['━┄…', 3],
    ['\u200b', 0],
  ])
  for (const [text, width] of widths) assert.equal(textWidth(text), width, JSON.stringify(text))
})

test('text that is too long is cut between characters, with a mark', () => {
  assert.equal(fitText('abcdef', 6, '…'), 'abcdef')
  assert.equal(fitText('abcdef', 5, '…'), 'abcd…')
  assert.equal(fitText('計算の', 5, '…'), '計算…')
  assert.equal(fitText('計算の', 4, '…'), '計…')
  assert.equal(fitText('👩‍👩‍👧👍', 3, '…'), '👩‍👩‍👧…')
  assert.equal(fitText('abc', 0, '…'), '')
})

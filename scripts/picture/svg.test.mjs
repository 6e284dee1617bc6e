import assert from 'node:assert/strict'
import { test } from 'node:test'
import { svgOf } from './svg.mjs'

const row = (text) => [{ text, color: '' }]
const FRAMES = [
  { atMs: 0, rows: [row('$ map')] },
  { atMs: 1_000, rows: [row('$ map'), row('10%')] },
  { atMs: 2_000, rows: [row('$ map'), [{ text: '<&>', color: 'red' }]] },
]

test('each row is a text for as long as it was visible', () => {
  const svg = svgOf('a map', [{ title: 'shell', rows: 3, frames: FRAMES }], 20)
  const texts = svg.split('\n').filter((line) => line.startsWith('<text'))
  assert.equal(texts.length, 3)
  const [still = '', first = '', last = ''] = texts
  assert.ok(still.includes('$ map') && !still.includes('animate'))
  assert.match(first, /visibility="hidden">10%.*keyTimes="0;0\.1667;0\.3333"/)
  assert.match(first, /values="hidden;visible;hidden"/)
  assert.match(last, /<tspan class="red">&lt;&amp;&gt;<\/tspan>.*values="hidden;visible"/)
  assert.doesNotMatch(last, /visibility="hidden"/, 'the end is visible without animation')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { pngOf } from './png.mjs'

test('a picture has a palette, and a row of indexes for each row', () => {
  const [red, blue] = [
    [255, 0, 0, 255],
    [0, 0, 255, 255],
  ]
  const rgba = Uint8Array.from([red, red, blue, red].flat())
  const png = pngOf({ width: 2, height: 2, rgba })
  assert.equal(png.toString('latin1', 1, 4), 'PNG')
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25]], [2, 2, 8, 3])
  const contentOf = (name) => {
    const at = png.indexOf(name)
    return png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4))
  }
  assert.deepEqual([...contentOf('PLTE')], [255, 0, 0, 0, 0, 255])
  assert.deepEqual([...inflateSync(contentOf('IDAT'))], [0, 0, 0, 0, 1, 0])
})

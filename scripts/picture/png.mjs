// Pictures of screens as small PNG files: at most 256 colours, which is a third of the bytes.

import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const MAX_COLORS = 256
/** Colours that differ less than this in each channel are counted as one. */
const STEP = 4

/** A PNG with the most frequent colours of a picture; `rgba` has four bytes per pixel, by row. */
export function pngOf({ width, height, rgba }) {
  const counts = new Map()
  for (let at = 0; at < rgba.length; at += 4) {
    const key = keyOf(rgba, at)
    const known = counts.get(key)
    if (known === undefined) counts.set(key, { count: 1, color: [...rgba.subarray(at, at + 3)] })
    else known.count += 1
  }
  const frequent = [...counts].sort((a, b) => b[1].count - a[1].count)
  const palette = frequent.slice(0, MAX_COLORS).map(([, { color }]) => color)
  const indexes = new Map(frequent.map(([key, { color }]) => [key, nearest(palette, color)]))
  // Each row begins with its filter: none.
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      rows[y * (width + 1) + x + 1] = indexes.get(keyOf(rgba, (y * width + x) * 4))
    }
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // Eight bits per pixel, which are an index of the palette.
  header.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', Buffer.from(palette.flat())),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function keyOf(rgba, at) {
  const channel = (offset) => Math.floor(rgba[at + offset] / STEP)
  return (channel(0) << 16) | (channel(1) << 8) | channel(2)
}

function nearest(palette, color) {
  let [best, least] = [0, Infinity]
  for (const [index, other] of palette.entries()) {
    const distance = other.reduce((sum, value, at) => sum + (value - color[at]) ** 2, 0)
    if (distance < least) [best, least] = [index, distance]
  }
  return best
}

function chunk(name, content) {
  const named = Buffer.concat([Buffer.from(name), content])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(content.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

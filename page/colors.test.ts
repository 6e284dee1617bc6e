import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { FUNCTION_COLORS, functionColors } from './colors.js'

/** Red, green and blue, linear from 0 to 1. */
function linear(color: string): readonly [number, number, number] {
  const part = (at: number): number => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }
  return [part(1), part(3), part(5)]
}

function luminance(color: string): number {
  const [red, green, blue] = linear(color)
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Coordinates in CIELAB: distances are as large as differences look. */
function lab(color: string): readonly [number, number, number] {
  const [red, green, blue] = linear(color)
  const root = (value: number): number => {
    return value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116
  }
  const x = root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
  const y = root(luminance(color))
  const z = root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}

function difference(one: string, other: string): number {
  const [a, b] = [lab(one), lab(other)]
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2])
}

function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one) + 0.05, luminance(other) + 0.05]
  return Math.max(a, b) / Math.min(a, b)
}

/** The values of a colour of the style sheet: light and dark. */
function themed(name: string): readonly string[] {
  const sheet = readFileSync(new URL('../../page/style.css', import.meta.url), 'utf8')
  const found = [...sheet.matchAll(new RegExp(`--${name}: (#[\\da-f]{6});`, 'g'))]
  assert.equal(found.length, 2, name)
  return found.map(([, color]) => color ?? '')
}

test('no function looks like a failure, like another one, or like the background', () => {
  for (const [at, color] of FUNCTION_COLORS.entries()) {
    for (const red of themed('bad')) assert.ok(difference(color, red) > 40, `${color}, ${red}`)
    for (const back of themed('back')) assert.ok(contrast(color, back) >= 3, `${color}, ${back}`)
    for (const other of FUNCTION_COLORS.slice(at + 1)) {
      assert.ok(difference(color, other) > 30, `${color}, ${other}`)
    }
  }
})

test('a function keeps its colour when it has ended and others run', () => {
  const before = functionColors(['price'], ['load'])
  const after = functionColors(['price', 'load'], ['price', 'other'])
  for (const name of ['price', 'load']) assert.equal(after.get(name), before.get(name))
  assert.equal(new Set(after.values()).size, 3)
})

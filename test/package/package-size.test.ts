// The size of the package and its dependencies in README.md.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from './command.js'

const NUMBERS = ['no', 'one', 'two', 'three', 'four', 'five', 'six']
/** The tolerance of the figure, as a fraction: not every change has to change the text. */
const TOLERANCE = 0.1

test('the README states the number of dependencies, and the installed size', async () => {
  const script = [join(ROOT, 'scripts/size.mjs'), '--json', '--no-build']
  const { stdout } = await promisify(execFile)(process.execPath, script)
  const sizes = JSON.parse(stdout) as readonly { readonly unpackedBytes: number }[]
  const megabytes = sizes.reduce((sum, { unpackedBytes }) => sum + unpackedBytes, 0) / 1e6
  const text = (await readFile(join(ROOT, 'README.md'), 'utf8')).replaceAll(/\s+/g, ' ')
  const said = /(\w+) dependencies, ([\d.]+) MB installed/.exec(text)
  const right = `${NUMBERS[sizes.length - 1]} dependencies, ${megabytes.toFixed(1)} MB installed`
  assert.ok(said !== null, `README.md should say: ${right}`)
  assert.equal(said[1], NUMBERS[sizes.length - 1], right)
  assert.ok(Math.abs(Number(said[2]) - megabytes) <= TOLERANCE * megabytes, right)
})

// Files of objects are closed, in this thread or in another.

import assert from 'node:assert/strict'
import { ftruncateSync, mkdtempSync, openSync, readdirSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { test } from 'node:test'
import { closeObjectFile } from './object-files.js'

const skip = process.platform === 'linux' ? false : 'needs /proc (Linux)'

for (const [size, isRemoved] of [
  [2 ** 22, true],
  [2 ** 10, true],
  [2 ** 22, false],
] as const) {
  const what = `a file of ${size} bytes that ${isRemoved ? 'was' : 'was not'} removed`
  test(`${what} is closed once`, { skip }, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'close-'))
    t.after(() => rmSync(directory, { recursive: true }))
    const path = join(directory, 'file')
    const fd = openSync(path, 'wx+')
    ftruncateSync(fd, size)
    if (isRemoved) rmSync(path)
    closeObjectFile(fd)
    while (openFiles().some((each) => each.startsWith(path))) await setImmediate()
    assert.throws(() => closeObjectFile(fd), { code: 'EBADF' })
  })
}

function openFiles(): readonly string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      // That with which the directory was read.
      return []
    }
  })
}

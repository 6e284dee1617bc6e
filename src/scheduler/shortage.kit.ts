// A process without file descriptors, for tests: nothing can be opened.

import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import type { TestContext } from 'node:test'

/** From now on nothing can be opened, until the returned function is called. */
export function takeDescriptors(t: TestContext, code = 'EMFILE'): () => void {
  const { openSync } = fs
  const { open } = fs.promises
  const fail = (): never => {
    throw Object.assign(new Error(`${code}: injected, open`), { code, syscall: 'open' })
  }
  const giveBack = (): void => {
    Object.assign(fs, { openSync })
    Object.assign(fs.promises, { open })
    syncBuiltinESMExports()
  }
  Object.assign(fs, { openSync: fail })
  Object.assign(fs.promises, { open: () => new Promise(fail) })
  syncBuiltinESMExports()
  // What waits for them does not keep the process alive.
  const alive = setInterval(() => {}, 60_000)
  t.after(() => {
    clearInterval(alive)
    giveBack()
  })
  return giveBack
}

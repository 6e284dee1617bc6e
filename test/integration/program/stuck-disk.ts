// A disk that writes nothing until a file exists, for a scheduler: loaded before its program. The
// file is named by the environment variable STUCK_UNTIL.

import { existsSync, promises } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { setTimeout } from 'node:timers/promises'

const until = process.env['STUCK_UNTIL'] ?? ''
const { open } = promises

promises.open = async (...args: Parameters<typeof open>) => {
  const handle = await open(...args)
  if (args[1] !== 'wx') return handle
  // Each piece of an object is written by a call of its own.
  const write = handle.write.bind(handle) as (...given: readonly unknown[]) => Promise<unknown>
  const slowly = async (...given: readonly unknown[]): Promise<unknown> => {
    while (!existsSync(until)) await setTimeout(10)
    return write(...given)
  }
  return Object.assign(handle, { write: slowly })
}
syncBuiltinESMExports()

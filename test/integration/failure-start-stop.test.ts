// Starts and stops with every signal at random moments: no process, port or file is left, and the
// exit codes say what happened.

import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startAndStop } from '../chaos/start-stop.js'
import { sized } from '#src/base/short-run.kit.js'
import { until } from './condition.js'

/** The long form of this is in `npm run chaos`. */
const ROUNDS = sized(20, 6)

test('starts and stops with every signal at random moments leave nothing behind', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sc-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const { ports, signals } = await startAndStop({ rounds: ROUNDS, seed: 11, folder })
  t.diagnostic(`${[...signals].map(([name, count]) => `${count} ${name}`).join(', ')}`)
  for (const port of ports) {
    // Connections of other programs get the same numbers for a while; what was left stays.
    await until(`port ${port} is free`, () => isFree(port))
  }
})

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening')
  } catch {
    return false
  }
  await new Promise((resolve) => server.close(resolve))
  return true
}

// The Python Scaler 1.9.9 as a peer, from the virtual environment that scripts/python-venv.mjs
// creates.

import { existsSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ROOT, startProgram, type Program } from './program.js'

/** Where the commands of Python Scaler are. */
export const BIN: string = join(ROOT, '.venv-interop/bin')
const isMissing = !existsSync(join(ROOT, '.venv-interop/made-of'))

/** A test that needs the Python Scaler: skipped, with a line that says so, if it is missing. */
export function pythonTest(name: string, run: (t: TestContext) => Promise<void>): void {
  const skip = isMissing && 'no Python Scaler: node scripts/python-venv.mjs'
  test(name, { skip, timeout: 180_000 }, run)
}

/** Runs a script of test/interop/python/. */
export function startScript(t: TestContext, name: string, ...args: readonly string[]): Program {
  return startProgram(t, join(BIN, 'python'), [join(ROOT, 'test/interop/python', name), ...args])
}

/** Starts `scaler_cluster`. */
export function startPythonCluster(t: TestContext, address: string, workers: number): Program {
  return startProgram(t, join(BIN, 'scaler_cluster'), ['-n', String(workers), address])
}

/** Starts `scaler_scheduler`; resolves once it listens. */
export async function startPythonScheduler(t: TestContext): Promise<{
  readonly scheduler: Program
  readonly address: string
  readonly monitorAddress: string
}> {
  for (let attempt = 1; ; attempt += 1) {
    const [port, monitorPort] = await freePorts()
    const address = `tcp://127.0.0.1:${port}`
    const monitorAddress = `tcp://127.0.0.1:${monitorPort}`
    const args = [address, '--monitor-address', monitorAddress]
    const scheduler = startProgram(t, join(BIN, 'scaler_scheduler'), args)
    try {
      await scheduler.logged(/StatusReporter: started/)
      return { scheduler, address, monitorAddress }
    } catch (error) {
      // It does not report a port that the system chose, so that another process may take it first.
      if (attempt === 3 || !scheduler.log().includes('Address already in use')) throw error
    }
  }
}

/** Two ports that were free a moment ago. */
async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()]
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening')
  const [first = 0, second = 0] = servers.map((server) => (server.address() as AddressInfo).port)
  for (const server of servers) await once(server.close(), 'close')
  return [first, second]
}

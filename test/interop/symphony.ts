// Our workers for IBM Spectrum Symphony with a stand-in for IBM's library (symphony/soamapi.py),
// which runs services as processes of this machine.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Program, ROOT, startCommand, startProgram } from './program.js'

const FOLDER = join(ROOT, 'test/interop/symphony')
const PYTHON = join(ROOT, '.venv-interop/bin/python')

/** The service of the documents of Python Scaler. */
export const DOCUMENTS_SERVICE: string = join(FOLDER, 'documents_service.py')

/** The service of this package, for tasks of Python and of Node clients. */
export const OUR_SERVICE: string = join(ROOT, 'service/symphony_service.py')

/** How the workers are started, and what goes wrong: see symphony/soamapi.py. */
export interface SymphonySetup {
  readonly address: string
  /** Default: 1. */
  readonly baseConcurrency?: number
  /** Default: the service of the documents. */
  readonly serviceFile?: string
  /** How many tasks Symphony runs at a time. Default: 4. */
  readonly instances?: number
  /** Where the one instance listens that runs all tasks. Default: there are others. */
  readonly socket?: string
  readonly faults?: Readonly<Record<string, number | boolean>>
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

/** Starts `scaler_symphony_cluster`. */
export function startSymphonyCluster(t: TestContext, setup: SymphonySetup): Program {
  const { address, baseConcurrency = 1, instances = 4, faults = {}, args = [] } = setup
  const folder = temporaryFolder(t)
  const config = join(folder, 'soamapi.json')
  const file = setup.serviceFile ?? DOCUMENTS_SERVICE
  const isProgram = file !== DOCUMENTS_SERVICE
  const { socket } = setup
  const service = { file, instances, isProgram, ...(socket === undefined ? {} : { socket }) }
  writeFileSync(config, JSON.stringify({ services: { ScalerService: service }, ...faults }))
  const own = ['-n', String(baseConcurrency), '--python', PYTHON]
  const env = { SOAMAPI_CONFIG: config, PYTHONPATH: FOLDER, ...setup.env }
  const all = [address, 'ScalerService', ...own, ...args]
  return startCommand(t, 'scaler-symphony-cluster', all, env)
}

/** Starts an instance of our service that runs the tasks of all clients of Symphony. */
export async function startSharedInstance(t: TestContext): Promise<string> {
  const socket = join(temporaryFolder(t), 'socket')
  const env = { SOAMAPI_SOCKET: socket, PYTHONPATH: FOLDER }
  await startProgram(t, PYTHON, [OUR_SERVICE], env).logged(/listening/)
  return socket
}

/** The process ids of the bridges that the workers have started. */
export function bridgesOf(workers: Program): readonly number[] {
  const found = workers.log().matchAll(/"connection":"connection-(\d+)"/g)
  return [...found].map(([, pid]) => Number(pid))
}

/** Starts our scheduler as a command. */
export async function startScheduler(
  t: TestContext,
  at: string = 'tcp://127.0.0.1:0',
): Promise<{ readonly scheduler: Program; readonly address: string }> {
  const scheduler = startCommand(t, 'scaler-scheduler', [at])
  const [, address = ''] = await scheduler.logged(/"address":"([^"]+)"/)
  return { scheduler, address }
}

/** A folder that is removed after the test. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'symphony-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

// Our workers for IBM Spectrum Symphony with a stand-in for IBM's library (symphony/soamapi.py),
// which runs services as processes of this machine.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type Program, ROOT, startCommand } from './program.js'

const FOLDER = join(ROOT, 'test/interop/symphony')

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
  const service = { file, instances, isProgram: file !== DOCUMENTS_SERVICE }
  writeFileSync(config, JSON.stringify({ services: { ScalerService: service }, ...faults }))
  const own = ['-n', String(baseConcurrency), '--python', join(ROOT, '.venv-interop/bin/python')]
  const env = { SOAMAPI_CONFIG: config, PYTHONPATH: FOLDER, ...setup.env }
  const all = [address, 'ScalerService', ...own, ...args]
  return startCommand(t, 'scaler-symphony-cluster', all, env)
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

// What tests of allocators have in common.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Client } from 'scaler-ts'
import type { TestCluster } from '../chaos/cluster.js'
import { commandPath, type Line, type Program } from '../chaos/program.js'
import { until } from './condition.js'

/** The path of the command. */
export const SCALER: string = commandPath('scaler')

/** Workers that end soon if their scheduler does. */
const SHORT_LIVED = ['--worker-args=--death-timeout-seconds 5 --spare-processors 0']
const QUICK = ['--idle-seconds', '2', '--list-interval-seconds', '0.5', ...SHORT_LIVED]

/** A task that records each run. */
export const record = async (path: string, at: number): Promise<number> => {
  const { appendFileSync } = await import('node:fs')
  const { setTimeout } = await import('node:timers/promises')
  await setTimeout(50)
  appendFileSync(path, `${at}\n`)
  return at
}

/** Starts an allocator. */
export function allocate(cluster: TestCluster, provider: string, args: readonly string[]): Program {
  return cluster.run('allocator', [
    SCALER,
    'allocate',
    provider,
    cluster.address,
    ...QUICK,
    ...args,
  ])
}

/** Its decisions of one kind, as it logs them. */
export function decisions({ lines }: Program, action: string): readonly Line[] {
  return lines.filter(({ message }) => String(message).startsWith(`${action} `))
}

/** How many workers there are. */
export async function workersOf(client: Client): Promise<number> {
  const { hosts } = await client.info()
  return hosts.reduce((sum, { workers }) => sum + workers.length, 0)
}

/** Runs tasks, and resolves with a line for each run of one. */
export async function runTasks(cluster: TestCluster, count: number): Promise<readonly string[]> {
  const client = cluster.client()
  const path = join(cluster.folder, 'runs')
  const inputs = Array.from({ length: count }, (_, at) => [path, at] as const)
  const results = await client.starmap(record, inputs)
  assert.deepEqual(
    results,
    inputs.map(([, at]) => at),
  )
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  rmSync(path)
  return lines
}

/** Resolves when all workers have left, in good order. */
export async function allLeft(cluster: TestCluster): Promise<void> {
  const client = cluster.client()
  await until('all workers have left', async () => (await workersOf(client)) === 0)
  const { lost } = await client.info()
  assert.deepEqual(lost, { count: 0, workers: [] })
}

/** Runs tasks, and resolves when their workers and the files about them are gone. */
export async function runAndLeave(cluster: TestCluster, count: number): Promise<readonly string[]> {
  const lines = await runTasks(cluster, count)
  await allLeft(cluster)
  return lines
}

/** Resolves when no unit has left a file. */
export async function filesGone(cluster: TestCluster): Promise<void> {
  const folder = join(cluster.folder, `scaler-allocate-${process.getuid?.() ?? 0}`)
  await until('the files of units are removed', () => !existsSync(folder))
}

// The shell script that runs the workers of a unit.

import { fileURLToPath } from 'node:url'
import { quoted } from '../base/text.js'
import type { CheckedAllocatorOptions } from './options.js'
import { requireProcesses, tlsFlags } from '../runtime/child-environment.js'
import { filled } from './shell.js'

/** Workers that outlive their allocator leave this much later than it would have ended them. */
const ORPHAN_MS = 30_000
/** The same for workers that are kept without work: replacing them must be rare. */
const KEPT_ORPHAN_MS = 3_600_000

const CLUSTER = new URL('../../dist/cli/scaler-cluster.js', import.meta.url)

/** `scaler_cluster` of this package, run by this Node. */
function ownProgram(): readonly string[] {
  requireProcesses()
  return [process.execPath, fileURLToPath(CLUSTER)]
}

/**
 * The lines of a shell script that runs the workers of one unit. `key`: the second half of their
 * allocation, as the shell reads it between double quotes: a text, or variables. `program`: how
 * the workers' machine runs `scaler_cluster`. Default: by the same paths as this one. Throws
 * `ConfigError` for certificates that are not files, and if this process can start no Node.
 */
export function workerScript(
  options: CheckedAllocatorOptions,
  key: string,
  program?: readonly string[],
): string {
  const { preamble, workerCommand } = options
  const lines = preamble === undefined ? [] : [preamble]
  const allocation = `"${options.name}/${key}"`
  const command = workerCommand ?? clusterCommand(options, allocation, program)
  const { address, workerAddress = address, workersPerUnit } = options
  const list = `for n in $(seq ${workersPerUnit}); do printf '%s,' ${allocation}; done`
  const names = `"$(${list} | sed 's/,$//')"`
  const values = { allocation, names, address: quoted(workerAddress) }
  return [
    ...lines,
    `exec ${filled(command, { ...values, workers: String(workersPerUnit) })}`,
    '',
  ].join('\n')
}

function clusterCommand(
  options: CheckedAllocatorOptions,
  allocation: string,
  program: readonly string[] = ownProgram(),
): string {
  const { capabilities = [], lifetimeMs, idleMs, minWorkers, workerArgs = '' } = options
  const orphanMs = idleMs + (minWorkers > 0 ? KEPT_ORPHAN_MS : ORPHAN_MS)
  const offers = (capabilities as readonly string[]).join()
  const command = [...program, '-n', String(options.workersPerUnit)]
  const flags = { 'idle-timeout-seconds': orphanMs / 1_000, 'lifetime-seconds': lifetimeMs / 1_000 }
  for (const [flag, value] of Object.entries({ ...flags, capabilities: offers })) {
    if (value !== 0 && value !== '') command.push(`--${flag}`, String(value))
  }
  const { workerAddress = options.address } = options
  if (/^tls:/i.test(workerAddress)) command.push(...tlsFlags(options.tls))
  return [...command.map(quoted), workerArgs, '--allocation', allocation, quoted(workerAddress)]
    .filter((word) => word !== '')
    .join(' ')
}

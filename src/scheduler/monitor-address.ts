// Where monitors connect, if nobody says: two ports above the scheduler's own.

import { ConfigError } from '../base/errors.js'
import { formatAddress, parseAddress, type Address } from '../transport/address.js'
import { codeOf } from '../transport/os-error.js'

const DISTANCE = 2
const MAX_PORT = 65_535

/** Throws `ConfigError` where there is no port two above. */
export function checkMonitorPort(address: Address): void {
  if (address.kind !== 'tcp' || address.port <= MAX_PORT - DISTANCE) return
  const why = `two ports above ${formatAddress(address)} there is none`
  throw new ConfigError(`option monitorAddress: ${why} for monitors; say where they connect`)
}

/**
 * Binds a socket for monitors. `configured` is what was asked for, `bound` what is listened on.
 * Where the system has chosen the port, somebody may have the one two above: then it chooses again.
 */
export async function bindMonitor<T>(
  configured: Address,
  bound: string,
  bind: (address: string) => Promise<T>,
): Promise<T> {
  const main = parseAddress(bound)
  if (configured.kind === 'ipc' || main.kind === 'ipc') return bind(`${bound}.monitor`)
  const isChosen = configured.port === 0
  const port = main.port + DISTANCE
  try {
    if (!isChosen || port <= MAX_PORT) return await bind(formatAddress({ ...configured, port }))
  } catch (error) {
    if (!isChosen) throw error
  }
  return bind(formatAddress({ ...configured, port: 0 }))
}

/** That the address for monitors cannot be bound, so that nobody takes it for that of clients. */
export function monitorError(error: unknown, isDefault: boolean): unknown {
  if (!(error instanceof Error) || error instanceof ConfigError) return error
  const why = isDefault ? ' (monitors connect two ports up unless another address is given)' : ''
  const told = new Error(`option monitorAddress: ${error.message}${why}`, { cause: error })
  const code = codeOf(error)
  return code === undefined ? told : Object.assign(told, { code })
}

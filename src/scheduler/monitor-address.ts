// The default address for monitors: two ports above the scheduler's own.

import { ConfigError, ScalerError } from '../base/errors.js'
import {
  type Address,
  codeOf,
  formatAddress,
  isSamePort,
  parseAddress,
} from '../transport/address.js'

const DISTANCE = 2
const MAX_PORT = 65_535

/** Throws `ConfigError` if the port two above `address` does not exist. */
export function checkMonitorPort(address: Address): void {
  if (address.kind !== 'tcp' || address.port <= MAX_PORT - DISTANCE) return
  const why = `there is no port for monitors two ports above ${formatAddress(address)}`
  throw new ConfigError(`option monitorAddress: ${why}; set where they connect`)
}

/**
 * Binds a socket for monitors. `configured` is the address that was asked for, `bound` the one that
 * the scheduler listens on. If the system has chosen that port, the one two above it may be taken:
 * then the system chooses this port, too.
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

/**
 * An error that says that it is the address for monitors that cannot be bound. `given`: the one
 * that was asked for, undefined if none was; `bound`: where the scheduler listens.
 */
export function monitorError(error: unknown, given: string | undefined, bound: string): unknown {
  if (!(error instanceof Error) || error instanceof ConfigError) return error
  const code = codeOf(error)
  const isOwn = given !== undefined && isSamePort(parseAddress(given), parseAddress(bound))
  if (code === 'EADDRINUSE' && isOwn) {
    return new ConfigError(`option monitorAddress: ${given}: the scheduler itself listens there`)
  }
  const isDefault = given === undefined
  const why = isDefault ? ' (monitors connect two ports up unless another address is given)' : ''
  const text = `option monitorAddress: ${error.message}${why}`
  const told = new ScalerError('ERR_SCALER_LISTEN', text, { cause: error })
  return code === undefined ? told : Object.assign(told, { code })
}

// The address of programs that name none: `scaler run` sets it for the script that it runs, and
// users for all that they start.

import { ConfigError } from '../base/errors.js'
import { parseConnectAddress } from '../transport/address.js'

/** Where it is taken from. */
export const ADDRESS_VARIABLE = 'SCALER_ADDRESS'

/**
 * `given`, or the address that `SCALER_ADDRESS` says. Throws `ConfigError` where there is neither,
 * saying how to set it, and for a variable that is no address.
 */
export function addressOrDefault(
  given: string | undefined,
  env: Readonly<Record<string, string | undefined>> = process.env,
): string {
  if (typeof given === 'object') {
    const isPromise = typeof (given as { then?: unknown } | null)?.then === 'function'
    const what = isPromise
      ? 'a promise; await what it gives first'
      : 'an object; options are the second argument, and a cluster has its address as `address`'
    throw new ConfigError(`address: expected a text, got ${what}`)
  }
  if (given !== undefined) return given
  const address = env[ADDRESS_VARIABLE]?.trim() ?? ''
  if (address === '') {
    throw new ConfigError(
      `no address: give one, as in new Client('tcp://127.0.0.1:2345'), set ${ADDRESS_VARIABLE}, ` +
        'or start the program with `scaler run`',
    )
  }
  try {
    parseConnectAddress(address)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new ConfigError(`${ADDRESS_VARIABLE}: ${error.message}`, { cause: error })
  }
  return address
}

/** Throws `ConfigError` for what is no address to connect to. */
export function checkConnectAddress(address: string): void {
  parseConnectAddress(address)
}

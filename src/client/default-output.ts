// Where goes what tasks print, for clients that do not say it: to the program where the cluster is
// a part of it, or where its environment says so.

import { checkValue } from '../base/option-table.js'
import { isServedLocally } from '../runtime/local-address.js'
import type { OutputPlace } from '../wire/message.js'
import { CLIENT_OPTIONS } from './client-options-table.js'

/** Where it is taken from. */
export const OUTPUT_VARIABLE = 'SCALER_OUTPUT'

/** The default for a client of the scheduler at `address`. Throws `ConfigError`. */
export function defaultOutput(
  address: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): OutputPlace {
  const text = env[OUTPUT_VARIABLE]?.trim() ?? ''
  if (text !== '') {
    return checkValue(OUTPUT_VARIABLE, CLIENT_OPTIONS.output.type, text, 'log') as OutputPlace
  }
  return isServedLocally(address) ? 'forward' : 'log'
}

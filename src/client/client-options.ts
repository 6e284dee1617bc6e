// Checks the options of a client; their table is client-options-table.ts.

import { basename } from 'node:path'
import { ConfigError } from '../base/errors.js'
import { silentLogger } from '../base/logger.js'
import { loggerOption, numberOption, show, type NumberBounds } from '../base/option.js'
import { checkNames, checkOptions, optionsIn, type OptionTable } from '../base/option-table.js'
import { defaultSerializer } from '../serializer/process-serializer.js'
import type { Serializer } from '../serializer/serializer.js'
import { isSerializer } from '../serializer/task-codec.js'
import { CLIENT_OPTIONS, type ClientOptions } from './client-options-table.js'

export type { ClientOptions } from './client-options-table.js'

/** All options with a value. */
export type ClientSettings = {
  readonly [Name in keyof ClientOptions]-?: Exclude<ClientOptions[Name], undefined>
}

const DEFAULT_INTERVAL_MS = 2_000

/**
 * Fills in the defaults; `output` is that of output. Throws `ConfigError` that names the option,
 * its value and the bound.
 */
export function checkClientOptions(
  given: ClientOptions,
  output: ClientSettings['output'] = 'log',
): ClientSettings {
  const checked = checkOptions('client', CLIENT_OPTIONS, given)
  const { timeoutMs = 0, serializer, logger, ...rest } = checked
  return {
    ...(rest as ClientSettings),
    timeoutMs,
    output: checked.output ?? output,
    name: checkName(checked.name),
    heartbeatIntervalMs: checkInterval(given.heartbeatIntervalMs, timeoutMs),
    serializer: checkSerializer(serializer),
    logger: loggerOption('logger', logger) ?? silentLogger,
  }
}

/**
 * The options of a client and those of its cluster, whose table that is; those that both have are
 * in both. Throws `ConfigError` for one that neither has, with the nearest name.
 */
export function splitClientOptions<ClusterOptions extends object>(
  options: ClusterOptions & ClientOptions,
  clusterTable: OptionTable<ClusterOptions>,
): { readonly client: ClientOptions; readonly cluster: ClusterOptions } {
  const both = { ...clusterTable, ...CLIENT_OPTIONS }
  checkNames('client or cluster', both, options)
  return {
    client: optionsIn(CLIENT_OPTIONS, options),
    cluster: optionsIn(clusterTable, options),
  }
}

/** It is useless unless it comes more often than the timeout. */
function checkInterval(intervalMs: number | undefined, timeoutMs: number): number {
  const quarterMs = Math.max(1, Math.floor(timeoutMs / 4))
  const type = CLIENT_OPTIONS.heartbeatIntervalMs.type as NumberBounds
  const max = Math.min(type.max, Math.max(1, timeoutMs - 1))
  const fallbackMs = Math.min(DEFAULT_INTERVAL_MS, quarterMs)
  return numberOption('heartbeatIntervalMs', intervalMs, fallbackMs, { min: type.min, max })
}

function checkName(name = programName()): string {
  if (/^[^\p{Cc}]{1,128}$/u.test(name)) return name
  const rule = '1 to 128 characters without control characters'
  throw new ConfigError(`option name: expected ${rule}, got ${show(name)}`)
}

/** The file that Node was started with. */
function programName(): string {
  const [, path = ''] = process.argv
  const name = basename(path)
    .replace(/\p{Cc}/gu, '')
    .slice(0, 128)
  return name === '' ? 'node' : name
}

function checkSerializer(serializer: Serializer | undefined): Serializer {
  if (serializer === undefined) return defaultSerializer
  if (isSerializer(serializer)) return serializer
  const expected = 'an object with the functions serialize and deserialize'
  throw new ConfigError(`option serializer: expected ${expected}`)
}

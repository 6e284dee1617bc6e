// The options that are given in the environment: `SCALER_` and the flag in capitals. One variable
// serves all commands that have the flag; one that no command has is told, and nothing more: the
// environment belongs to everybody.

import { nearestName } from '../base/nearest-name.js'
import type { CommandDefinition } from './command-definition.js'
import type { Given } from './command-line.js'
import { flagsOf, settableFlags, variableOf, type Flag } from './flag.js'
import { readText } from './option-text.js'
import type { Origin } from './origin.js'

const PREFIX = 'SCALER_'
/** Names the configuration file of all commands. */
export const CONFIG_VARIABLE = 'SCALER_CONFIG'
/** Where the scheduler is: for commands, and for clients that are given no address. */
export const ADDRESS_VARIABLE = 'SCALER_ADDRESS'
const ALWAYS = new Set([CONFIG_VARIABLE, ADDRESS_VARIABLE])
/** What processes of this package tell each other. */
const INTERNAL = new Set(['SCALER_LIFELINE', 'SCALER_EMBEDDED_DEPTH'])
/**
 * What Kubernetes and linked containers set where a service is called scaler-something:
 * `SCALER_SERVICE_HOST`, `SCALER_PORT_2345_TCP_ADDR`.
 */
const OF_SERVICES =
  /^SCALER_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)$/

/**
 * What `environment` says of `flags`, by their names in code. An empty variable says nothing.
 * Throws `ConfigError` for a value that is wrong.
 */
export function readEnvironment(
  flags: readonly Flag[],
  environment: NodeJS.ProcessEnv,
): ReadonlyMap<string, Given> {
  const given = new Map<string, Given>()
  for (const { name, key, spec } of settableFlags(flags)) {
    const variable = variableOf(key)
    const text = textOf(environment, variable)
    if (text === undefined) continue
    const origin: Origin = { kind: 'environment', variable }
    given.set(name, { value: readText(variable, spec.type, text), origin })
  }
  return given
}

/** What a variable says; an empty one says nothing. */
export function textOf(environment: NodeJS.ProcessEnv, variable: string): string | undefined {
  const text = environment[variable]
  return text === undefined || text === '' ? undefined : text
}

/** The variables of `environment` that look like ours and are no flag of `flags`. */
export function strangeVariables(
  flags: readonly Flag[],
  environment: NodeJS.ProcessEnv,
): readonly string[] {
  const known = new Set(settableFlags(flags).map(({ key }) => variableOf(key)))
  const isKnown = (name: string): boolean =>
    known.has(name) || INTERNAL.has(name) || ALWAYS.has(name) || OF_SERVICES.test(name)
  return Object.keys(environment).filter((name) => name.startsWith(PREFIX) && !isKnown(name))
}

/** A line about each of `strange` that is a variable of no command at all. */
export function aboutStrangers(
  strange: readonly string[],
  definitions: readonly CommandDefinition[],
): readonly string[] {
  const keys = definitions.flatMap((each) => settableFlags(flagsOf(each)).map(({ key }) => key))
  const known = [...new Set([...keys.map(variableOf), ...ALWAYS])]
  // The prefix is the same for all, and would make everything near.
  const names = known.map((name) => name.slice(PREFIX.length))
  return strange.flatMap((name) => {
    if (known.includes(name)) return []
    const near = nearestName(name.slice(PREFIX.length), names)
    const hint = near === undefined ? '' : `; is it ${PREFIX}${near}?`
    return [`${name}: no command has such an option${hint}`]
  })
}

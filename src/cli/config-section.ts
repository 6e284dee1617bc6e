// Which commands have settings: those that have a section in configuration files.

import type { CommandDefinition } from './command-definition.js'

/** The key of the first word of a command: where the scheduler is. */
export const ADDRESS_KEY = 'address'

const WITHOUT: ReadonlySet<string> = new Set(['config', 'completion'])

/** Whether a command has a section in configuration files. */
export function hasSection(definition: CommandDefinition): boolean {
  return !WITHOUT.has(definition.name)
}

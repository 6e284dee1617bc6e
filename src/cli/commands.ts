// All commands, by name. A definition is loaded only when its command is called or described; it
// must not import the engine statically, or every `--help` would take a second.

import type { CommandDefinition } from './command.js'

/** The commands in the order of the help, each with a function that loads its definition. */
export const COMMANDS: ReadonlyMap<string, () => Promise<CommandDefinition>> = new Map([
  ['scheduler', async () => (await import('./command/scheduler.js')).SCHEDULER],
  ['cluster', async () => (await import('./command/cluster.js')).CLUSTER],
  [
    'symphony-cluster',
    async () => (await import('./command/symphony-cluster.js')).SYMPHONY_CLUSTER,
  ],
  [
    'object-storage-server',
    async () => (await import('./command/object-storage-server.js')).OBJECT_STORAGE_SERVER,
  ],
  ['allocate', async () => (await import('./command/allocate.js')).ALLOCATE],
  ['run', async () => (await import('./command/run.js')).RUN],
  ['submit', async () => (await import('./command/submit/submit.js')).SUBMIT],
  ['status', async () => (await import('./command/status.js')).STATUS],
  ['top', async () => (await import('./command/top.js')).TOP],
  ['ui', async () => (await import('./command/ui.js')).UI],
  ['workers', async () => (await import('./command/list.js')).WORKERS],
  ['tasks', async () => (await import('./command/list.js')).TASKS],
  ['clients', async () => (await import('./command/list.js')).CLIENTS],
  ['objects', async () => (await import('./command/list.js')).OBJECTS],
  ['failures', async () => (await import('./command/list.js')).FAILURES],
  ['explain', async () => (await import('./command/operate.js')).EXPLAIN],
  ['cancel', async () => (await import('./command/operate.js')).CANCEL],
  ['stack', async () => (await import('./command/operate.js')).STACK],
  ['logs', async () => (await import('./command/operate.js')).LOGS],
  ['drain', async () => (await import('./command/operate.js')).DRAIN],
  ['doctor', async () => (await import('./command/doctor.js')).DOCTOR],
  ['config', async () => (await import('./command/config.js')).CONFIG],
  ['completion', async () => (await import('./completion/completion.js')).COMPLETION],
])

/** Aliases of commands. */
export const ALIASES: ReadonlyMap<string, string> = new Map([['worker', 'cluster']])

/** The executables beside `scaler`, and their commands: `scaler_top` is `scaler top`. */
export const EXECUTABLES: ReadonlyMap<string, string> = new Map(
  [...COMMANDS.keys(), ...ALIASES.keys()].map((name) => {
    return [`scaler_${name.replaceAll('-', '_')}`, ALIASES.get(name) ?? name]
  }),
)

/** All commands, loaded. */
export function loadAllCommands(): Promise<readonly CommandDefinition[]> {
  return Promise.all([...COMMANDS.values()].map((load) => load()))
}

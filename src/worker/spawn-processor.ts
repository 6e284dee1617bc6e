// Starts the process of a processor with the pipes of link.ts. An error of the system is a value
// here: a worker goes on and tries again.

import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const MAIN: string = fileURLToPath(new URL('../../dist/worker/processor-main.js', import.meta.url))

/**
 * Command line options of Node that every processor gets, before those that it is given. None so
 * far: references to modules are resolved without. `spawn` passes on no options of this process but
 * those in NODE_OPTIONS; where it runs under `--permission`, Node itself puts that there.
 */
const PROCESSOR_FLAGS: readonly string[] = []

/** How processors are started and ended. */
export interface ProcessorOptions {
  /** Command line options of Node. */
  readonly execArgv: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Undefined: the agent's working directory. */
  readonly cwd: string | undefined
  /** From SIGTERM to SIGKILL. */
  readonly killDelayMs: number
  /** How often it is asked whether it lives. Undefined: as often as is good. */
  readonly pulseIntervalMs?: number
}

/** The process, which may already be about to fail; or why it could not be started. */
export function spawnProcessor(options: ProcessorOptions): ChildProcess | Error {
  const child = trySpawn(options)
  if (child instanceof Error) return child
  // With no process there is an 'error' event, which must not go unheard; without pipes (no file
  // descriptors are left) there is not even a `stdio`.
  const failure = new Error('the system refuses to start processes')
  child.on('error', (error) => (failure.message = error.message))
  const hasPipes = (child as { stdio?: unknown[] }).stdio?.every((stream) => stream !== undefined)
  if (child.pid !== undefined && hasPipes === true) return child
  // Pipes to nobody.
  for (const stream of child.stdio ?? []) stream?.destroy()
  return failure
}

function trySpawn({ execArgv, env, cwd }: ProcessorOptions): ChildProcess | Error {
  try {
    return spawn(process.execPath, [...PROCESSOR_FLAGS, ...execArgv, MAIN], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      // A group of its own: a terminal's Ctrl-C is not for it, and all of it can be killed
      // together.
      detached: true,
      windowsHide: true,
      env,
      ...(cwd === undefined ? {} : { cwd }),
    })
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

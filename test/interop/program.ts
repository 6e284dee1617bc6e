// Programs of another implementation, or our own commands: started in a process group of their own,
// with a folder of their own for logs and files, and ended with all their child processes.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { until } from '../integration/condition.js'

/** The root of the repository, seen from build/test/interop/. */
export const ROOT: string = fileURLToPath(new URL('../../../', import.meta.url))

/** A program that runs in the background. */
export interface Program {
  /** The stdout and stderr of it and all its child processes. */
  log(): string
  /** Whether the program itself still runs. */
  isRunning(): boolean
  /** Resolves to the match of `pattern` in the log; rejects if there is none in time. */
  logged(pattern: RegExp, deadlineMs?: number): Promise<RegExpExecArray>
  /** Sends a signal to the program itself. */
  signal(signal: NodeJS.Signals): void
  /** The exit code once it has ended; rejects if it does not end in time. */
  exitCode(deadlineMs?: number): Promise<number | undefined>
}

const DEADLINE_MS = 60_000

/**
 * Starts a program. It and all its child processes are ended with the test, whatever its outcome.
 */
export function startProgram(
  t: TestContext,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Program {
  const folder = mkdtempSync(join(tmpdir(), 'p-'))
  const path = join(folder, 'log')
  // A file, not a pipe: the Python commands open /dev/stdout by name, which is impossible for a
  // socket.
  const file = openSync(path, 'a')
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', file, file],
    env: {
      ...process.env,
      TMPDIR: folder,
      PYTHONUNBUFFERED: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      ...env,
    },
  })
  closeSync(file)
  const exited = once(child, 'exit')
  t.after(async () => {
    killGroup(child.pid)
    await exited
    rmSync(folder, { recursive: true, force: true })
  })
  const log = (): string => readFileSync(path, 'utf8')
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null
  const wait = async (what: string, isTrue: () => boolean, deadlineMs: number): Promise<void> => {
    try {
      await until(what, isTrue, deadlineMs)
    } catch (error) {
      throw new Error(`${String(error)}\n${command} ${args.join(' ')} logged:\n${log()}`, {
        cause: error,
      })
    }
  }
  return {
    log,
    isRunning,
    async logged(pattern, deadlineMs = DEADLINE_MS) {
      await wait(String(pattern), () => pattern.test(log()) || !isRunning(), deadlineMs)
      const found = pattern.exec(log())
      if (found === null) throw new Error(`${command} ended without ${String(pattern)}:\n${log()}`)
      return found
    },
    signal(signal) {
      child.kill(signal)
    },
    async exitCode(deadlineMs = DEADLINE_MS) {
      await wait('its end', () => !isRunning(), deadlineMs)
      return child.exitCode ?? undefined
    },
  }
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The whole group has ended.
  }
}

/** Starts one of our commands, for example `scaler-scheduler`. */
export function startCommand(
  t: TestContext,
  name: string,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
): Program {
  return startProgram(t, process.execPath, [join(ROOT, 'dist/cli', `${name}.js`), ...args], env)
}

// Runs the commands of the package as a shell would, for their output and exit codes. A command that
// is still running at the end of its test is killed.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

/** The root of the repository. */
export const ROOT: string = fileURLToPath(new URL('../../../', import.meta.url))

/** The exit code and the output of a command. */
export interface CommandEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A running command. */
export interface RunningCommand {
  readonly child: ChildProcess
  readonly pid: number
  readonly ended: Promise<CommandEnd>
  /** Its output on stdout so far. */
  stdout(): string
  /** The first log line, past or future, that matches; rejects if there is none. */
  line(isWanted: (line: LogLine) => boolean): Promise<LogLine>
}

/** A log line of a command without a terminal. */
export type LogLine = Readonly<Record<string, unknown>>

/** Starts an executable by the name of its file: `scaler`, `scaler-scheduler`, … */
export function startCommand(
  t: TestContext,
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): RunningCommand {
  return startProgram(t, [`${ROOT}dist/cli/${name}.js`, ...args], env)
}

/** Starts Node with these arguments. */
export function startProgram(
  t: TestContext,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): RunningCommand {
  const child = spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const output = { stdout: '', stderr: '' }
  const lines: LogLine[] = []
  const listeners = new Set<(line: LogLine) => void>()
  child.stdout.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()))
  createInterface({ input: child.stdout }).on('line', (text) => {
    if (!text.startsWith('{"')) return
    const line = JSON.parse(text) as LogLine
    lines.push(line)
    for (const listener of listeners) listener(line)
  })
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as NodeJS.Signals | null,
    ...output,
  }))
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  return {
    child,
    pid: child.pid ?? 0,
    ended,
    stdout: () => output.stdout,
    line: (isWanted) =>
      new Promise((resolve, reject) => {
        const found = lines.find(isWanted)
        if (found !== undefined) resolve(found)
        listeners.add((line) => {
          if (isWanted(line)) resolve(line)
        })
        void ended.then((end) => reject(new Error(`ended without it: ${JSON.stringify(end)}`)))
      }),
  }
}

/** Runs a command until it exits. */
export function runCommand(
  t: TestContext,
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandEnd> {
  const command = startCommand(t, name, args, env)
  return command.ended
}

/** A scheduler on a free port of this machine, and its address. */
export async function startScheduler(
  t: TestContext,
  args: readonly string[] = [],
): Promise<{ readonly scheduler: RunningCommand; readonly address: string }> {
  const scheduler = startCommand(t, 'scaler-scheduler', ['tcp://127.0.0.1:0', ...args])
  const { address } = await scheduler.line((line) => 'address' in line)
  return { scheduler, address: String(address) }
}

/** The child processes of a process; empty on systems other than Linux. */
export function childrenOf(pid: number): number[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => parentOf(name) === pid)
    .map(Number)
}

function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

/** Whether a process exists. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Resolves once `condition` holds; rejects after `timeoutMs`. */
export async function until(condition: () => boolean, timeoutMs = 20_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the condition did not come to hold')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

// Runs commands of the system for providers: with a deadline, and with what they have written to
// stderr as the error if they fail.

import { type ChildProcess, spawn } from 'node:child_process'
import { ScalerError } from '../base/errors.js'

/** A command that has not ended by then is killed. */
const TIMEOUT_MS = 60_000

/** What a command leaves in the background may keep its output open for this long. */
const OPEN_MS = 2_000

/** More output than this is not kept. */
const MAX_OUTPUT = 16_777_216

/** How a command is run. */
interface RunOptions {
  /** What it reads from stdin. Default: nothing. */
  readonly input?: string
  /** 60,000: when it is killed. */
  readonly timeoutMs?: number
  /** Kills it at once, with its group. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Runs a command and resolves with its stdout. Rejects with a `ScalerError` (`ERR_SCALER_PROVIDER`)
 * if it cannot be started, fails, or takes longer than `timeoutMs`: then it is killed, with all
 * processes of its group.
 */
export async function runCommand(
  [file = '', ...args]: readonly string[],
  { input = '', timeoutMs = TIMEOUT_MS, signal }: RunOptions = {},
): Promise<string> {
  // In a process group of its own, so that what a shell has started can be killed with it.
  const child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (stdout.length < MAX_OUTPUT) stdout += text
  })
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (stderr = (stderr + text).slice(-2_000)))
  // It may exit without reading anything.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const end = await endOf(child, file, { timeoutMs, signal })
  if (end === '') return stdout
  const last = stderr.trim()
  throw new ScalerError('ERR_SCALER_PROVIDER', last === '' ? end : `${end}: ${last}`)
}

/** Resolves when it has ended, with what went wrong; '' if nothing has. */
function endOf(
  child: ChildProcess,
  file: string,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal | undefined },
): Promise<string> {
  const close = (): void => {
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
  return new Promise((resolve) => {
    const end = (why: string): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      resolve(why)
    }
    const kill = (why: string): void => {
      killGroup(child.pid)
      close()
      end(`${file} ${why}`)
    }
    const stop = (): void => kill('was stopped')
    let timer = setTimeout(() => kill(`took longer than ${timeoutMs / 1_000} s`), timeoutMs)
    signal?.addEventListener('abort', stop)
    if (signal?.aborted === true) stop()
    child.on('error', (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === 'ENOENT'
      end(isMissing ? `${file} is not installed, or not in PATH` : error.message)
    })
    child.on('exit', () => {
      clearTimeout(timer)
      timer = setTimeout(close, OPEN_MS)
    })
    child.on('close', (code, killed) => {
      end(code === 0 ? '' : `${file} ended with ${killed ?? `exit code ${code}`}`)
    })
  })
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // It has just ended.
  }
}

/** A text with each `{name}` of `values` replaced. */
export function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

// Runs commands of the system for providers: with a deadline, and with what they have written to
// stderr as the error if they fail.

import { spawn } from 'node:child_process'
import { ScalerError } from '../base/errors.js'

/** A command that has not ended by then is killed. */
const TIMEOUT_MS = 60_000

/** More output than this is not kept. */
const MAX_OUTPUT = 16_777_216

/** How a command is run. */
export interface RunOptions {
  /** What it reads from stdin. Default: nothing. */
  readonly input?: string
  /** Aborting it kills the command. */
  readonly signal?: AbortSignal
}

/**
 * Runs a command and resolves with its stdout. Rejects with a `ScalerError` (`ERR_SCALER_PROVIDER`)
 * if it cannot be started, fails, or takes longer than a minute.
 */
export async function runCommand(
  [file = '', ...args]: readonly string[],
  { input = '', signal }: RunOptions = {},
): Promise<string> {
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal ? [signal] : [])]),
    killSignal: 'SIGKILL',
  })
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
  const end = await new Promise<string>((resolve) => {
    child.on('error', (error) => resolve(error.message))
    child.on('close', (code, killed) => {
      resolve(code === 0 ? '' : `${file} ended with ${killed ?? `exit code ${code}`}`)
    })
  })
  if (end === '') return stdout
  const last = stderr.trim()
  throw new ScalerError('ERR_SCALER_PROVIDER', last === '' ? end : `${end}: ${last}`)
}

/** A word of a shell command, quoted where necessary. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** A text with each `{name}` of `values` replaced. */
export function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)
}

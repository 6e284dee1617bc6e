// Runs the programs that the scripts use, each in a process group of its own, so that a signal to a
// script, such as Ctrl-C, ends everything that it has started, at any depth.

import { spawn } from 'node:child_process'
import { constants } from 'node:os'
import { ROOT } from './paths.mjs'

/** How long a group may take to exit on its own after a signal. */
const GRACE_MS = 5_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']
// Each of the programs that run side by side has a listener.
process.setMaxListeners(64)

/**
 * Runs a program until it exits and returns `{ code, output }`. With `capture`, its output is
 * returned instead of shown. A signal to this process is forwarded to the program's group, and this
 * process exits with 128 plus the signal's number once the group has exited.
 */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, {
    cwd: ROOT,
    detached: true,
    env: { ...process.env, ...options.env },
    stdio: options.capture ? ['ignore', 'pipe', 'pipe'] : ['ignore', 'inherit', 'inherit'],
  })
  let output = ''
  const keep = (chunk) => (output += chunk)
  child.stdout?.setEncoding('utf8').on('data', keep)
  child.stderr?.setEncoding('utf8').on('data', keep)

  let signalled
  const onSignal = (signal) => {
    signalled ??= signal
    signalGroup(child.pid, signal)
    setTimeout(() => signalGroup(child.pid, 'SIGKILL'), GRACE_MS).unref()
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  try {
    const code = await new Promise((resolve, reject) => {
      child.on('error', reject)
      child.on('close', (exitCode, signal) => resolve(exitCode ?? 128 + signalNumber(signal)))
    })
    if (signalled !== undefined) {
      signalGroup(child.pid, 'SIGKILL')
      process.exit(128 + signalNumber(signalled))
    }
    return { code, output }
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal)
  }
}

/** Runs Node itself on a script of the repository or of a package. */
export function runNode(args, options) {
  return run(process.execPath, args, options)
}

/** Like `run`, but any exit code other than 0 ends this process with that code. */
export async function runOrExit(command, args, options) {
  const { code, output } = await run(command, args, options)
  if (code === 0) return output
  process.stderr.write(output)
  process.exit(code)
}

function signalGroup(pid, signal) {
  try {
    process.kill(-pid, signal)
  } catch {
    // The whole group has exited.
  }
}

function signalNumber(signal) {
  return constants.signals[signal] ?? 1
}

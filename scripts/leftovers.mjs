// Finds what a test run has left behind. Every process of a run inherits a mark in its environment
// and a temporary folder of its own, so other processes and files are never mistaken for ours.

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './paths.mjs'

const MARK = 'TEST_RUN'
/** How long processes may take to exit after the last test. */
const GRACE_MS = 10_000
const POLL_MS = 50
const SHARED_MEMORY = '/dev/shm'

/** The mark and the folder of a new run: `{ env, folder }`. */
export function beginRun() {
  // Short, because the path of a Unix socket is limited to about 100 bytes.
  const folder = mkdtempSync(join(tmpdir(), 'sc-'))
  // Some tests run commands as an unprivileged user.
  chmodSync(folder, 0o755)
  // What V8 compiles of the package is kept from run to run, but not in the user's own cache.
  const cache = { XDG_CACHE_HOME: join(ROOT, 'node_modules/.cache') }
  return { folder, env: { [MARK]: folder, TMPDIR: folder, TEMP: folder, TMP: folder, ...cache } }
}

/** Kills and removes what the run has left, and returns one line for each item. */
export async function endRun({ folder }) {
  const deadline = performance.now() + GRACE_MS
  let processes = markedProcesses(folder)
  while (processes.length > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    processes = markedProcesses(folder)
  }
  const files = readdirSync(folder).map((name) => `a file was left: ${join(folder, name)}`)
  cleanUp({ folder })
  return [...processes.map(({ pid, command }) => `process ${pid} was left: ${command}`), ...files]
}

/** Kills and removes everything of a run immediately. */
export function cleanUp({ folder }) {
  for (const { pid } of markedProcesses(folder)) kill(pid)
  rmSync(folder, { recursive: true, force: true })
  cleanSharedMemory()
}

/** Schedulers that tests have killed leave directories, which the next scheduler would remove. */
function cleanSharedMemory() {
  if (!existsSync(SHARED_MEMORY)) return
  for (const name of readdirSync(SHARED_MEMORY)) {
    const [, pid] = /^scaler-ts-([\da-f]{8})[\da-f]{24}$/.exec(name) ?? []
    if (pid === undefined || existsSync(`/proc/${Number.parseInt(pid, 16)}`)) continue
    rmSync(join(SHARED_MEMORY, name), { recursive: true, force: true })
  }
}

/** The processes with the mark in their environment, as `{ pid, command }`, without this one. */
function markedProcesses(folder) {
  const mark = `${MARK}=${folder}`
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => readOf(pid, 'environ').split('\0').includes(mark))
      .map((pid) => ({ pid: Number(pid), command: readOf(pid, 'cmdline').replaceAll('\0', ' ') }))
  }
  if (process.platform === 'win32') return []
  const lines = execFileSync('ps', ['-axEww', '-o', 'pid=,command='], { encoding: 'utf8' })
  return lines
    .split('\n')
    .filter((line) => line.includes(mark))
    .map((line) => ({ pid: Number.parseInt(line, 10), command: line.replace(/^\s*\d+\s*/, '') }))
}

function readOf(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has just exited on its own.
  }
}

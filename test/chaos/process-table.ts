// Facts about processes from /proc (Linux): those of one run, identified by a mark in their
// environment that child processes inherit; their memory; whether they are stopped.

import { readFileSync, readdirSync } from 'node:fs'

/** The variable that holds the mark. */
export const MARK = 'CHAOS_RUN'

/** Why the process table cannot be read here, or false. For `skip` of tests. */
export const NO_PROCESS_TABLE: string | false = process.platform === 'linux' ? false : 'reads /proc'

/** A process with the mark. */
export interface MarkedProcess {
  readonly pid: number
  readonly command: string
}

/** All running processes with this mark. */
export function markedProcesses(mark: string): MarkedProcess[] {
  const entry = `${MARK}=${mark}`
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => readOf(pid, 'environ').split('\0').includes(entry))
    .map((pid) => ({
      pid: Number(pid),
      command: readOf(pid, 'cmdline').replaceAll('\0', ' ').trim(),
    }))
}

/** All descendants of a process. */
export function descendantsOf(root: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const fields = statOf(Number(name))
    if (fields !== undefined) parents.set(Number(name), Number(fields[1]))
  }
  const found: number[] = []
  const queue = [root]
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    for (const [child, parent] of parents) {
      if (parent !== pid) continue
      found.push(child)
      queue.push(child)
    }
  }
  return found
}

/** Stops a process and all its descendants, as when their host sleeps, and resumes them. */
export class Sleep {
  /** Those that were stopped, which may have lost their parent since. */
  #pids: readonly number[] = []

  get isFrozen(): boolean {
    return this.#pids.length > 0
  }

  freeze(pid: number): void {
    this.#pids = [pid, ...descendantsOf(pid)]
    this.#signal('SIGSTOP')
  }

  thaw(): void {
    this.#signal('SIGCONT')
    this.#pids = []
  }

  #signal(signal: NodeJS.Signals): void {
    for (const pid of this.#pids) trySignal(pid, signal)
  }
}

/** Sends a signal, unless the process has just ended. */
export function trySignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has.
  }
}

/** The memory of a process, in bytes; 0 if there is no such process. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readOf(String(pid), 'status'))?.[1]
  return Number(kilobytes ?? 0) * 1024
}

/** The state of a process: 'R', 'S', 'T' (stopped), 'Z' (zombie); undefined if there is none. */
export function stateOf(pid: number): string | undefined {
  return statOf(pid)?.[0]
}

/** The fields of /proc/<pid>/stat from the state on. */
function statOf(pid: number): readonly string[] | undefined {
  const stat = readOf(String(pid), 'stat')
  return stat === '' ? undefined : stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function readOf(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}

// The resources of a process, as measured by the system. Linux only: other systems have no /proc.

import { readdirSync, readFileSync } from 'node:fs'

/**
 * Linux counts CPU time in hundredths of a second for programs, regardless of the kernel's tick.
 */
const TICKS_PER_SECOND = 100

/** Whether these figures are available on this system. */
export const hasProcessCost: boolean = process.platform === 'linux'

/** The CPU time of a process so far, in milliseconds. */
export function cpuTimeMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name, in parentheses, may hold anything; utime and stime are the 12th and 13th after it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_SECOND
}

/** The resident memory of a process, in bytes. */
export function residentBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1_024
}

/** The same with a share of what processes have in common, such as the code of Node. */
export function proportionalBytes(pid: number): number {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1_024
}

/** The process that started this one; undefined if it has exited. */
export function parentOf(pid: number): number | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/^PPid:\s+(\d+)/m.exec(text)?.[1])
  } catch {
    return undefined
  }
}

/** The processes that a process has started and that have not exited. */
export function childrenOf(pid: number): readonly number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((child) => parentOf(child) === pid)
}

/** Since Node 23.9. */
interface ThreadClock {
  threadCpuUsage?(): { readonly user: number; readonly system: number }
}

/** Processor time of this thread, in milliseconds; undefined if Node does not report it. */
export function threadMs(): number | undefined {
  const usage = (process as ThreadClock).threadCpuUsage?.()
  return usage === undefined ? undefined : (usage.user + usage.system) / 1000
}

// Resource usage of processes and the machine, for heartbeats and monitors. Read from the kernel's
// files where they exist (Linux), otherwise from Node. Nothing here ever throws: a number that is
// unavailable keeps its last value, or is 0.

import { readFileSync } from 'node:fs'
import type { Resource } from '../wire/message.js'
import { freeMemory, ProcessUsage, Reading, readKernelFile } from './process-usage.js'

// The version of this package: what `--version` prints and schedulers report.

/** For example `'0.1.0'`. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

/** Samples taken within this time are shared: many workers may run in one process. */
const SHARED_FOR_MS = 100

/** Clock ticks per second in `/proc`: a constant of the kernel's interface on all its platforms. */
const TICKS_PER_SECOND = 100

const KIB = 1024
const MAX_CPU = 65_535

/** What this process uses, and what the machine has left. */
interface ProcessSample {
  /** CPU percent times 10 since the previous sample (0 at first), and resident bytes. */
  readonly resource: Resource
  /** Memory that the machine can still provide, in bytes. */
  readonly rssFree: number
}

/** Watches this process. */
export class ProcessSampler {
  readonly #cpu = new CpuMeter()
  readonly #usage = new ProcessUsage()
  readonly #available = new Reading(availableMemory)
  #last: ProcessSample | undefined
  #sampledAt = 0

  /** Usage since the last call; calls in quick succession get the same answer. */
  sample(): ProcessSample {
    const now = performance.now()
    if (this.#last !== undefined && now - this.#sampledAt < SHARED_FOR_MS) return this.#last
    const { cpuMs, rssBytes: rss } = this.#usage
    this.#sampledAt = now
    this.#last = {
      resource: { cpu: this.#cpu.measure(cpuMs, now), rss },
      rssFree: this.#available.value,
    }
    return this.#last
  }
}

/** Watches another process on this machine. Where the kernel has no `/proc`, it reads as idle. */
export class ChildSampler {
  readonly #cpu = new CpuMeter()
  readonly #cpuMs: Reading
  readonly #rss: Reading

  constructor(pid: number) {
    this.#cpuMs = new Reading(() => parseCpuTime(readKernelFile(`/proc/${pid}/stat`)))
    this.#rss = new Reading(() => parseKib(readKernelFile(`/proc/${pid}/status`), 'VmRSS') ?? 0)
  }

  /**
   * CPU percent times 10 since the last call (0 at first), and resident bytes; 0 once it has
   * exited.
   */
  sample(): Resource {
    const cpu = this.#cpu.measure(this.#cpuMs.value, performance.now())
    return { cpu, rss: this.#rss.value }
  }
}

/** Memory that the machine can give to programs without swapping, in bytes. May throw. */
export function availableMemory(): number {
  return parseKib(readKernelFile('/proc/meminfo'), 'MemAvailable') ?? freeMemory()
}

/** User and system time of a process in milliseconds, from the text of its `/proc/<pid>/stat`. */
export function parseCpuTime(stat: string): number | undefined {
  // The second field, the name of the program, may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return Number.isFinite(ticks) ? (ticks * 1000) / TICKS_PER_SECOND : undefined
}

/** The bytes of a line `name:  123 kB`. */
export function parseKib(text: string, name: string): number | undefined {
  const match = new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(text)
  return match === null ? undefined : Number(match[1]) * KIB
}

/** Turns a growing amount of CPU time into the percentage between two calls. */
class CpuMeter {
  #cpuMs: number | undefined
  #at = 0

  /** Percent times 10 since the last call, within the range of the wire's field. */
  measure(cpuMs: number, now: number): number {
    const usedMs = cpuMs - (this.#cpuMs ?? cpuMs)
    const passedMs = now - this.#at
    this.#cpuMs = cpuMs
    this.#at = now
    const tenths = passedMs > 0 ? Math.trunc((usedMs / passedMs) * 1000) : 0
    return Math.min(Math.max(tenths, 0), MAX_CPU)
  }
}

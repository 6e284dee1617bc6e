// What the system says of this process and of the machine. Each such call can fail: reading memory
// opens a file, and a process may have no file descriptor left. Statistics are worth no failure, so
// all of these calls are here (`npm run check` sees to it), behind readings that do not throw.

import { readFileSync } from 'node:fs'
import { freemem } from 'node:os'

const KIB = 1024

/** A number of the system's: the last one that could be had, 0 before there was any. */
export class Reading {
  readonly #read: () => number | undefined
  #last = 0

  /** `read` may throw, or return undefined, where there is no number now. */
  constructor(read: () => number | undefined) {
    this.#read = read
  }

  /** The number of now, or the last one. Never throws. */
  get value(): number {
    try {
      this.#last = this.#read() ?? this.#last
    } catch {
      // The last one is the best there is.
    }
    return this.#last
  }
}

/** What this process uses. */
export class ProcessUsage {
  readonly #rss = new Reading(() => process.memoryUsage.rss())
  readonly #peakRss = new Reading(() => process.resourceUsage().maxRSS * KIB)
  readonly #used = new Reading(usedMemory)
  readonly #cpuMs = new Reading(cpuTimeMs)

  /** Resident memory, in bytes. */
  get rssBytes(): number {
    return this.#rss.value
  }

  /** The most resident memory that it ever had, in bytes. */
  get peakRssBytes(): number {
    return this.#peakRss.value
  }

  /** What objects and buffers take of it, in bytes. */
  get usedBytes(): number {
    return this.#used.value
  }

  /** CPU time since its start, in milliseconds. */
  get cpuMs(): number {
    return this.#cpuMs.value
  }
}

/** The text of a file of the kernel's; '' if there is none. May throw if it cannot be read now. */
export function readKernelFile(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw error
  }
}

/** Memory that nothing uses, in bytes. May throw, as all of the system's. */
export function freeMemory(): number {
  return freemem()
}

function usedMemory(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function cpuTimeMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

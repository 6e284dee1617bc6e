// What the system reports about this process and the machine. Each such call can fail: reading
// memory opens a file, and a process may have no file descriptor left. Statistics are not worth a
// failure, so all of these calls are here (`npm run check` enforces it), behind readings that do
// not throw. At the end of the file: how processes of ours take little memory, and give it back.

import { readFileSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { freemem, hostname, networkInterfaces } from 'node:os'

const KIB = 1024

let ownHosts: ReadonlySet<string> | undefined

/** Whether a host name or IP address is known to be one of this machine. */
export function isOwnHost(host: string): boolean {
  ownHosts ??= findOwnHosts()
  return ownHosts.has(host.toLowerCase())
}

function findOwnHosts(): ReadonlySet<string> {
  const hosts = new Set(['localhost', '127.0.0.1', '::1', hostname().toLowerCase()])
  try {
    for (const addresses of Object.values(networkInterfaces())) {
      for (const { address } of addresses ?? []) hosts.add(address)
    }
  } catch {
    // Those above are known.
  }
  return hosts
}

/** A number from the system: the last known value, 0 before there was any. */
export class Reading {
  readonly #read: () => number | undefined
  #last = 0

  /** `read` may throw, or return undefined, when the number is unavailable. */
  constructor(read: () => number | undefined) {
    this.#read = read
  }

  /** The current number, or the last known one. Never throws. */
  get value(): number {
    try {
      this.#last = this.#read() ?? this.#last
    } catch {
      // Keep the last known value.
    }
    return this.#last
  }
}

/** What this process uses. */
export class ProcessUsage {
  readonly #rss = new Reading(() => process.memoryUsage.rss())
  readonly #peakRss = new Reading(() => process.resourceUsage().maxRSS * KIB)
  readonly #used = new Reading(usedMemory)
  readonly #heap = new Reading(() => process.memoryUsage().heapUsed)
  readonly #cpuMs = new Reading(cpuTimeMs)

  /** Resident memory, in bytes. */
  get rssBytes(): number {
    return this.#rss.value
  }

  /** The peak resident memory, in bytes. */
  get peakRssBytes(): number {
    return this.#peakRss.value
  }

  /** The part of it used by objects and buffers, in bytes. */
  get usedBytes(): number {
    return this.#used.value
  }

  /** The part of it used by objects, in bytes. */
  get heapBytes(): number {
    return this.#heap.value
  }

  /** CPU time since the process started, in milliseconds. */
  get cpuMs(): number {
    return this.#cpuMs.value
  }
}

const LINUX_DESCRIPTORS = '/proc/self/fd'

/** The file descriptors of this process; known only on Linux. */
export class DescriptorUsage {
  #open: number | undefined
  #max: number | undefined

  /** How many are open, and may be; the last known numbers, undefined if unknown. Never rejects. */
  async read(): Promise<{ readonly open: number | undefined; readonly max: number | undefined }> {
    this.#open = await openCount().catch(() => this.#open)
    const limits = await readFile('/proc/self/limits', 'latin1').catch(() => '')
    const [, max] = /^Max open files\s+(\d+)/m.exec(limits) ?? []
    if (max !== undefined) this.#max = Number(max)
    return { open: this.#open, max: this.#max }
  }
}

/** Newer kernels give the number as the size of the folder, which needs no descriptor. */
async function openCount(): Promise<number | undefined> {
  const { size } = await stat(LINUX_DESCRIPTORS)
  // The folder itself is one of its entries.
  return size > 0 ? size : (await readdir(LINUX_DESCRIPTORS)).length - 1
}

/** The text of a kernel file; '' if it does not exist. May throw if it cannot be read now. */
export function readKernelFile(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw error
  }
}

/** Unused memory, in bytes. May throw, like every system call here. */
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

// Processes of ours give back what a load has made them take. V8 would do so with one of its next
// collections, but a process that rests makes almost no garbage. Not for programs of the user's,
// nor for processors, whose heap is that of tasks.

/** How often a process looks whether it rests, in milliseconds. */
const LOOK_MS = 1_000
/** It rests while it uses less CPU time from look to look, in milliseconds. */
const BUSY_MS = 50
/** The looks in a row at which it must rest. */
const REST_LOOKS = 5
/** The CPU time that makes a load, in milliseconds. */
const LOAD_MS = 100
/** Memory is given back if there is more than this much times that at the last rest. */
const MIN_GROWTH = 1.15
/** A collection takes up to about a millisecond for each MiB of objects that are still in use. */
const MAX_HEAP_BYTES = 256 * 1024 ** 2

/** Finds out when a process rests after a load. */
export class RestWatch {
  readonly #usage: Pick<ProcessUsage, 'cpuMs' | 'rssBytes' | 'heapBytes'>
  #cpuMs: number
  #loadMs = 0
  #calmLooks = 0
  #restBytes: number | undefined

  constructor(usage: Pick<ProcessUsage, 'cpuMs' | 'rssBytes' | 'heapBytes'>) {
    this.#usage = usage
    this.#cpuMs = usage.cpuMs
  }

  /** To be called at an interval. Returns whether memory is to be given back now. */
  look(): boolean {
    const { cpuMs } = this.#usage
    const usedMs = cpuMs - this.#cpuMs
    this.#cpuMs = cpuMs
    if (usedMs > BUSY_MS) this.#loadMs += usedMs
    this.#calmLooks = usedMs > BUSY_MS ? 0 : this.#calmLooks + 1
    if (this.#calmLooks < REST_LOOKS) return false
    if (this.#loadMs < LOAD_MS) {
      if (this.#calmLooks === REST_LOOKS) this.#restBytes = this.#usage.rssBytes
      return false
    }
    this.#loadMs = 0
    // At the end of the next rest, what is left is measured.
    this.#calmLooks = 0
    if (this.#usage.heapBytes > MAX_HEAP_BYTES) return false
    return this.#usage.rssBytes > (this.#restBytes ?? 0) * MIN_GROWTH
  }
}

/** From now on, this process takes less memory under load, and gives some back when it rests. */
export function saveMemory(): void {
  keepYoungGenerationSmall()
  const watch = new RestWatch(new ProcessUsage())
  setInterval(() => {
    if (watch.look()) returnMemory()
  }, LOOK_MS).unref()
}

/** Collects garbage as V8 does when memory is short: it also gives back pages, and takes longer. */
export function returnMemory(): void {
  try {
    const { Session } = process.getBuiltinModule('node:inspector')
    const session = new Session()
    session.connect()
    // A session that is ended while it answers blocks the process for ever.
    const end = (): void => void setImmediate(() => session.disconnect())
    session.post('HeapProfiler.collectGarbage', end)
  } catch {
    // There is no inspector, or no permission to use it.
  }
}

/**
 * By then the process has saved what V8 has compiled (`load.ts`): V8 does not use it in a process
 * with other options. In milliseconds.
 */
const SAVED_MS = 3_000
/** The size of the young generation, in bytes, once it has grown from one MiB in each half. */
const GROWN_BYTES = 4 * 2 ** 20

/**
 * Stops the growth of V8's young generation after some seconds, or once it has begun, unless the
 * user has chosen a size. It would grow to 16 MiB or more. Collections would be rarer; but what
 * these processes discard is mostly memory of messages, outside of the heap: more of it would wait
 * for each collection, and glibc keeps what it has taken. And with thousands of workers a
 * collection would take several times as long, during which no message is read. V8's own option,
 * `--max-semi-space-size`, is read before this code runs; for a child process, it would cost the
 * code cache of Node itself, and 15 ms.
 */
function keepYoungGenerationSmall(): void {
  const given = [...process.execArgv, process.env['NODE_OPTIONS']].join(' ')
  if (/semi[-_]space/.test(given)) return
  const v8 = process.getBuiltinModule('node:v8')
  const stop = (): void => {
    v8.setFlagsFromString('--semi-space-growth-factor=1')
    observer.disconnect()
    clearTimeout(timer)
  }
  const timer = setTimeout(stop, SAVED_MS).unref()
  const observer = new PerformanceObserver(() => {
    const space = v8.getHeapSpaceStatistics().find((each) => each.space_name === 'new_space')
    if ((space?.space_size ?? 0) >= GROWN_BYTES) stop()
  })
  observer.observe({ entryTypes: ['gc'] })
}

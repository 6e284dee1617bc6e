// Directories of a scheduler for files that are not needed after it. They are removed when it ends;
// those of a scheduler that was killed, by the next one of the same user.
// docs/protocol.md#files

import { createHash, randomBytes } from 'node:crypto'
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  unlink,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

/** The PID of the scheduler, and eight digits for where that PID is valid: see `pidSpace`. */
const DIRECTORY_NAME = /^scaler-ts-([\da-f]{8})([\da-f]{8})[\da-f]{16}$/

/** How often a directory is shown to be in use. */
const SWEEP_INTERVAL_MS = 20_000

/** A directory is removed when it has not been shown to be in use for this long. */
export const ABANDONED_MS = 60_000

/** The file that proves that a process sees the same directory as the scheduler. */
export const KEY_FILE = 'key'

/** The length of its content, in bytes. */
export const KEY_BYTES = 32

/** While the directory has such a file, peers create no others there: content goes in messages. */
export const FULL_FILE = 'full'

/** Only its owner may read or write. */
const OWN_DIRECTORY = 0o700

/** A directory that only this user can read. */
export class OwnDirectory {
  readonly path: string
  /** The content of the file `key` in it. */
  readonly key: Uint8Array = randomBytes(KEY_BYTES)
  readonly #timer: NodeJS.Timeout
  #hasFailed = false

  /**
   * Makes a directory in `base`, and removes abandoned ones there. Throws the system's error if
   * that is missing, read-only, full, or forbidden. At intervals, the directory is shown to be in
   * use, and `sweep` removes what is not needed in it; `onError` is called once if that fails.
   */
  constructor(base: string, onError: (error: unknown) => void = () => {}, sweep?: () => void) {
    this.path = join(base, newDirectoryName())
    try {
      removeAbandoned(base)
      mkdirSync(this.path, { mode: OWN_DIRECTORY })
      writeFileSync(join(this.path, KEY_FILE), this.key, { mode: 0o600, flag: 'wx' })
    } catch (error) {
      removeDirectory(this.path)
      throw error
    }
    watchExit(this.path)
    this.#timer = setInterval(() => {
      try {
        this.#keep()
        sweep?.()
        removeAbandoned(dirname(this.path))
      } catch (error) {
        // Once: if the directory is gone, that is so in every round.
        if (!this.#hasFailed) onError(error)
        this.#hasFailed = true
      }
    }, SWEEP_INTERVAL_MS).unref()
  }

  /** The path of a new file, which cannot be guessed. */
  newPath(): string {
    return join(this.path, randomBytes(16).toString('hex'))
  }

  /** Whether the file would be in this directory. */
  has(path: string): boolean {
    return dirname(path) === this.path
  }

  /** Removes the directory with everything in it. */
  close(): void {
    clearInterval(this.#timer)
    unwatchExit(this.path)
    removeDirectory(this.path)
  }

  /** Shows that it is in use. */
  #keep(): void {
    const now = Date.now() / 1000
    utimesSync(join(this.path, KEY_FILE), now, now)
  }
}

/** The directories of this process, which are removed if it exits without closing them. */
const leftAtExit = new Set<string>()

function watchExit(directory: string): void {
  if (leftAtExit.size === 0) process.on('exit', removeAtExit)
  leftAtExit.add(directory)
}

function unwatchExit(directory: string): void {
  leftAtExit.delete(directory)
  if (leftAtExit.size === 0) process.off('exit', removeAtExit)
}

function removeAtExit(): void {
  for (const directory of leftAtExit) removeDirectory(directory)
}

/** Removes a file, some time. If that fails, the file goes with its directory. */
export function removeLater(path: string): void {
  unlink(path, () => {})
}

/**
 * Removes a directory. It gets another name first: a peer that does not yet know of the end of
 * the scheduler cannot put a file into it.
 */
function removeDirectory(directory: string): void {
  const goal = join(dirname(directory), newDirectoryName())
  try {
    renameSync(directory, goal)
    rmSync(goal, { recursive: true, force: true })
  } catch {
    // It was removed, or cannot be: then the next scheduler tries it again.
  }
}

function newDirectoryName(): string {
  return `scaler-ts-${hex8(process.pid)}${pidSpace()}${randomBytes(8).toString('hex')}`
}

/** Removes the directories of this user's schedulers that were killed. */
export function removeAbandoned(base: string): void {
  const here = pidSpace()
  for (const name of readdirSync(base)) {
    const [, pid = '', space = ''] = DIRECTORY_NAME.exec(name) ?? []
    if (pid === '') continue
    const path = join(base, name)
    try {
      if (lstatSync(path).uid !== process.getuid?.()) continue
      const isHere = space === here
      const isUsed = isHere ? isAlive(Number.parseInt(pid, 16)) : isFresh(join(path, KEY_FILE))
      if (!isUsed) removeDirectory(path)
    } catch {
      // Another scheduler has removed it, or is about to fill it.
    }
  }
}

/** Whether a scheduler in another container has shown lately that it is alive. */
function isFresh(key: string): boolean {
  return Date.now() - lstatSync(key).mtimeMs < ABANDONED_MS
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // One that has ended, and whose end its parent has not taken notice of.
    return !/^State:\s+Z/m.test(textOf(() => readFileSync(`/proc/${pid}/status`, 'utf8')))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Eight digits for this machine, since its last start, and this PID namespace. */
function pidSpace(): string {
  const space = `${textOf(() => readlinkSync('/proc/self/ns/pid'))} ${textOf(bootId)}`
  return createHash('sha256').update(space).digest('hex').slice(0, 8)
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')
}

/** Empty where there is no such file. */
function textOf(read: () => string): string {
  try {
    return read()
  } catch {
    return ''
  }
}

function hex8(number: number): string {
  return number.toString(16).padStart(8, '0').slice(-8)
}

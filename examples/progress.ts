// A progress bar in the last line of a terminal: share, rate and remaining time. Without a
// terminal it writes nothing, so that logs stay clean.

/** The part of `process.stderr` that is needed. */
export interface Terminal {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

const REDRAW_MS = 100
const CLEAR_LINE = '\r\u001b[2K'

/** Shows how much of a known number of bytes is done. */
export class Progress {
  readonly #terminal: Terminal
  readonly #totalBytes: number
  readonly #start = performance.now()
  #doneBytes = 0
  #drawnAt = -Infinity

  constructor(totalBytes: number, terminal: Terminal = process.stderr) {
    this.#totalBytes = totalBytes
    this.#terminal = terminal
  }

  /** Counts `bytes` more as done, and redraws at most every `REDRAW_MS`. */
  add(bytes: number): void {
    this.#doneBytes += bytes
    const now = performance.now()
    if (this.#terminal.isTTY !== true || now - this.#drawnAt < REDRAW_MS) return
    this.#drawnAt = now
    this.#terminal.write(CLEAR_LINE + this.#line(now - this.#start))
  }

  /** Clears the bar. */
  clear(): void {
    if (this.#terminal.isTTY === true) this.#terminal.write(CLEAR_LINE)
  }

  #line(elapsedMs: number): string {
    const share = this.#totalBytes === 0 ? 1 : Math.min(1, this.#doneBytes / this.#totalBytes)
    const rate = this.#doneBytes / (elapsedMs / 1_000)
    const left = rate === 0 ? 0 : (this.#totalBytes - this.#doneBytes) / rate
    const text = ` ${percent(share)}  ${formatBytes(rate)}/s  ${formatSeconds(left)} left`
    // Some terminals report zero columns.
    const columns = this.#terminal.columns || 80
    const width = Math.max(0, Math.min(40, columns - text.length - 3))
    const filled = Math.round(share * width)
    return `[${'#'.repeat(filled)}${'.'.repeat(width - filled)}]${text}`.slice(0, columns - 1)
  }
}

/** For example `12.3 MB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1_000
    unit += 1
  }
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** For example `1.2 s`, `2 min 5 s`. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)} min ${whole % 60} s`
}

/** For example `41 %`. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

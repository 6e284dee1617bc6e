// The history of a world, in lines for people. Kept only when a seed is replayed: a successful run
// does not need it, and there are thousands.

import type { InstantMs } from '#src/base/machine.js'

/** One line: time, process, text. */
export interface StoryLine {
  readonly at: InstantMs
  readonly who: string
  readonly text: string
}

/** Collects lines, or drops them. */
export class Story {
  readonly lines: StoryLine[] = []
  readonly isTold: boolean
  readonly #now: () => InstantMs

  constructor(isTold: boolean, now: () => InstantMs) {
    this.isTold = isTold
    this.#now = now
  }

  /** Adds a line. `text` is only called if it will be read. */
  tell(who: string, text: () => string): void {
    if (this.isTold) this.lines.push({ at: this.#now(), who, text: text() })
  }
}

/** The lines as they are printed, the last `count` of them. */
export function formatStory(lines: readonly StoryLine[], count: number): string {
  const shown = lines.slice(-count)
  const left = lines.length - shown.length
  const head = left > 0 ? [`  … ${left} lines before …`] : []
  return [...head, ...shown.map(formatLine)].join('\n')
}

/** The lines that mention one of some names. */
export function linesAbout(lines: readonly StoryLine[], name: string): readonly StoryLine[] {
  return lines.filter(({ text }) => text.split(/[^\w.#/-]+/).includes(name))
}

function formatLine({ at, who, text }: StoryLine): string {
  return `  ${at.toFixed(3).padStart(11)}  ${who.padEnd(12)} ${text}`
}

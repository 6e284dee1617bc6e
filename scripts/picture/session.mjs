// A shell in a terminal of its own (by `script` of util-linux), with simulated typing. Records what
// it shows, and when.

import { spawn } from 'node:child_process'
import { Terminal } from './terminal.mjs'

const KEY_MS = 45
const DEADLINE_MS = 120_000
const POLL_MS = 20

/** A session of `{ columns, rows }`; `clock` returns the time of the recording in milliseconds. */
export class Session {
  /** `{ atMs, rows }`: what the terminal showed from then on. */
  frames = []
  #terminal
  #child
  #clock
  #isOver = false

  constructor(folder, { columns, rows, clock, env }) {
    this.#terminal = new Terminal(rows, columns)
    this.#clock = clock
    const shell = `stty cols ${columns} rows ${rows}; PS1='$ ' exec bash --norc --noprofile -i`
    this.#child = spawn('script', ['--quiet', '--return', '--command', shell, '/dev/null'], {
      cwd: folder,
      env: { ...process.env, ...env, TERM: 'xterm-256color', LANG: 'C.UTF-8', PS1: '$ ', CI: '' },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#child.stdout.setEncoding('utf8').on('data', (text) => {
      if (this.#isOver) return
      this.#terminal.write(text)
      this.frames.push({ atMs: this.#clock(), rows: this.#terminal.rows() })
    })
  }

  /** The process of the terminal; the shell is its child. */
  get pid() {
    return this.#child.pid
  }

  /** What the terminal shows now. */
  text() {
    const rows = this.#terminal.rows()
    return rows.map((spans) => spans.map(({ text }) => text).join('')).join('\n')
  }

  /** Types a line as a person would. */
  async type(line) {
    for (const key of line) {
      this.#child.stdin.write(key)
      await pause(KEY_MS)
    }
    this.#child.stdin.write('\r')
  }

  /** Resolves when the terminal shows text that matches. */
  async shows(pattern) {
    const deadline = performance.now() + DEADLINE_MS
    while (!pattern.test(this.text())) {
      if (performance.now() > deadline) throw new Error(`no ${pattern} in\n${this.text()}`)
      await pause(POLL_MS)
    }
  }

  /** Exits the shell, which is not recorded. */
  async close() {
    this.#isOver = true
    const ended = new Promise((resolve) => this.#child.once('close', resolve))
    this.#child.stdin.end('exit\r')
    await ended
  }
}

/** Waits. */
export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

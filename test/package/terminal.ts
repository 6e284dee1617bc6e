// `scaler top` in a real pseudo-terminal, which `script` of util-linux makes.

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { childrenOf, ROOT, until } from './command.js'

const { stdout: version } = spawnSync('script', ['--version'], { encoding: 'utf8' })
/** Why there is no pseudo-terminal; false if there is one. */
export const skip: string | false =
  version?.includes('util-linux') === true ? false : 'no script of util-linux'

/** What enters the screen, and leaves it. */
export const ENTER = '\u001b[?1049h'
export const LEAVE = '\u001b[?1049l'
/** What shows the cursor again. */
export const SHOW_CURSOR = '\u001b[?25h'

/** A shell in a terminal that runs the command, and prints the state of the terminal at its end. */
export interface Terminal {
  /** All output so far. */
  output(): string
  /** What the screen shows, line by line. */
  screen(): readonly string[]
  press(keys: string): void
  resize(rows: number, columns: number): void
  /** The process of the command. */
  pid(): number
  /** The output after the command. */
  readonly ended: Promise<string>
}

/** Runs `scaler top` in a terminal of 80x24. */
export function openTop(t: TestContext, args: readonly string[], env: object = {}): Terminal {
  const command = [process.execPath, `${ROOT}dist/cli/scaler-top.js`, ...args].join(' ')
  const line = `tty; stty rows 24 cols 80; ${command}; echo "code=$?"; stty -a`
  const clean = { ...process.env, TERM: 'xterm-256color', CI: '', NO_COLOR: '', ...env }
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: clean,
  })
  const screen = new TopScreen()
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'close').then(() => output.slice(output.lastIndexOf(LEAVE)))
  t.after(async () => {
    for (const pid of childrenOf(child.pid ?? 0).flatMap(childrenOf)) process.kill(pid, 'SIGKILL')
    child.kill('SIGKILL')
    await ended
  })
  return {
    output: () => output,
    screen: () => screen.after(output),
    press: (keys) => child.stdin.write(keys),
    resize: (rows, columns) => {
      const [tty = ''] = /\/dev\/\S+/.exec(output) ?? []
      execFileSync('stty', ['-F', tty, 'rows', String(rows), 'cols', String(columns)])
    },
    pid: () => childrenOf(child.pid ?? 0).flatMap(childrenOf)[0] ?? assert.fail('no process'),
    ended,
  }
}

/** What ends a frame. */
const FRAME_END = '\u001b[?2026l'

/** The lines that were written since the screen was entered. */
class TopScreen {
  #lines: string[] = []
  /** How much of the output has been read. */
  #length = 0

  /** The screen after all of the output, of which the beginning is known. */
  after(output: string): readonly string[] {
    const end = output.lastIndexOf(FRAME_END) + FRAME_END.length
    if (end <= this.#length) return this.#lines
    let written = output.slice(this.#length, end)
    this.#length = end
    const entry = written.lastIndexOf(ENTER)
    if (entry >= 0) {
      this.#lines = []
      written = written.slice(entry)
    }
    const line = /\u001b\[(\d+);1H\u001b\[K(.*?)(?=\u001b\[\d+;1H|\u001b\[\?2026l)/gs
    for (const [, row, text = ''] of written.matchAll(line)) {
      this.#lines[Number(row) - 1] = stripVTControlCharacters(text).trimEnd()
    }
    return this.#lines
  }
}

/** Resolves once a line of the screen matches. */
export async function shown(
  terminal: Terminal,
  pattern: RegExp,
  timeoutMs = 20_000,
): Promise<void> {
  await until(() => terminal.screen().some((line) => pattern.test(line)), timeoutMs).catch(() => {
    assert.fail(`${pattern} is not in ${terminal.output()}`)
  })
}

/** Nothing is left of the screen: the cursor is visible, input is echoed and read by lines. */
export function assertRestored(after: string, code: number): void {
  assert.match(after, new RegExp(`code=${code}\\b`))
  assert.match(after, / echo /)
  assert.match(after, / icanon /)
}

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { ProgressScreen, type ScreenLine, type Terminal } from './screen.js'

/** A terminal that understands only what a screen writes. */
class FakeTerminal implements Terminal {
  readonly isTTY = true
  columns = 40
  rows = 10
  /** Counts changes. */
  writes = 0
  listeners = 0
  #rows: string[] = ['']
  #row = 0
  #column = 0

  /** All rows ever written, without what was cleared. */
  get text(): string {
    return this.#rows.join('\n').trimEnd()
  }

  get cursor(): string {
    return `${this.#row}:${this.#column}`
  }

  write(text: string): boolean {
    this.writes += 1
    for (const part of text.match(/\u001b\[\d*[A-Z]|[^]/g) ?? []) this.#take(part)
    return true
  }

  on(): void {
    this.listeners += 1
  }

  off(): void {
    this.listeners -= 1
  }

  #take(part: string): void {
    if (part === '\n') {
      this.#row += 1
      this.#column = 0
      this.#rows[this.#row] ??= ''
    } else if (part === '\r') {
      this.#column = 0
    } else if (part === '\u001b[J') {
      this.#rows.length = this.#row + 1
      this.#rows[this.#row] = this.#rows[this.#row]?.slice(0, this.#column) ?? ''
    } else if (part.startsWith('\u001b')) {
      this.#row -= Number(part.slice(2, -1))
      assert.ok(part.endsWith('A') && this.#row >= 0, `moved out of the terminal by ${part}`)
    } else {
      const row = this.#rows[this.#row] ?? ''
      this.#rows[this.#row] = row.slice(0, this.#column) + part + row.slice(this.#column + 1)
      this.#column += 1
    }
  }
}

class Line implements ScreenLine {
  text: string

  constructor(text: string) {
    this.text = text
  }

  render(): string {
    return this.text
  }
}

function screenOn(terminal: FakeTerminal, others: readonly Terminal[] = []): ProgressScreen {
  return new ProgressScreen({ terminal, others, isUnicode: true })
}

/** Waits until the terminal shows this; the screen's timer does not keep a process alive. */
async function shows(t: TestContext, terminal: FakeTerminal, text: string): Promise<void> {
  while (terminal.text !== text) {
    assert.equal(t.signal.aborted, false, `the terminal shows ${terminal.text}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

const LIMIT = { timeout: 20_000 }

test('lines change in place, and stay where they finish', LIMIT, async (t) => {
  const terminal = new FakeTerminal()
  terminal.write('$ program\n')
  const screen = screenOn(terminal)
  const [first, second] = [new Line('first 1'), new Line('second 1')]
  screen.add(first)
  screen.add(second)
  await shows(t, terminal, '$ program\nfirst 1\nsecond 1')
  first.text = 'first 2'
  await shows(t, terminal, '$ program\nfirst 2\nsecond 1')
  assert.equal(terminal.cursor, '3:0', 'whatever comes next begins at the left')
  second.text = 'second done'
  screen.finish(second)
  assert.equal(terminal.text, '$ program\nsecond done\nfirst 2')
  first.text = 'first done'
  screen.finish(first)
  assert.equal(terminal.text, '$ program\nsecond done\nfirst done')
  assert.equal(terminal.cursor, '3:0')
})

test('a line that finishes before it was ever drawn is drawn once', () => {
  const terminal = new FakeTerminal()
  const screen = screenOn(terminal)
  const line = new Line('quick')
  screen.add(line)
  screen.finish(line)
  screen.finish(line)
  assert.equal(terminal.text, 'quick')
  assert.equal(terminal.writes, 1)
})

test('other output appears above the lines', LIMIT, async (t) => {
  const terminal = new FakeTerminal()
  const output: Terminal = { isTTY: true, write: (text) => terminal.write(text) }
  const screen = screenOn(terminal, [output])
  const line = new Line('line')
  screen.add(line)
  await shows(t, terminal, 'line')
  output.write('one\n')
  output.write('two\n')
  terminal.write('three\n')
  assert.equal(terminal.text, 'one\ntwo\nthree', 'the line has made room')
  await shows(t, terminal, 'one\ntwo\nthree\nline')
  screen.finish(line)
  assert.equal(terminal.text, 'one\ntwo\nthree\nline')
})

test('nothing is drawn after text without a line end', LIMIT, async (t) => {
  const terminal = new FakeTerminal()
  const screen = screenOn(terminal)
  const line = new Line('line')
  screen.add(line)
  await shows(t, terminal, 'line')
  terminal.write('half')
  await new Promise((resolve) => setImmediate(resolve))
  line.text = 'line 2'
  assert.equal(terminal.text, 'half')
  terminal.write(' and half\n')
  await shows(t, terminal, 'half and half\nline 2')
  terminal.write('open')
  screen.finish(line)
  assert.equal(terminal.text, 'half and half\nopen\nline 2')
})

test('nothing is written while nothing changes', LIMIT, async (t) => {
  const terminal = new FakeTerminal()
  const screen = screenOn(terminal)
  const line = new Line('line')
  let renders = 0
  line.render = () => {
    renders += 1
    return line.text
  }
  screen.add(line)
  await shows(t, terminal, 'line')
  const before = renders
  while (renders < before + 2) await new Promise((resolve) => setTimeout(resolve, 5))
  assert.equal(terminal.writes, 1)
  screen.finish(line)
})

test('lines beyond the rows of the terminal are counted', LIMIT, async (t) => {
  const terminal = new FakeTerminal()
  terminal.rows = 5
  const screen = screenOn(terminal)
  const lines = Array.from({ length: 5 }, (_, index) => new Line(`line ${index}`))
  for (const line of lines) screen.add(line)
  await shows(t, terminal, 'line 0\nline 1\nand 3 more')
  for (const line of lines) screen.finish(line)
  assert.equal(terminal.text, 'line 0\nline 1\nline 2\nline 3\nline 4')
})

test('lines that a narrower terminal has wrapped are erased entirely', LIMIT, async (t) => {
  const terminal = new FakeTerminal()
  const screen = screenOn(terminal)
  const line = new Line('0123456789')
  screen.add(line)
  await shows(t, terminal, '0123456789')
  // How the terminal shows it: two rows instead of one.
  terminal.columns = 6
  terminal.write = (text) => {
    assert.match(text, /^\u001b\[2A\r\u001b\[J/)
    return true
  }
  screen.finish(line)
})

test('when the last line has finished the streams are restored', () => {
  const terminal = new FakeTerminal()
  const own = (text: string): boolean => terminal.write(text)
  const output: Terminal = { isTTY: true, write: own }
  const screen = screenOn(terminal, [output])
  for (let round = 0; round < 2; round += 1) {
    const line = new Line('line')
    screen.add(line)
    assert.equal(terminal.listeners, 1, 'a closed terminal does not end the process')
    assert.notEqual(Reflect.get(output, 'write'), own)
    screen.finish(line)
    assert.equal(Reflect.get(output, 'write'), own)
    assert.equal(Object.hasOwn(terminal, 'write'), false)
    assert.equal(terminal.listeners, 0)
  }
})

test('another wrapper of the streams is left in place', () => {
  const terminal = new FakeTerminal()
  const screen = screenOn(terminal)
  const line = new Line('line')
  screen.add(line)
  const watched: (text: string) => boolean = Reflect.get(terminal, 'write')
  const theirs = (text: string): boolean => Reflect.apply(watched, terminal, [text])
  terminal.write = theirs
  screen.finish(line)
  assert.equal(Reflect.get(terminal, 'write'), theirs)
  terminal.write('more\n')
  assert.equal(terminal.text, 'line\nmore')
})

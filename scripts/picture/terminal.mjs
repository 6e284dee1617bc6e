// A minimal terminal for the output of Scaler: text, colours, and the cursor moves and erasures of
// a line that is redrawn. Pure: it turns output into visible rows.

const ESCAPE = '\u001b'
/** The part of an escape sequence after ESC, up to its final letter. */
const SEQUENCE = /^\[([?>=]?)([\d;]*)([A-Za-z])/
/** Titles and similar sequences, until BEL or ESC \. */
const TITLE = /^\]\P{Cc}*\p{Cc}\\?/u

/** A screen of some rows and columns: it scrolls, and wraps long lines. */
export class Terminal {
  #rows = [[]]
  #row = 0
  #column = 0
  #color = ''
  #rest = ''

  constructor(height, width) {
    this.height = height
    this.width = width
  }

  /** Processes output of a program. A sequence may be split anywhere. */
  write(text) {
    let left = this.#rest + text
    this.#rest = ''
    while (left !== '') {
      if (left.startsWith(ESCAPE)) {
        const taken = this.#escape(left.slice(1))
        if (taken === undefined) {
          this.#rest = left
          return
        }
        left = left.slice(1 + taken)
      } else {
        const [character] = left
        this.#put(character)
        left = left.slice(character.length)
      }
    }
  }

  /** The rows from the top, each a list of `{ text, color }`, without spaces at its end. */
  rows() {
    const first = Math.max(0, this.#rows.length - this.height)
    return this.#rows.slice(first).map(spansOf)
  }

  #put(character) {
    if (character === '\r') this.#column = 0
    else if (character === '\n') this.#move(this.#row + 1)
    else if (character === '\b') this.#column = Math.max(0, this.#column - 1)
    else if (character >= ' ') {
      if (this.#column >= this.width) {
        this.#move(this.#row + 1)
        this.#column = 0
      }
      this.#rows[this.#row][this.#column] = { character, color: this.#color }
      this.#column += 1
    }
  }

  #move(row) {
    this.#row = Math.max(0, row)
    while (this.#rows.length <= this.#row) this.#rows.push([])
  }

  /** Returns the length of the sequence; undefined if it is incomplete. */
  #escape(text) {
    const title = TITLE.exec(text)
    if (title !== null) return title[0].length
    const match = SEQUENCE.exec(text)
    if (match === null) return text.length < 32 && /^(?:$|[[\]])/.test(text) ? undefined : 1
    const [whole, mode, numbers, letter] = match
    if (mode === '') this.#perform(letter, numbers.split(';').map(Number))
    return whole.length
  }

  #perform(letter, numbers) {
    const [number = 0] = numbers
    const cells = this.#rows[this.#row]
    switch (letter) {
      case 'A':
        return this.#move(this.#row - (number || 1))
      case 'B':
        return this.#move(this.#row + (number || 1))
      case 'C':
        this.#column += number || 1
        return
      case 'D':
        this.#column = Math.max(0, this.#column - (number || 1))
        return
      case 'G':
        this.#column = Math.max(0, (number || 1) - 1)
        return
      case 'J':
        this.#rows.length = this.#row + 1
        if (number === 0) cells.length = Math.min(cells.length, this.#column)
        return
      case 'K':
        if (number === 0) cells.length = Math.min(cells.length, this.#column)
        else if (number === 2) cells.length = 0
        return
      case 'm':
        for (const code of numbers) this.#color = colorOf(code, this.#color)
    }
  }
}

const COLORS = { 31: 'red', 32: 'green', 33: 'yellow', 34: 'blue', 36: 'cyan', 90: 'dim' }

function colorOf(code, before) {
  if (code === 0 || code === 39 || code === 22) return ''
  if (code === 2) return 'dim'
  return COLORS[code] ?? before
}

function spansOf(cells) {
  const spans = []
  for (let column = 0; column < cells.length; column += 1) {
    const { character, color } = cells[column] ?? { character: ' ', color: '' }
    const last = spans.at(-1)
    if (last?.color === color) last.text += character
    else spans.push({ text: character, color })
  }
  const last = spans.at(-1)
  if (last !== undefined) last.text = last.text.trimEnd()
  return spans.filter(({ text }) => text !== '')
}

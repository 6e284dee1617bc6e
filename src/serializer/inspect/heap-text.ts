// Reads the text of a heap snapshot piece by piece: as a whole it may be larger than a string can
// be, and its numbers as objects larger than the heap itself. It is JSON with a fixed order:
//
//   {"snapshot":{…},"nodes":[number, …],"edges":[number, …],…,"strings":["…", …]}

/** The heads of the columns, from the first part of the text. */
export interface SnapshotMeta {
  readonly node_fields: readonly string[]
  readonly node_types: readonly [readonly string[], ...unknown[]]
  readonly edge_fields: readonly string[]
  readonly edge_types: readonly [readonly string[], ...unknown[]]
}

/** Takes what is read. The arrays are used again: they must not be kept. */
export interface SnapshotSink {
  onHead(meta: SnapshotMeta, nodeCount: number): void
  /** One number for each of `node_fields`. */
  onNode(fields: Readonly<Float64Array>): void
  /** One number for each of `edge_fields`. */
  onEdge(fields: Readonly<Float64Array>): void
  /** Once, after all edges: the numbers of the strings that are wanted. */
  wantedStrings(): ReadonlySet<number>
  onString(index: number, text: string): void
}

/** A part of the text; returns where the next one begins, or the length of the text. */
interface Part {
  readonly isDone: boolean
  read(text: string, from: number): number
}

/** Give it all pieces in order. */
export class HeapTextReader {
  readonly #sink: SnapshotSink
  #part: Part
  /** Makes the part after this one; undefined at the end. */
  #next: (() => Part) | undefined

  constructor(sink: SnapshotSink) {
    this.#sink = sink
    const head = new Search('"nodes":[', true)
    this.#part = head
    this.#next = () => this.#startNodes(head.passed)
  }

  read(text: string): void {
    let at = 0
    while (at < text.length) {
      at = this.#part.read(text, at)
      if (!this.#part.isDone) return
      if (this.#next === undefined) return
      this.#part = this.#next()
    }
  }

  #startNodes(head: string): Part {
    const json = `${head.slice(0, head.lastIndexOf(','))}}`
    const { snapshot } = JSON.parse(json) as {
      readonly snapshot: { readonly meta: SnapshotMeta; readonly node_count: number }
    }
    const { meta } = snapshot
    this.#sink.onHead(meta, snapshot.node_count)
    this.#next = () => this.#seek('"edges":[', () => this.#startEdges(meta))
    return new Records(meta.node_fields.length, (fields) => this.#sink.onNode(fields))
  }

  #startEdges(meta: SnapshotMeta): Part {
    this.#next = () => this.#seek('"strings":[', () => this.#startStrings())
    return new Records(meta.edge_fields.length, (fields) => this.#sink.onEdge(fields))
  }

  #startStrings(): Part {
    this.#next = undefined
    const onString = (index: number, text: string): void => this.#sink.onString(index, text)
    return new Strings(this.#sink.wantedStrings(), onString)
  }

  #seek(marker: string, next: () => Part): Part {
    this.#next = next
    return new Search(marker, false)
  }
}

/** Passes over all up to the end of a marker. */
class Search implements Part {
  readonly #marker: string
  readonly #keepsAll: boolean
  /** What was passed, or the end of it that may be the beginning of the marker. */
  passed = ''
  isDone = false

  constructor(marker: string, keepsAll: boolean) {
    this.#marker = marker
    this.#keepsAll = keepsAll
  }

  read(text: string, from: number): number {
    const before = this.passed.length
    const seen = this.passed + text.slice(from)
    const at = seen.indexOf(this.#marker)
    this.isDone = at >= 0
    if (at >= 0) {
      this.passed = seen.slice(0, at)
      return at + this.#marker.length - before + from
    }
    this.passed = this.#keepsAll ? seen : seen.slice(1 - this.#marker.length)
    return text.length
  }
}

const CODE_0 = 48
const CODE_9 = 57
const CLOSING_BRACKET = 93
const QUOTE = 34
const BACKSLASH = 92

/** Numbers in records of equal size, up to a closing bracket. */
class Records implements Part {
  readonly #fields: Float64Array
  readonly #onRecord: (fields: Float64Array) => void
  #filled = 0
  #number = 0
  #isInNumber = false
  isDone = false

  constructor(width: number, onRecord: (fields: Float64Array) => void) {
    this.#fields = new Float64Array(width)
    this.#onRecord = onRecord
  }

  read(text: string, from: number): number {
    let number = this.#number
    let isInNumber = this.#isInNumber
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      if (code >= CODE_0 && code <= CODE_9) {
        number = number * 10 + code - CODE_0
        isInNumber = true
        continue
      }
      if (isInNumber) this.#add(number)
      number = 0
      isInNumber = false
      if (code === CLOSING_BRACKET) {
        this.isDone = true
        return at + 1
      }
    }
    this.#number = number
    this.#isInNumber = isInNumber
    return text.length
  }

  #add(number: number): void {
    this.#fields[this.#filled] = number
    this.#filled += 1
    if (this.#filled < this.#fields.length) return
    this.#filled = 0
    this.#onRecord(this.#fields)
  }
}

/** Strings up to a closing bracket. */
class Strings implements Part {
  readonly #wanted: ReadonlySet<number>
  readonly #onString: (index: number, text: string) => void
  #index = -1
  #isInString = false
  #isEscaped = false
  /** The part of the string that stood in earlier pieces, if it is wanted. */
  #begun = ''
  isDone = false

  constructor(wanted: ReadonlySet<number>, onString: (index: number, text: string) => void) {
    this.#wanted = wanted
    this.#onString = onString
  }

  read(text: string, from: number): number {
    let start = from
    for (let at = from; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      if (!this.#isInString) {
        if (code === QUOTE) {
          this.#isInString = true
          this.#index += 1
          start = at + 1
        } else if (code === CLOSING_BRACKET) {
          this.isDone = true
          return at + 1
        }
      } else if (this.#isEscaped) this.#isEscaped = false
      else if (code === BACKSLASH) this.#isEscaped = true
      else if (code === QUOTE) this.#end(text.slice(start, at))
    }
    if (this.#isInString && this.#isWanted) this.#begun += text.slice(start)
    return text.length
  }

  get #isWanted(): boolean {
    return this.#wanted.has(this.#index)
  }

  #end(rest: string): void {
    this.#isInString = false
    if (this.#isWanted) {
      this.#onString(this.#index, JSON.parse(`"${this.#begun}${rest}"`) as string)
    }
    this.#begun = ''
  }
}

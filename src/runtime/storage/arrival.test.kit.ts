// Files for content that arrives, for tests.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileChunk, type Part } from '../../wire/object-content.js'
import type { ArrivalStore, ArrivingContent } from './arrival.js'

/** Files that keep a list of what happens to them. Those that are finished exist. */
export class ListedFiles implements ArrivalStore {
  readonly opened: number[] = []
  readonly removed: string[] = []
  drops = 0
  written: Buffer[] = []
  isFailing = false
  onWrite: () => void = () => {}
  onFinish: () => void = () => {}
  onRemove: () => void = () => {}
  readonly #path: string

  constructor(t: TestContext) {
    const base = mkdtempSync(join(tmpdir(), 'sc-'))
    t.after(() => rmSync(base, { recursive: true }))
    const directory = join(base, `scaler-ts-${'0'.repeat(32)}`)
    mkdirSync(directory)
    this.#path = join(directory, '0'.repeat(32))
    writeFileSync(this.#path, '')
  }

  open(byteLength: number): ArrivingContent {
    this.opened.push(byteLength)
    return {
      write: (bytes) => {
        this.written.push(Buffer.from(bytes))
        this.onWrite()
      },
      finish: () => {
        this.onFinish()
        if (this.isFailing) return undefined
        return { type: 'file', chunks: [fileChunk({ path: this.#path, byteLength })] }
      },
      drop: () => (this.drops += 1),
    }
  }

  drop({ type }: Part): void {
    this.removed.push(type)
    this.onRemove()
  }
}

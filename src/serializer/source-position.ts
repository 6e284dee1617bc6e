// Where the code of a stack frame was written: in TypeScript, or before bundling. Node knows it if
// started accordingly (`--enable-source-maps`, tsx); otherwise the file may have a source map in it
// or beside it. Nothing is read until there is an error, and nothing here throws: a frame that
// cannot be traced back stays as it is.

import { readFileSync, statSync } from 'node:fs'
import { findSourceMap, SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rewriteStacks } from '../base/error-stack.js'

/** Larger files are not read: reading their maps would take noticeable time. In bytes. */
const MAX_FILE_BYTES = 16 * 1024 ** 2
/** With more files than this, all are forgotten. */
const MAX_FILES = 100

/** Before the place (`1`), the place (`2`), line (`3`), column (`4`), and the rest (`5`). */
const FRAME =
  /^(\s+at (?:async )?(?:.*? \()?)((?:file:\/\/|\/|[A-Za-z]:[\\/]).*):(\d{1,9}):(\d{1,9})(\)?)$/
const MARK = 'sourceMappingURL='
const MARK_LINE = /^\/\/[#@] ?sourceMappingURL=(\S+)\s*$/
const INLINE_MAP = /^data:application\/json[^,]*?(;base64)?,(.*)$/s

/** A map, and the base of its relative sources. */
interface Mapping {
  readonly map: SourceMap
  readonly base: string
}

/** A place in the source as written; line and column from 0. */
interface WrittenPlace {
  readonly source: URL
  readonly line: number
  readonly column: number
}

/** Where to look for maps beside files. */
interface MapSources {
  /**
   * The earliest time at which code of this process was read, in ms since 1970: a file that has
   * changed since is not the one that was run.
   */
  readonly loadedBefore?: number
  /** The source map URL of a loaded script, by its place as in frames; empty if it has none. */
  readonly sourceMapUrlAt?: (place: string) => string
}

/** Traces stack frames back. Remembers the maps of some files. */
export class SourcePositions {
  /** By the place as in frames; undefined for files without a map. */
  readonly #mappings = new Map<string, Mapping | undefined>()
  readonly #loadedBefore: number
  readonly #sourceMapUrlAt: (place: string) => string

  constructor({ loadedBefore, sourceMapUrlAt }: MapSources = {}) {
    this.#loadedBefore = loadedBefore ?? performance.timeOrigin
    this.#sourceMapUrlAt = sourceMapUrlAt ?? (() => '')
  }

  /** Traces back the stack of an error, and of the errors in its `cause` and `errors`. */
  apply(error: unknown): void {
    rewriteStacks(error, (stack) => this.rewrite(stack))
  }

  /** The same stack with the places where the code was written. */
  rewrite(stack: string): string {
    if (!stack.includes('\n')) return stack
    return stack
      .split('\n')
      .map((line) => this.#rewriteLine(line))
      .join('\n')
  }

  #rewriteLine(text: string): string {
    const frame = FRAME.exec(text)
    if (frame === null) return text
    const [, before = '', place = '', line, column, after = ''] = frame
    const origin = this.#originOf(place, Number(line), Number(column))
    return origin === undefined ? text : before + origin + after
  }

  /** `place:line:column` as written, in the form that `place` has. Lines and columns from 1. */
  #originOf(place: string, line: number, column: number): string | undefined {
    const origin = this.written(place, { line: line - 1, column: column - 1 })
    if (origin === undefined) return undefined
    const { source } = origin
    const shown = place.startsWith('file:') || source.protocol !== 'file:'
    const written = shown ? source.href : fileURLToPath(source)
    return `${written}:${origin.line + 1}:${origin.column + 1}`
  }

  /**
   * The original position of code at a place of a loaded script; undefined if it is unknown or the
   * code was written there. Lines and columns from 0.
   */
  written(
    place: string,
    { line, column }: { readonly line: number; readonly column: number },
  ): WrittenPlace | undefined {
    const mapping = this.#mappingOf(place)
    if (mapping === undefined) return undefined
    try {
      const entry = mapping.map.findEntry(line, Math.max(column, 0))
      // The map returns the last entry before; an entry of an earlier line does not apply to this
      // one.
      if (!('originalSource' in entry) || entry.generatedLine !== line) return undefined
      const { sourceRoot } = mapping.map.payload as Partial<SourceMapPayload>
      const source = sourceUrl(entry.originalSource, sourceRoot ?? '', mapping.base)
      return { source, line: entry.originalLine, column: entry.originalColumn }
    } catch {
      return undefined
    }
  }

  #mappingOf(place: string): Mapping | undefined {
    if (this.#mappings.has(place)) return this.#mappings.get(place)
    if (this.#mappings.size >= MAX_FILES) this.#mappings.clear()
    let mapping: Mapping | undefined
    try {
      mapping = knownMapping(place) ?? this.#evaluatedMapping(place) ?? this.#readMapping(place)
    } catch {
      // The file, or its map, is missing or invalid.
    }
    this.#mappings.set(place, mapping)
    return mapping
  }

  /** The map of a text that a program has evaluated, and that may not be in a file. */
  #evaluatedMapping(place: string): Mapping | undefined {
    const text = inlineMap(this.#sourceMapUrlAt(place))
    return text === undefined ? undefined : mappingFrom(text, urlOf(place).href)
  }

  #readMapping(place: string): Mapping | undefined {
    const file = urlOf(place)
    const mark = markOf(this.#read(file))
    const text = mark === undefined ? undefined : inlineMap(mark)
    if (text !== undefined) return mappingFrom(text, file.href)
    const beside = mark === undefined ? new URL(`${file.href}.map`) : new URL(mark, file)
    return beside.protocol === 'file:' ? mappingFrom(this.#read(beside), beside.href) : undefined
  }

  /** Throws if the file cannot be read, is too large, or has changed. */
  #read(file: URL): string {
    const { size, mtimeMs } = statSync(file)
    if (size > MAX_FILE_BYTES) throw new Error('the file is too large')
    if (mtimeMs > this.#loadedBefore) throw new Error('the file has changed')
    return readFileSync(file, 'utf8')
  }
}

/** The map that Node has read itself. Its sources are absolute. */
function knownMapping(place: string): Mapping | undefined {
  const map = findSourceMap(place)
  return map === undefined ? undefined : { map, base: urlOf(place).href }
}

function mappingFrom(text: string, base: string): Mapping {
  return { map: new SourceMap(JSON.parse(text) as SourceMapPayload), base }
}

/** The map in a `data:` URL; undefined for other URLs. */
function inlineMap(url: string): string | undefined {
  const inline = INLINE_MAP.exec(url)
  if (inline === null) return undefined
  const [, isBase64, content = ''] = inline
  return isBase64 === undefined
    ? decodeURIComponent(content)
    : Buffer.from(content, 'base64').toString()
}

/** The source map URL in the last line that is not empty. */
function markOf(code: string): string | undefined {
  const at = code.lastIndexOf(MARK)
  if (at < 0) return undefined
  const start = code.lastIndexOf('\n', at) + 1
  return MARK_LINE.exec(code.slice(start))?.[1]
}

/** Without anything after the path: `?update=1`. */
function urlOf(place: string): URL {
  const url = place.startsWith('file:') ? new URL(place) : pathToFileURL(place)
  url.search = ''
  url.hash = ''
  return url
}

function sourceUrl(source: string, sourceRoot: string, base: string): URL {
  if (sourceRoot === '') return new URL(source, base)
  return new URL(source, new URL(sourceRoot.endsWith('/') ? sourceRoot : `${sourceRoot}/`, base))
}

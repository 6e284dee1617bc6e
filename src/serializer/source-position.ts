// Where the code of a stack frame was written: in TypeScript, or before a bundler had it. Node
// knows for itself if it was told to (`--enable-source-maps`, tsx); else the file may have a source
// map in it or beside it. Nothing is read before an error has come, and nothing here throws: a
// frame that cannot be traced back stays as it is.

import { readFileSync, statSync } from 'node:fs'
import { findSourceMap, SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rewriteStacks } from '../base/error-stack.js'

/** Files beyond this are not read: reading the map of one would be felt, in bytes. */
const MAX_FILE_BYTES = 16 * 1024 ** 2
/** When there are more files, all are forgotten. */
const MAX_FILES = 100

/** Before the place (`1`), the place (`2`), line (`3`), column (`4`), and what follows (`5`). */
const FRAME =
  /^(\s+at (?:async )?(?:.*? \()?)((?:file:\/\/|\/|[A-Za-z]:[\\/]).*):(\d{1,9}):(\d{1,9})(\)?)$/
const MARK = 'sourceMappingURL='
const MARK_LINE = /^\/\/[#@] ?sourceMappingURL=(\S+)\s*$/
const INLINE_MAP = /^data:application\/json[^,]*?(;base64)?,(.*)$/s

/** A map, and what its relative sources are relative to. */
interface Mapping {
  readonly map: SourceMap
  readonly base: string
}

/** A place in what somebody has written; line and column from 0. */
export interface WrittenPlace {
  readonly source: URL
  readonly line: number
  readonly column: number
}

/** Where maps are looked for beside files. */
export interface MapSources {
  /**
   * When the code of this process was read at the earliest, in ms since 1970: a file that has
   * changed since is not the one that was run.
   */
  readonly loadedBefore?: number
  /** What a loaded script says of its map, by its place as frames have it; empty if nothing. */
  readonly sourceMapUrlAt?: (place: string) => string
}

/** Traces stack frames back. Remembers the maps of some files. */
export class SourcePositions {
  /** By the place as frames have it; undefined for what has no map. */
  readonly #mappings = new Map<string, Mapping | undefined>()
  readonly #loadedBefore: number
  readonly #sourceMapUrlAt: (place: string) => string

  constructor({ loadedBefore, sourceMapUrlAt }: MapSources = {}) {
    this.#loadedBefore = loadedBefore ?? performance.timeOrigin
    this.#sourceMapUrlAt = sourceMapUrlAt ?? (() => '')
  }

  /** Traces back the stack of an error, and of those in its `cause` and `errors`. */
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
   * Where what stands at a place of a loaded script was written; undefined if nobody knows, as of
   * what was written there. Lines and columns from 0.
   */
  written(
    place: string,
    { line, column }: { readonly line: number; readonly column: number },
  ): WrittenPlace | undefined {
    const mapping = this.#mappingOf(place)
    if (mapping === undefined) return undefined
    try {
      const entry = mapping.map.findEntry(line, Math.max(column, 0))
      // It gives the last one before; one of an earlier line says nothing about this one.
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
      // The file, or its map, is not there or not what it should be.
    }
    this.#mappings.set(place, mapping)
    return mapping
  }

  /** That of a text which a program has evaluated, and which may be in no file. */
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

/** What Node has read itself. Its sources are absolute. */
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

/** What the last line but empty ones says about the map. */
function markOf(code: string): string | undefined {
  const at = code.lastIndexOf(MARK)
  if (at < 0) return undefined
  const start = code.lastIndexOf('\n', at) + 1
  return MARK_LINE.exec(code.slice(start))?.[1]
}

/** Without what follows the path: `?update=1`. */
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

// The scripts that V8 has compiled: their origin and their text as it runs. V8 reports them only
// while its debugger is enabled, which makes every `await` seven times slower, so it is enabled
// only for moments: the first takes some 20 ms, later ones 20 µs per loaded script.

import type { Debugger } from 'node:inspector'
import type { AnyFunction } from '../module/native.js'
import type { Script } from './inspector.js'
import { type InspectorSession, locationIn } from './objects.js'

// A cache of script texts of limited size; the least recently used ones are removed first. A
// program may have compiled hundreds of megabytes, while the functions that travel come from a few
// files.

const MAX_CHARACTERS = 16_000_000

/** Texts by id, at most 16 million characters in all. */
export class SourceCache {
  /** Ordered by use: the most recently used one is last. */
  readonly #texts = new Map<string, string>()
  #characters = 0

  has(id: string): boolean {
    return this.#texts.has(id)
  }

  /** The text, if it is still cached. */
  get(id: string): string | undefined {
    const text = this.#texts.get(id)
    if (text === undefined) return undefined
    this.#texts.delete(id)
    this.#texts.set(id, text)
    return text
  }

  /**
   * Adds a text and removes others to make room for it. A text larger than the whole cache is not
   * kept.
   */
  set(id: string, text: string): void {
    if (text.length > MAX_CHARACTERS || this.#texts.has(id)) return
    this.#texts.set(id, text)
    this.#characters += text.length
    for (const [oldest, { length }] of this.#texts) {
      if (this.#characters <= MAX_CHARACTERS) return
      this.#texts.delete(oldest)
      this.#characters -= length
    }
  }
}

// The comment by which a script names its source map.

/**
 * The URL in the last `sourceMappingURL` comment of the text; empty if there is none. Only for
 * scripts that have one according to V8: this does not check whether it is in a comment or a
 * string.
 */
export function sourceMapUrlOf(source: string): string {
  const at = Math.max(
    source.lastIndexOf('//# sourceMappingURL='),
    source.lastIndexOf('//@ sourceMappingURL='),
  )
  if (at < 0) return ''
  const url = /\S*/y
  url.lastIndex = at + '//# sourceMappingURL='.length
  return url.exec(source)?.[0] ?? ''
}

/**
 * When one source is requested, sources of the user's other files are read along with it, up to
 * this size.
 */
const PREFETCH = { scripts: 64, characters: 2_000_000 } as const

/** An inline source map is as long as its script: it is not kept, but read again on request. */
const MAX_KEPT_URL = 1_024

/** Ids unknown to V8 are remembered, so as not to ask again for each function of theirs. */
const MAX_UNKNOWN = 1_000

/** How `new Function` and the constructors of its other kinds write a function. */
const CONSTRUCTED = /^(?:async )?function\*? anonymous\([^]*\n\) \{\n[^]*\n\}$/

/**
 * The script that V8 has made of the text of this function, if `new Function` made it: the function
 * in parentheses. Programs make many of these, and V8 takes longer for a question the more scripts
 * it has.
 */
export function constructedScript(id: string, fn: AnyFunction): Script | undefined {
  const text = Function.prototype.toString.call(fn)
  if (!CONSTRUCTED.test(text) || /[#@] source/.test(text)) return undefined
  const place = { url: '', startLine: 0, startColumn: 0 }
  return { ...place, id, source: `(${text})`, isModule: false, sourceMapUrl: '' }
}

/** Scripts by id. */
export class ScriptCatalog {
  readonly #session: InspectorSession
  readonly #sources = new SourceCache()
  readonly #unknown = new Set<string>()
  #scripts = new Map<string, CatalogScript>()
  /** The number of the last script when V8 was last asked. */
  #newest = 0

  constructor(session: InspectorSession) {
    this.#session = session
  }

  /**
   * The script, or undefined if V8 does not have it (any more). The same object for the same id.
   */
  byId(id: string): Script | undefined {
    const known = this.#scripts.get(id)
    if (known !== undefined || this.#unknown.has(id)) return known
    // The text will probably be requested next.
    this.#whileEnabled(() => {
      if (this.#scripts.get(id)?.isOfUser === true) this.#load(id)
    })
    const found = this.#scripts.get(id)
    if (found === undefined) this.#remember(id)
    return found
  }

  /** The scripts with this URL, oldest first. Looks for new scripts if there is none. */
  byUrl(url: string): readonly Script[] {
    const known = this.#withUrl(url)
    if (known.length > 0 || !this.#hasNewScripts()) return known
    this.refresh()
    return this.#withUrl(url)
  }

  /** The user's scripts that are loaded by now. */
  ofUser(): readonly Script[] {
    if (this.#hasNewScripts()) this.refresh()
    return [...this.#scripts.values()].filter(({ isOfUser }) => isOfUser)
  }

  /** Reads the list of all scripts that are loaded by now. */
  refresh(): void {
    this.#whileEnabled(() => {})
  }

  #withUrl(wanted: string): readonly Script[] {
    return [...this.#scripts.values()].filter(({ url }) => url === wanted)
  }

  /** V8 counts the scripts it compiles: perhaps only this question itself was added. */
  #hasNewScripts(): boolean {
    const before = this.#newest
    this.#newest = newestScript(this.#session)
    return this.#newest !== before + 1
  }

  #remember(id: string): void {
    if (this.#unknown.size >= MAX_UNKNOWN) this.#unknown.clear()
    this.#unknown.add(id)
  }

  readonly #sourceOf = (id: string): string => {
    const known = this.#sources.get(id)
    if (known !== undefined) return known
    let source = ''
    this.#whileEnabled(() => (source = this.#load(id)))
    return source
  }

  #load(id: string): string {
    const source = this.#ask(id)
    this.#sources.set(id, source)
    this.#prefetch(id)
    return source
  }

  /** A function is rarely alone: the functions that it calls are in files of the same program. */
  #prefetch(id: string): void {
    let scriptCount = 0
    let characters = 0
    for (const script of this.#scripts.values()) {
      if (script.id === id || !script.isOfUser || this.#sources.has(script.id)) continue
      characters += script.characters
      scriptCount += 1
      if (scriptCount > PREFETCH.scripts || characters > PREFETCH.characters) return
      this.#sources.set(script.id, this.#ask(script.id))
    }
  }

  #ask(scriptId: string): string {
    try {
      return this.#session.ask('Debugger.getScriptSource', { scriptId }).scriptSource
    } catch {
      return ''
    }
  }

  /** Runs `action` while V8 gives access to sources. All scripts are known by then. */
  #whileEnabled(action: () => void): void {
    this.#newest = newestScript(this.#session)
    const scripts = new Map<string, CatalogScript>()
    const onScript = (report: Debugger.ScriptParsedEventDataType): void => {
      const { scriptId } = report
      const known = this.#scripts.get(scriptId)
      scripts.set(scriptId, known ?? new CatalogScript(report, this.#sourceOf))
    }
    this.#session.listening('Debugger.scriptParsed', onScript, () => {
      this.#session.ask('Debugger.enable', {})
      try {
        this.#scripts = scripts
        action()
      } finally {
        this.#session.ask('Debugger.disable', {})
      }
    })
  }
}

/** The number of a script that V8 compiles now. */
function newestScript(session: InspectorSession): number {
  const { result } = session.ask('Runtime.evaluate', {
    // V8 does not compile the same text twice.
    expression: `() => ${performance.now()}`,
    silent: true,
  })
  const { objectId = '' } = result
  const properties = session.ask('Runtime.getProperties', {
    objectId,
    ownProperties: true,
    nonIndexedPropertiesOnly: true,
  })
  session.ask('Runtime.releaseObject', { objectId })
  return Number(locationIn(properties)?.scriptId ?? 0)
}

class CatalogScript implements Script {
  readonly id: string
  readonly url: string
  readonly startLine: number
  readonly startColumn: number
  readonly isModule: boolean
  readonly characters: number
  readonly #sourceOf: (id: string) => string
  readonly #sourceMapUrl: string | undefined

  constructor(report: Debugger.ScriptParsedEventDataType, sourceOf: (id: string) => string) {
    this.id = report.scriptId
    this.url = report.url
    this.startLine = report.startLine
    this.startColumn = report.startColumn
    this.isModule = report.isModule ?? false
    this.characters = report.length ?? 0
    const { sourceMapURL = '' } = report
    this.#sourceMapUrl = sourceMapURL.length > MAX_KEPT_URL ? undefined : sourceMapURL
    this.#sourceOf = sourceOf
  }

  get source(): string {
    return this.#sourceOf(this.id)
  }

  get sourceMapUrl(): string {
    return this.#sourceMapUrl ?? sourceMapUrlOf(this.source)
  }

  get isOfUser(): boolean {
    return this.url !== '' && !/^node:|[/\\]node_modules[/\\]/.test(this.url)
  }
}

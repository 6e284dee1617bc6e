// What would be sent with a function, as text for the user: the tree of its captures, the origin of
// each part, and its size.

import type { ExportReference } from '../module/policy.js'
import type { AnyFunction } from '../module/native.js'
import { readText, Refusal, textOf } from '../refusal.js'
import type { Capture, FunctionAnalyst, SourceParts } from './parts.js'

/** The settings of an explanation. */
interface ExplainOptions {
  readonly analyst: FunctionAnalyst
  /** The bytes of a value by itself. Throws if it cannot be sent. */
  readonly serialize: (value: unknown) => Uint8Array
}

/** The maximum depth of the tree. */
const MAX_DEPTH = 50

interface Line {
  readonly label: string
  readonly what: string
  readonly children: readonly Line[]
}

/**
 * The tree of `fn`, and its size. Never throws for a value that cannot be sent: the text says so.
 */
export function explainFunction(fn: AnyFunction, options: ExplainOptions): string {
  const root = new Explanation(options).functionLine(fn.name === '' ? 'function' : fn.name, fn)
  const lines: string[] = []
  print(root, '', '', lines)
  return [...lines, totalOf(fn, options)].join('\n')
}

class Explanation {
  readonly #options: ExplainOptions
  readonly #seen = new Set<unknown>()
  #depth = 0

  constructor(options: ExplainOptions) {
    this.#options = options
  }

  functionLine(label: string, fn: AnyFunction): Line {
    if (this.#seen.has(fn)) return leaf(label, 'as above')
    this.#seen.add(fn)
    if (this.#depth > MAX_DEPTH) return leaf(label, 'and so on')
    this.#depth += 1
    try {
      return this.#lineOf(label, fn)
    } finally {
      this.#depth -= 1
    }
  }

  #lineOf(label: string, fn: AnyFunction): Line {
    const parts = this.#options.analyst.partsOf(fn)
    if (parts instanceof Refusal) return this.#memberLine(label, fn, parts)
    switch (parts.kind) {
      case 'member':
        return leaf(label, 'a method of its class')
      case 'native':
        return leaf(label, `by name, ${parts.name}`)
      case 'reference':
        return leaf(label, `imported, ${referenceText(parts.reference)}`)
      case 'runtime':
        return leaf(label, `${parts.role} of ${parts.url}`)
      case 'bound':
        return {
          label,
          what: 'bound function',
          children: [
            this.functionLine('target', parts.target),
            this.#valueLine('this', parts.self),
            ...parts.parameters.map((value, index) =>
              this.#valueLine(`argument ${index + 1}`, value),
            ),
          ],
        }
      default:
        return this.#sourceLine(label, parts)
    }
  }

  /** A function that cannot travel on its own. */
  #memberLine(label: string, fn: AnyFunction, { reason }: Refusal): Line {
    const classes = [...this.#seen].filter((each) => typeof each === 'function')
    const member = this.#options.analyst.memberOf(fn, classes as AnyFunction[])
    if (member === undefined) return leaf(label, `CANNOT TRAVEL: ${reason}`)
    return { label, what: 'a method', children: [this.functionLine('of the class', member.owner)] }
  }

  #sourceLine(label: string, parts: SourceParts): Line {
    const { code, url, captures, classParts } = parts
    const place = url === '' ? '' : `, ${this.#options.analyst.placeOf(url, code)}`
    const children = captures.map((capture) => this.#captureLine(capture))
    const parent = classParts?.parent
    if (parent !== undefined && parent !== null)
      children.unshift(this.functionLine('extends', parent))
    const kind = classParts === undefined ? 'function' : 'class'
    return { label, what: `${kind}, ${sizeText(code.expression.length)}${place}`, children }
  }

  #captureLine({ step: text, content }: Capture): Line {
    const step = readText(text)
    switch (content.kind) {
      case 'reference':
        return leaf(step, `imported, ${referenceText(content.reference)}`)
      case 'refusal':
        return leaf(step, `CANNOT TRAVEL: ${content.refusal.reason}`)
      case 'privateStore':
        return leaf(step, 'private names')
      case 'members':
        return {
          label: step,
          what: 'of a module',
          children: content.names.map((name) => this.#valueLine(name, read(content.module, name))),
        }
      case 'cell': {
        const line = this.#valueLine(step, content.value)
        return { ...line, what: `variable, ${line.what}` }
      }
      default:
        return this.#valueLine(step, content.value)
    }
  }

  #valueLine(label: string, value: unknown): Line {
    if (typeof value === 'function') return this.functionLine(label, value as AnyFunction)
    const isObject = typeof value === 'object' && value !== null
    if (isObject && this.#seen.has(value)) return leaf(label, 'as above')
    if (isObject) this.#seen.add(value)
    try {
      const size = sizeText(this.#options.serialize(value).byteLength)
      return leaf(label, `${describe(value)}, ${size}`)
    } catch (error) {
      return leaf(label, `CANNOT TRAVEL: ${messageOf(error)}`)
    }
  }
}

function read(module: object, name: string): unknown {
  try {
    return (module as Readonly<Record<string, unknown>>)[name]
  } catch {
    return undefined
  }
}

function totalOf(fn: AnyFunction, { serialize }: ExplainOptions): string {
  try {
    return `${sizeText(serialize(fn).byteLength)} in all`
  } catch (error) {
    return `CANNOT TRAVEL: ${messageOf(error)}`
  }
}

function print(line: Line, first: string, rest: string, lines: string[]): void {
  lines.push(`${first}${line.label}: ${line.what}`)
  for (const [index, child] of line.children.entries()) {
    const isLast = index === line.children.length - 1
    print(child, rest + (isLast ? '└─ ' : '├─ '), rest + (isLast ? '   ' : '│  '), lines)
  }
}

function leaf(label: string, what: string): Line {
  return { label, what, children: [] }
}

function referenceText({ module, path }: ExportReference): string {
  const name = path.length === 0 ? '' : ` (${path.join('.')})`
  switch (module.kind) {
    case 'builtin':
      return module.id + name
    case 'specifier':
      return module.specifier + name
    case 'packageFile':
      return `${module.packageName}/${module.file}${name}`
    default:
      return `scaler-ts${name}`
  }
}

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  if (Array.isArray(value)) return `Array(${value.length})`
  const tag = Object.prototype.toString.call(value).slice(8, -1)
  if (value instanceof Map || value instanceof Set) return `${tag}(${value.size})`
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return tag
  const { constructor } = value as { readonly constructor?: unknown }
  return typeof constructor === 'function' && constructor.name !== '' ? constructor.name : tag
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const isLarge = bytes >= 1024 ** 2
  return isLarge ? `${(bytes / 1024 ** 2).toFixed(1)} MiB` : `${(bytes / 1024).toFixed(1)} KiB`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : textOf(error)
}

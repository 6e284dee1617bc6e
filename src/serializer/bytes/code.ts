// The code of functions as bytes. A unit has each code once; in this process the bytes of a code
// are made once, and a code that arrives again is recognised by its bytes.

import { latin1Slice } from '../../base/bytes.js'
import { DeserializeError } from '../../base/errors.js'
import { ByteReader } from './reader.js'
import { ByteWriter } from './writer.js'
import type { SourceParts } from '../function/parts.js'
import type { Binding, CodeName, FunctionCode, RuntimeName } from '../source/sites.js'

/** A code and what belongs to its text rather than to one function. */
export interface ShippedCode {
  readonly code: FunctionCode
  readonly url: string
  readonly isClass: boolean
  /** Of a class: names of private members of its instances. */
  readonly instancePrivates: readonly string[]
}

// Append only: positions are what travels.
const FORMS = ['value', 'method', 'getter', 'setter'] as const
const RUNTIME_KINDS = ['import', 'meta', 'require'] as const

const FLAG_STRICT = 1
const FLAG_CLASS = 2
const FLAG_PARENT = 4
const FLAG_ADOPT = 8
const FLAG_EXPOSED = 16

const NAME_CELL = 1
const NAME_EARLY = 2
const NAME_CONSTANT = 4
const NAME_ASSIGNED = 8
const NAME_SLICED = 16

/** Deeper, and what is only read altogether, is this deep. */
const MAX_DEPTH = 15

/** The bytes of codes that were sent before. */
export class CodeEncoder {
  readonly #known = new WeakMap<FunctionCode, { readonly url: string; readonly bytes: Buffer }>()

  /** The code behind its length. The same code of the same file gives the same bytes. */
  bytesOf(parts: SourceParts): Buffer {
    const known = this.#known.get(parts.code)
    if (known?.url === parts.url) return known.bytes
    const content = new ByteWriter()
    writeCode(content, parts)
    const writer = new ByteWriter()
    writer.varint(content.length)
    writer.raw(content.written)
    const bytes = Buffer.from(writer.written)
    this.#known.set(parts.code, { url: parts.url, bytes })
    return bytes
  }
}

function writeCode(writer: ByteWriter, { code, url, classParts }: SourceParts): void {
  writer.byte(FORMS.indexOf(code.form))
  writer.byte(
    (code.isStrict ? FLAG_STRICT : 0) |
      (classParts === undefined ? 0 : FLAG_CLASS) |
      (code.parentName === undefined ? 0 : FLAG_PARENT) |
      (code.adoptName === undefined ? 0 : FLAG_ADOPT) |
      (code.exposesItself ? FLAG_EXPOSED : 0),
  )
  writer.text(code.expression)
  writer.text(url)
  writer.varint(code.line)
  writer.varint(code.column < 0 ? -2 * code.column - 1 : 2 * code.column)
  writer.varint(code.names.length)
  for (const name of code.names) writeName(writer, name)
  writer.varint(code.runtime.length)
  for (const { name, kind } of code.runtime) {
    writer.byte(RUNTIME_KINDS.indexOf(kind))
    writer.text(name)
  }
  if (code.parentName !== undefined) writer.text(code.parentName)
  if (code.adoptName !== undefined) writer.text(code.adoptName)
  const privates = classParts?.instancePrivates ?? []
  writer.varint(privates.length)
  for (const name of privates) writer.text(name)
}

function writeName(writer: ByteWriter, { name, free, isCell, isEarly }: CodeName): void {
  writer.byte(
    (isCell ? NAME_CELL : 0) |
      (isEarly ? NAME_EARLY : 0) |
      (free.binding?.isConstant === true ? NAME_CONSTANT : 0) |
      (free.isAssigned ? NAME_ASSIGNED : 0) |
      (free.isSliced ? NAME_SLICED : 0),
  )
  for (const depth of [free.depth, free.moduleDepth, free.rootDepth]) {
    writer.byte(Math.min(depth, MAX_DEPTH))
  }
  writer.text(name)
  writer.text(free.name === name ? '' : free.name)
  writer.varint(free.place.line)
}

/** Reads the code behind its length, as a text that stands for it. Throws `DeserializeError`. */
export function readCodeKey(reader: ByteReader): string {
  const bytes = reader.raw(reader.count(1))
  return latin1Slice(bytes, 0, bytes.byteLength)
}

/** The code that a text stands for. Throws `DeserializeError`. */
export function codeOf(key: string): ShippedCode {
  const reader = new ByteReader(Buffer.from(key, 'latin1'))
  const form = FORMS[reader.byte()]
  if (form === undefined) {
    throw new DeserializeError('a function has a form that this version does not know')
  }
  const flags = reader.byte()
  const isStrict = (flags & FLAG_STRICT) !== 0
  const expression = reader.text()
  const url = reader.text()
  const line = reader.varint()
  const column = readColumn(reader)
  const names = readMany(reader, readName)
  const runtime = readMany(reader, readRuntimeName)
  const parentName = (flags & FLAG_PARENT) === 0 ? undefined : readIdentifier(reader)
  const adoptName = (flags & FLAG_ADOPT) === 0 ? undefined : readIdentifier(reader)
  const instancePrivates = readMany(reader, () => reader.text())
  const exposesItself = (flags & FLAG_EXPOSED) !== 0
  const about = { form, expression, isStrict, names, runtime, exposesItself }
  const code: FunctionCode = { ...about, parentName, adoptName, line, column }
  return { code, url, isClass: (flags & FLAG_CLASS) !== 0, instancePrivates }
}

function readMany<T>(reader: ByteReader, read: (reader: ByteReader) => T): T[] {
  const found: T[] = []
  for (let left = reader.count(1); left > 0; left -= 1) found.push(read(reader))
  return found
}

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u

/** Node crashes when it compiles a function whose parameter is called anything else. */
function readIdentifier(reader: ByteReader): string {
  const name = reader.text()
  if (IDENTIFIER.test(name)) return name
  throw new DeserializeError('a function uses an invalid name')
}

function readColumn(reader: ByteReader): number {
  const zigzag = reader.varint()
  return zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2
}

/** Of the variable, only what matters for sending it on is known. */
function readName(reader: ByteReader): CodeName {
  const flags = reader.byte()
  const depth = readDepth(reader)
  const moduleDepth = readDepth(reader)
  const rootDepth = readDepth(reader)
  const name = readIdentifier(reader)
  const freeName = reader.text()
  const line = reader.varint()
  const isCell = (flags & NAME_CELL) !== 0
  const isConstant = (flags & NAME_CONSTANT) !== 0
  const source = freeName === '' ? name : freeName
  const binding: Binding = {
    name: source,
    kind: isConstant ? 'const' : 'let',
    isOnce: false,
    isConstant,
    isCell,
    isInitialized: true,
    isNeverUndefined: false,
    literal: undefined,
    origin: undefined,
    isModuleObject: false,
    wrappedSpecifier: undefined,
    isPrivateStore: false,
    witnesses: [],
    isOfModuleFunction: false,
    ownNameAt: undefined,
    line,
  }
  const place = { line, column: 0 }
  const free = {
    name: source,
    binding,
    place,
    members: undefined,
    calledMembers: [],
    innerWitnesses: [],
    isApart: false,
  }
  const isAssigned = (flags & NAME_ASSIGNED) !== 0
  const isSliced = (flags & NAME_SLICED) !== 0
  return {
    name,
    free: { ...free, isAssigned, isOnlyTypeof: false, depth, moduleDepth, rootDepth, isSliced },
    isCell,
    isEarly: (flags & NAME_EARLY) !== 0,
  }
}

function readDepth(reader: ByteReader): number {
  const depth = reader.byte()
  return depth === MAX_DEPTH ? Infinity : depth
}

function readRuntimeName(reader: ByteReader): RuntimeName {
  const kind = RUNTIME_KINDS[reader.byte()]
  if (kind !== undefined) return { name: readIdentifier(reader), kind }
  throw new DeserializeError('a function needs a helper that this version does not know')
}

// Reads the schemas with the official compiler, and converts them to the plain model that the
// emitters use. The compiler lays the fields out; nothing here computes an offset.

import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { Message } from 'capnp-es'
import {
  CodeGeneratorRequest,
  Field_Which,
  Node_Which,
  Type_Which,
  Value_Which,
} from 'capnp-es/capnp/schema'

/** The file with the annotations for the generator; nothing is generated from it. */
const ANNOTATION_FILE = 'annotation.capnp'

const MAX_DEPTH = 64

/** TypeScript's name for each kind of id, by the enumerants of `IdKind`. */
const ID_TYPES = ['TaskId', 'ObjectId', 'Identity', 'SchedulerId']

/** Whether the `capnp` tool can be run. */
export function hasCapnpTool() {
  try {
    execFileSync('capnp', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * The model of all schemas in `folder`: `files` in order of dependency, each with its enums and
 * structs in order of declaration; `message` is the root struct.
 */
export function readSchemas(folder) {
  const sources = readdirSync(folder)
    .filter((name) => name.endsWith('.capnp'))
    .sort()
  const output = execFileSync('capnp', ['compile', '-o-', ...sources], {
    cwd: folder,
    env: { ...process.env, PWD: folder },
    maxBuffer: 2 ** 26,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const copy = output.buffer.slice(output.byteOffset, output.byteOffset + output.byteLength)
  const request = new Message(copy, false).getRoot(CodeGeneratorRequest)
  const compiled = new Compiled(request)
  const files = [...request.requestedFiles]
    .filter((file) => file.filename !== ANNOTATION_FILE)
    .map((file) => compiled.file(file))
  return arrange(files)
}

/** Sorts the files so that each comes after those that it uses, and finds the root. */
function arrange(files) {
  const structs = files.flatMap((file) => file.structs)
  const message = structs.find((struct) => struct.name === 'Message')
  for (const struct of structs) struct.depth = depthOf(struct, structs, [])
  for (const file of files) {
    file.structs = file.structs.filter((struct) => struct !== message)
    file.uses = usedFiles(file, structs)
  }
  files.sort((a, b) => a.uses.length - b.uses.length)
  for (const member of message.fields) structOf(member.type, structs).member = member.name
  for (const { type } of structs.flatMap((struct) => struct.fields)) {
    if (type.kind === 'struct') structOf(type, structs).isField = true
    if (innermost(type).kind === 'struct' && type.kind === 'list') {
      structOf(innermost(type), structs).isElement = true
    }
  }
  return { files, structs, message }
}

function usedFiles(file, structs) {
  const names = new Set()
  for (const field of file.structs.flatMap((struct) => struct.fields)) {
    const type = innermost(field.type)
    if (type.file !== undefined) names.add(type.file)
    if (type.kind === 'struct') names.add(structOf(type, structs).file)
  }
  names.delete(file.name)
  return [...names].sort()
}

/** The innermost element type of nested lists; the type itself if it is not a list. */
export function innermost(type) {
  return type.kind === 'list' ? innermost(type.element) : type
}

/** The struct that a type refers to. */
export function structOf(type, structs) {
  return structs.find((struct) => struct.name === type.name)
}

/** The nesting depth of a struct. Refuses recursion, so that readers need no check at run time. */
function depthOf(struct, structs, path) {
  if (path.includes(struct)) throw new Error(`${struct.path} contains itself: not supported`)
  let depth = 1
  for (const field of struct.fields) {
    let type = field.type
    let below = 1
    for (; type.kind === 'list'; type = type.element) below += 1
    if (type.kind === 'struct')
      below += depthOf(structOf(type, structs), structs, [...path, struct])
    depth = Math.max(depth, below)
  }
  if (depth > MAX_DEPTH) throw new Error(`${struct.path} nests deeper than ${MAX_DEPTH}`)
  return depth
}

/** The compiler's output, indexed. */
class Compiled {
  #nodes = new Map()
  #comments = new Map()
  #annotations = new Map()

  constructor(request) {
    for (const node of request.nodes) {
      this.#nodes.set(node.id, node)
      if (node.which() === Node_Which.ANNOTATION) {
        this.#annotations.set(node.id, node.displayName.slice(node.displayNamePrefixLength))
      }
    }
    for (const info of request.sourceInfo) {
      const members = [...info.members].map((member) => oneLine(member.docComment))
      this.#comments.set(info.id, { text: oneLine(info.docComment), members })
    }
  }

  file(requested) {
    const file = {
      name: requested.filename.replace('.capnp', ''),
      id: hexId(requested.id),
      enums: [],
      structs: [],
    }
    this.#collect(this.#nodes.get(requested.id), [], file)
    return file
  }

  #collect(node, path, file) {
    for (const nested of node.nestedNodes) {
      const child = this.#nodes.get(nested.id)
      const childPath = [...path, nested.name]
      if (child.which() === Node_Which.ENUM) file.enums.push(this.#enum(child, childPath, file))
      if (child.which() === Node_Which.STRUCT)
        file.structs.push(this.#struct(child, childPath, file))
      this.#collect(child, childPath, file)
    }
  }

  #enum(node, path, file) {
    const comments = this.#comments.get(node.id)
    return {
      file: file.name,
      id: hexId(node.id),
      name: path.at(-1),
      path: path.join('.'),
      doc: comments?.text ?? '',
      enumerants: [...node.enum.enumerants].map((enumerant, index) => ({
        name: enumerant.name,
        doc: comments?.members[index] ?? '',
        isExtension: this.#notes(enumerant.annotations).isExtension,
      })),
    }
  }

  #struct(node, path, file) {
    const comments = this.#comments.get(node.id)
    const fields = [...node.struct.fields].map((field, index) =>
      this.#field(field, comments?.members[index] ?? ''),
    )
    return {
      file: file.name,
      id: hexId(node.id),
      name: structName(path),
      path: path.join('.'),
      doc: comments?.text ?? '',
      fields: fields.sort((a, b) => a.ordinal - b.ordinal),
      dataWords: node.struct.dataWordCount,
      pointers: node.struct.pointerCount,
      ...baseSize(fields, node.struct),
      isExtension: this.#notes(node.annotations).isExtension,
    }
  }

  #field(field, doc) {
    if (field.which() !== Field_Which.SLOT)
      throw new Error(`${field.name}: groups are not supported`)
    const notes = this.#notes(field.annotations)
    return {
      name: field.name,
      doc,
      ordinal: field.ordinal.explicit,
      discriminant: field.discriminantValue,
      offset: field.slot.offset,
      type: this.#type(field.slot.type, notes),
      isExtension: notes.isExtension,
    }
  }

  #type(type, notes) {
    const which = type.which()
    const simple = SIMPLE_TYPES.get(which)
    if (which === Type_Which.UINT64 && notes.isBitSet) return { kind: 'bitSet', bits: 64 }
    if (simple !== undefined) return simple
    if (which === Type_Which.DATA)
      return notes.id === undefined ? { kind: 'data' } : { kind: 'id', name: notes.id }
    if (which === Type_Which.LIST)
      return { kind: 'list', element: this.#type(type.list.elementType, notes) }
    if (which === Type_Which.ENUM) {
      const [first] = this.#nodes.get(type.enum.typeId).enum.enumerants
      return { kind: 'enum', bits: 16, zero: first.name, ...this.#reference(type.enum.typeId) }
    }
    if (which === Type_Which.STRUCT)
      return { kind: 'struct', ...this.#reference(type.struct.typeId) }
    throw new Error(`a field of type ${which}: not supported`)
  }

  #reference(id) {
    const node = this.#nodes.get(id)
    const [file, path] = node.displayName.split(':')
    const names = path.split('.')
    const name = node.which() === Node_Which.ENUM ? names.at(-1) : structName(names)
    return { name, path, file: file.replace('.capnp', '') }
  }

  #notes(annotations) {
    const notes = { isExtension: false, isBitSet: false, id: undefined }
    for (const annotation of annotations ?? []) {
      const name = this.#annotations.get(annotation.id)
      if (name === 'extension') notes.isExtension = true
      if (name === 'bitSet') notes.isBitSet = true
      if (name === 'id' && annotation.value.which() === Value_Which.ENUM) {
        notes.id = ID_TYPES[annotation.value.enum]
      }
    }
    return notes
  }
}

const SIMPLE_TYPES = new Map([
  [Type_Which.BOOL, { kind: 'bool', bits: 1 }],
  [Type_Which.UINT8, { kind: 'uint', bits: 8 }],
  [Type_Which.UINT16, { kind: 'uint', bits: 16 }],
  [Type_Which.UINT32, { kind: 'uint', bits: 32 }],
  [Type_Which.UINT64, { kind: 'uint', bits: 64 }],
  [Type_Which.INT64, { kind: 'int', bits: 64 }],
  [Type_Which.FLOAT64, { kind: 'float', bits: 64 }],
  [Type_Which.TEXT, { kind: 'text' }],
])

/** `['Task', 'Argument']` -> `TaskArgument`; names that start with their parent's are kept. */
function structName(path) {
  const [parent, name] = path.slice(-2)
  if (path.length < 2) return parent
  return name.startsWith(parent) ? name : `${parent}${name}`
}

/** The size of a struct without its extension fields. */
function baseSize(fields, struct) {
  const base = fields.filter((field) => !field.isExtension)
  if (base.length === fields.length) {
    return { baseDataWords: struct.dataWordCount, basePointers: struct.pointerCount }
  }
  const bits = base.map((field) =>
    isPointer(field.type) ? 0 : (field.offset + 1) * field.type.bits,
  )
  const pointers = base.map((field) => (isPointer(field.type) ? field.offset + 1 : 0))
  return {
    baseDataWords: Math.ceil(Math.max(0, ...bits) / 64),
    basePointers: Math.max(0, ...pointers),
  }
}

/** Whether values of the type are stored behind a pointer. */
export function isPointer(type) {
  return type.bits === undefined
}

function hexId(id) {
  return `0x${BigInt.asUintN(64, BigInt(id)).toString(16)}`
}

function oneLine(comment) {
  return comment.trim().replaceAll(/\s+/g, ' ')
}

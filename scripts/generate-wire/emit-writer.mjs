// Emits the functions that write each struct: straight-line code with constant offsets.

import { plus } from './emit-reader.mjs'
import { constantName } from './emit-types.mjs'
import { isPointer } from './schema.mjs'
import { hasTwoSizes, sizesOf } from './sizes.mjs'

/** The functions that write a struct, on its own and in a list if it is used in one. */
export function emitWriter(struct) {
  const parts = []
  if (struct.isField) parts.push(emitAdd(struct))
  if (struct.fields.length > 0) parts.push(emitWrite(struct))
  if (struct.isElement) parts.push(emitAddList(struct))
  return parts.join('')
}

/** The function that adds a struct behind a pointer. */
function emitAdd(struct) {
  const { name, fields } = struct
  const { dataWords, pointers, argument, ofOne } = sizesOf(struct)
  const value = fields.length === 0 ? '_value' : 'value'
  const add = `writer.struct(pointerAt, ${dataWords}, ${pointers})`
  const body = fields.length === 0 ? add : `write${name}(writer, ${add}, value${argument})`
  return `
/** Adds the struct and sets the pointer to it. */
export function add${name}(writer: Writer, pointerAt: number, ${value}: ${name}): void {
  ${ofOne}${body}
}
`
}

function emitAddList(struct) {
  const { name } = struct
  const { dataWords, pointers, bytes, argument, ofList } = sizesOf(struct)
  const zero = struct.dataWords > 0 ? `writer.zero(at, ${dataWords})\n` : ''
  const parameters = `writer: Writer, pointerAt: number, values: readonly ${name}[]`
  return `
/** Adds a list of the struct and sets the pointer to it. */
export function add${name}List(${parameters}): void {
  ${ofList}let at = writer.structList(pointerAt, values.length, ${dataWords}, ${pointers})
  for (const value of values) {
    ${zero}write${name}(writer, at, value${argument})
    at += ${bytes}
  }
}
`
}

/** The function that fills in a struct. */
function emitWrite(struct) {
  const { name, fields } = struct
  const { dataBytes, parameter } = sizesOf(struct)
  const hasPointers = fields.some((field) => isPointer(field.type))
  const lines = (isExtension) =>
    fields
      .filter((field) => field.isExtension === isExtension)
      .map((field) => writeField(struct, field))
      .join('\n')
  const extension = hasTwoSizes(struct) ? `\nif (!isExtended) return\n${lines(true)}` : ''
  return `
/** Fills in the struct at \`at\`; its data section is zero. */
function write${name}(writer: Writer, at: number, value: ${name}${parameter}): void {
${hasPointers ? `const pointersAt = ${plus('at', dataBytes)}` : ''}
${lines(false)}${extension}
}
`
}

/** The statement that writes a field. */
function writeField(struct, field) {
  const { type } = field
  const value = `value.${field.name}`
  const label = `'${struct.path}.${field.name}'`
  if (isPointer(type)) return writePointer(type, plus('pointersAt', field.offset * 8), value, label)
  if (type.kind === 'bool') return `writer.bool(at, ${field.offset}, ${value})`
  const at = plus('at', (field.offset * type.bits) / 8)
  if (type.kind === 'enum') {
    return `writer.uint16(${at}, codeOf(${constantName(type.name)}, ${value}, ${label}))`
  }
  return `writer.${type.kind === 'bitSet' ? 'bitSet' : type.kind + type.bits}(${at}, ${value})`
}

function writePointer(type, at, value, label) {
  if (type.kind === 'struct') return `add${type.name}(writer, ${at}, ${value})`
  if (type.kind !== 'list') return `writer.${type.kind}(${at}, ${value})`
  const { element } = type
  switch (element.kind) {
    case 'struct':
      return `add${element.name}List(writer, ${at}, ${value})`
    case 'list':
      return `writer.dataListList(${at}, ${value})`
    case 'enum':
      return `writer.enumList(${at}, ${value}, ${constantName(element.name)}, ${label})`
    default:
      return `writer.${element.kind}List(${at}, ${value})`
  }
}

// Emits one reader per struct: straight-line code with constant offsets.

import { constantName } from './emit-types.mjs'
import { isPointer } from './schema.mjs'

/** The reader of a struct, and of a list of it if some field needs one. */
export function emitReader(struct) {
  const isMember = struct.member !== undefined
  const properties = struct.fields.map((field) => `${field.name}: ${readField(struct, field)},`)
  if (isMember) properties.push('bytes,')
  const names = ['structAt', 'pointersAt', 'structEnd'].filter((name) =>
    properties.some((property) => property.includes(name)),
  )
  if (isMember) properties.unshift(`kind: '${struct.member}',`)
  const reader = names.length === 0 ? '_reader' : 'reader'
  return `
/** Reads the struct that was entered last. */
export function read${struct.name}(${reader}: Reader${
    isMember ? ', bytes: Uint8Array | undefined' : ''
  }): ${struct.name} {
${names.length === 0 ? '' : `const { ${names.join(', ')} } = reader`}
return {
${properties.join('\n')}
}
}
${struct.isElement ? emitListReader(struct, isMember ? ', undefined' : '') : ''}`
}

function emitListReader({ name }, bytes) {
  return `
/** Reads the list of structs behind a pointer. */
export function read${name}List(
  reader: Reader,
  pointerAt: number,
  sectionEnd: number,
): readonly ${name}[] {
  const count = reader.enterStructList(pointerAt, sectionEnd)
  if (count === 0) return NO_ELEMENTS
  const { stride, elementDataBytes, elementPointerBytes } = reader
  const list: ${name}[] = []
  let at = reader.elementsAt
  for (let index = 0; index < count; index += 1, at += stride) {
    list.push(read${name}(reader.enter(at, elementDataBytes, elementPointerBytes)${bytes}))
  }
  return list
}
`
}

/** The expression that reads a field. */
function readField(struct, field) {
  const { type } = field
  const label = `'${struct.path}.${field.name}'`
  if (isPointer(type)) return readPointer(type, plus('pointersAt', field.offset * 8), label)
  if (type.kind === 'bool') return `reader.bool(structAt, ${field.offset}, pointersAt)`
  const at = plus('structAt', (field.offset * type.bits) / 8)
  if (type.kind === 'enum') {
    return `nameOf(${constantName(type.name)}, reader.uint16(${at}, pointersAt), ${label})`
  }
  return `reader.${type.kind === 'bitSet' ? 'bitSet' : type.kind + type.bits}(${at}, pointersAt)`
}

function readPointer(type, at, label) {
  switch (type.kind) {
    case 'data':
    case 'text':
      return `reader.${type.kind}(${at}, structEnd)`
    case 'id':
      return `reader.id(${at}, structEnd) as ${type.name}`
    case 'struct':
      return `read${type.name}(reader.enterStruct(${at}, structEnd))`
    default:
      return readList(type.element, at, label)
  }
}

function readList(element, at, label) {
  switch (element.kind) {
    case 'data':
      return `readDataList(reader, ${at}, structEnd)`
    case 'id':
      return `readIdList(reader, ${at}, structEnd) as readonly ${element.name}[]`
    case 'enum': {
      const count = `reader.enterUint16List(${at}, structEnd)`
      return `readEnumerants(reader, ${count}, ${constantName(element.name)}, ${label})`
    }
    case 'struct':
      return `read${element.name}List(reader, ${at}, structEnd)`
    default:
      if (element.element?.kind === 'data') return `readDataListList(reader, ${at}, structEnd)`
      throw new Error(`${label}: a list of ${element.kind} is not supported`)
  }
}

/** `base + bytes`, without a zero; `bytes` is a number or an expression. */
export function plus(base, bytes) {
  return `${bytes}` === '0' ? base : `${base} + ${bytes}`
}

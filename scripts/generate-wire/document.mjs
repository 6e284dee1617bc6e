// The tables of docs/protocol.md with the position of each field. They are between markers: the
// text around them is written by hand, and the tables always match the schemas.

import { isPointer } from './schema.mjs'

const TABLES = { messages: renderMessages, structs: renderStructs }

/** Updates the tables of the document from the schemas. */
export function updateDocument(text, model) {
  let updated = text
  for (const [name, render] of Object.entries(TABLES)) {
    const begin = `<!-- begin ${name}: generated from protocol/ -->`
    const end = `<!-- end ${name} -->`
    const from = updated.indexOf(begin)
    const to = updated.indexOf(end)
    if (from < 0 || to < from) throw new Error(`docs/protocol.md: no place for ${name}`)
    updated = `${updated.slice(0, from + begin.length)}\n\n${render(model)}\n\n${updated.slice(to)}`
  }
  return updated
}

function renderMessages({ message, structs }) {
  const rows = message.fields.map((field) => {
    const struct = structs.find((candidate) => candidate.name === field.type.name)
    return `| ${field.discriminant} | \`${field.name}\` | ${link(struct)} | ${linked(struct.doc)} |`
  })
  return `| number | kind | struct | what |\n| --: | --- | --- | --- |\n${rows.join('\n')}`
}

function renderStructs({ files, message }) {
  return files.map((file) => renderFile(file, message)).join('\n\n')
}

function renderFile(file, message) {
  const root = message.file === file.name ? [renderRoot(message)] : []
  const parts = [...file.enums.map(renderEnum), ...root, ...file.structs.map(renderStruct)]
  return `### ${file.name}.capnp\n\nFile id \`${file.id}\`.\n\n${parts.join('\n\n')}`
}

function renderEnum(type) {
  const rows = type.enumerants.map(
    (enumerant, index) =>
      `| ${index} | \`${enumerant.name}\` | ${linked(enumerant.doc)}${noteOf(enumerant)} |`,
  )
  return [
    `#### enum ${type.path}`,
    `Id \`${type.id}\`.`,
    `| number | name | meaning |\n| --: | --- | --- |\n${rows.join('\n')}`,
  ].join('\n\n')
}

function renderRoot(message) {
  return `#### struct Message

Id \`${message.id}\`; ${sizeOf(message.dataWords, message.pointers)}. ${message.doc}

It contains only a union: bytes 0-1 of the data section are the number of the message in
[the table above](#messages), pointer 0 points to its struct.`
}

function renderStruct(struct) {
  const { dataWords, pointers, baseDataWords, basePointers } = struct
  const isTwoSized = dataWords !== baseDataWords || pointers !== basePointers
  const base = isTwoSized ? ` (in 1.9.9 ${sizeOf(baseDataWords, basePointers)})` : ''
  const note = struct.isExtension ? ' Not in 1.9.9.' : ''
  const head = `Id \`${struct.id}\`; ${sizeOf(dataWords, pointers)}${base}.${note}`
  const rows = struct.fields.map(
    (field) =>
      `| ${field.ordinal} | \`${field.name}\` | ${typeName(field.type)} | ${placeOf(field)} | ` +
      `${linked(field.doc)}${noteOf(field)} |`,
  )
  const table = `| @ | field | type | place | meaning |\n| --: | --- | --- | --- | --- |\n`
  return [
    `#### struct ${struct.path}`,
    `${head} ${linked(struct.doc)}`,
    rows.length === 0 ? 'No fields.' : table + rows.join('\n'),
  ].join('\n\n')
}

function sizeOf(dataWords, pointers) {
  const count = (number, noun) => `${number} ${noun}${number === 1 ? '' : 's'}`
  return `${count(dataWords, 'data word')}, ${count(pointers, 'pointer')}`
}

function placeOf({ type, offset }) {
  if (isPointer(type)) return `pointer ${offset}`
  if (type.kind === 'bool') return `bit ${offset}`
  const bytes = type.bits / 8
  return bytes === 1 ? `byte ${offset}` : `bytes ${offset * bytes}-${(offset + 1) * bytes - 1}`
}

function typeName(type) {
  switch (type.kind) {
    case 'bool':
      return 'Bool'
    case 'uint':
    case 'bitSet':
      return `UInt${type.bits}`
    case 'int':
      return `Int${type.bits}`
    case 'float':
      return `Float${type.bits}`
    case 'text':
      return 'Text'
    case 'data':
      return 'Data'
    case 'id':
      return `Data (${type.name})`
    case 'list':
      return `List of ${typeName(type.element)}`
    default:
      return link(type, type.kind)
  }
}

function link(type, kind = 'struct') {
  return `[${type.path}](#${kind}-${type.path.replaceAll('.', '').toLowerCase()})`
}

/** Comments in the schemas refer to this document by its path; within it, a link is enough. */
function linked(comment) {
  return comment.replaceAll(/docs\/protocol\.md#([\w-]+)/g, (_, anchor) => {
    return `[${anchor.replaceAll('-', ' ')}](#${anchor})`
  })
}

function noteOf({ isExtension }) {
  return isExtension ? ' *Not in 1.9.9.*' : ''
}

// Assembles the parts of one generated file: one file per schema, with the imports it needs.

import { emitReader } from './emit-reader.mjs'
import { constantName, emitEnum, emitInterface } from './emit-types.mjs'
import { emitMeasures } from './emit-measure.mjs'
import { emitWriter } from './emit-writer.mjs'

const ID_TYPES = ['Identity', 'ObjectId', 'SchedulerId', 'TaskId']
const LISTS = ['readDataList', 'readDataListList', 'readEnumerants', 'readIdList']
const MEASURES = [
  'dataListListWords',
  'dataListWords',
  'dataWords',
  'enumListWords',
  'idListWords',
  'idWords',
  'structListWords',
  'textWords',
]

/** The source text of the generated file for one schema, not formatted yet. */
export function emitFile(file, model) {
  const parts = [
    ...file.enums.map((type) => emitEnum(type)),
    ...file.structs.map((struct) => emitStruct(struct)),
  ]
  if (model.message.file === file.name) parts.push(emitMessage(model))
  const body = parts.join('\n')
  return `${emitHead(file)}\n${emitImports(file, body, model)}\n${body}`
}

function emitStruct(struct) {
  return [emitInterface, emitReader, emitMeasures, emitWriter].map((emit) => emit(struct)).join('')
}

function emitHead(file) {
  return `// Generated from protocol/${file.name}.capnp by \`npm run generate\`; do not edit.
// Types, readers and writers of the structs, which docs/protocol.md describes.`
}

function emitImports(file, body, model) {
  const lines = [
    importOf('../../base/ids.js', [], used(ID_TYPES, body)),
    importOf('../../base/errors.js', used(['ProtocolError'], body), []),
    importOf('../measure.js', used([...MEASURES, 'codeOf', 'nameOf', ...LISTS], body), []),
    importOf('../reader.js', used(['NO_ELEMENTS'], body), ['Reader']),
    importOf('../writer.js', [], ['Writer']),
  ]
  for (const name of file.uses) {
    const other = model.files.find((candidate) => candidate.name === name)
    lines.push(importOf(`./${name}.js`, used(functionsOf(other), body), used(typesOf(other), body)))
  }
  return lines.join('\n')
}

function typesOf(file) {
  return [...file.enums, ...file.structs].map((type) => type.name)
}

function functionsOf(file) {
  const constants = file.enums.map((type) => constantName(type.name))
  const functions = file.structs.flatMap(({ name }) =>
    ['read', 'measure', 'size', 'add'].flatMap((verb) => [`${verb}${name}`, `${verb}${name}List`]),
  )
  return [...constants, ...functions]
}

/** The names that occur in the text as words. */
function used(names, text) {
  return names.filter((name) => new RegExp(`\\b${name}\\b`).test(text))
}

function importOf(path, values, types) {
  const names = [...values, ...types.map((name) => (values.length > 0 ? `type ${name}` : name))]
  if (names.length === 0) return ''
  return `import ${values.length > 0 ? '' : 'type '}{ ${names.join(', ')} } from '${path}'`
}

/** The union of all messages, and the functions that read, measure and write it. */
function emitMessage(model) {
  const members = model.message.fields
  const tags = (emitCase) => members.map((field) => emitCase(field, field.type.name)).join('\n')
  return `
/** Any message (docs/protocol.md#messages); \`kind\` says which one. */
export type Message = ${members.map((field) => field.type.name).join(' | ')}

/** Reads the message in a frame. Throws \`ProtocolError\` if its kind is unknown. */
export function readMessage(reader: Reader, bytes: Uint8Array): Message {
  const { structAt, pointersAt, structEnd } = reader.enterRoot()
  const tag = reader.uint16(structAt, pointersAt)
  switch (tag) {
${tags(
  (field, name) => `case ${field.discriminant}:
  return read${name}(reader.enterStruct(pointersAt, structEnd), bytes)`,
)}
    default:
      throw new ProtocolError(
        \`Message: unknown kind \${tag}, known are 0 to ${members.length - 1}\`,
      )
  }
}

/** Words of a whole message. Throws \`ProtocolError\` if its kind is unknown. */
export function measureMessage(message: Message, referenceFrom: number): number {
  switch (message.kind) {
${tags((field, name) => `case '${field.name}': return 3 + size${name}(message, referenceFrom)`)}
    default: throw unknownKind(message)
  }
}

/** Writes a whole message that has been measured. */
export function writeMessage(writer: Writer, message: Message): void {
  const at = writer.struct(8, 1, 1)
  switch (message.kind) {
${tags(
  (field, name) => `case '${field.name}':
  writer.uint16(at, ${field.discriminant})
  add${name}(writer, at + 8, message)
  break`,
)}
    default: throw unknownKind(message)
  }
}

function unknownKind(message: never): ProtocolError {
  const { kind } = message as { kind?: unknown }
  return new ProtocolError(\`Message: unknown kind \${String(kind)}\`)
}
`
}

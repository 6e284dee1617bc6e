// Emits the TypeScript types: one interface per struct, one union of literals per enum.

/** The TypeScript type of a field. */
export function typeOf(type) {
  switch (type.kind) {
    case 'bool':
      return 'boolean'
    case 'uint':
    case 'int':
    case 'float':
    case 'bitSet':
      return 'number'
    case 'text':
      return 'string'
    case 'data':
      return 'Uint8Array'
    case 'list': {
      const element = typeOf(type.element)
      return `readonly ${type.element.kind === 'list' ? `(${element})` : element}[]`
    }
    default:
      return type.name
  }
}

/** `TaskStatus` -> `TASK_STATUS`. */
export function constantName(name) {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, '_$&').toUpperCase()
}

/** The union of an enum's names, and the names in order of their numbers. */
export function emitEnum(type) {
  const names = type.enumerants.map((enumerant) => `'${enumerant.name}'`)
  const lines = type.enumerants.map((enumerant) => ` * - \`${enumerant.name}\`: ${enumerant.doc}`)
  return `
/**
 * \`${type.path}\` of the schema.
${lines.join('\n')}
 */
export type ${type.name} = ${names.join(' | ')}

/** The names of \`${type.name}\` by their numbers. */
export const ${constantName(type.name)}: readonly ${type.name}[] = [${names.join(', ')}]
`
}

/** The interface of a struct. */
export function emitInterface(struct) {
  const fields = struct.fields.map((field) => {
    const note = field.isExtension ? ' Not in 1.9.9.' : ''
    return `/** ${field.doc}${note} */\nreadonly ${field.name}: ${typeOf(field.type)}`
  })
  if (struct.member !== undefined) {
    fields.unshift(`readonly kind: '${struct.member}'`)
    fields.push(
      `/**
        * Inside this package, the encoded message that this was decoded from, if any. Always
        * undefined in \`scaler-ts/protocol\`.
        */
       readonly bytes?: Uint8Array | undefined`,
    )
  }
  const place = struct.member === undefined ? '' : ` (docs/protocol.md#${anchorOf(struct)})`
  return `
/** ${struct.doc}${place} */
export interface ${struct.name} {
${fields.join('\n')}
}
`
}

/** The anchor of a struct's table in docs/protocol.md. */
export function anchorOf(struct) {
  return `struct-${struct.path.replaceAll('.', '').toLowerCase()}`
}

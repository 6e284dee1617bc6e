// Emits, per struct, what measures it: so that the writer can ask for the right amount of memory.

import { isPointer } from './schema.mjs'
import { hasTwoSizes, sizesOf } from './sizes.mjs'

/** Everything that measures a struct, by itself and in a list where it is used so. */
export function emitMeasures(struct) {
  const parts = [emitMeasure(struct)]
  if (hasTwoSizes(struct)) parts.unshift(emitIsExtended(struct))
  if (struct.isField) parts.push(emitSize(struct))
  if (struct.isElement) parts.push(emitMeasureList(struct))
  return parts.join('')
}

function emitIsExtended({ name, fields }) {
  const tests = fields
    .filter((field) => field.isExtension)
    .map((field) => `value.${field.name}${testOf(field.type)}`)
  return `
/** Whether any field is set that 1.9.9 does not have. */
function isExtended${name}(value: ${name}): boolean {
  return ${tests.join(' || ')}
}
`
}

function testOf(type) {
  if (type.kind === 'bool') return ''
  if (type.kind === 'enum') return ` !== '${type.zero}'`
  return isPointer(type) ? '.length > 0' : ' !== 0'
}

/** The function for the words of a struct and all behind it. */
function emitSize(struct) {
  const { name } = struct
  const { words, argument, ofOne } = sizesOf(struct)
  return `
/** Words of the struct and of all that is behind its pointers. */
export function size${name}(value: ${name}, referenceFrom: number): number {
  ${ofOne}return ${words} + measure${name}(value, referenceFrom${argument})
}
`
}

/** The function that measures what is behind the pointers of a struct. */
function emitMeasure(struct) {
  const { name, fields } = struct
  const sumOf = (isExtension) =>
    fields
      .filter((field) => isPointer(field.type) && field.isExtension === isExtension)
      .map((field) => measureField(`value.${field.name}`, field.type))
      .join(' + ') || '0'
  const body = hasTwoSizes(struct)
    ? `const words = ${sumOf(false)}\nreturn isExtended ? words + ${sumOf(true)} : words`
    : `return ${sumOf(false)}`
  const value = body.includes('value') ? 'value' : '_value'
  const referenceFrom = body.includes('referenceFrom') ? 'referenceFrom' : '_referenceFrom'
  const parameters = `${value}: ${name}, ${referenceFrom}: number${sizesOf(struct).parameter}`
  return `
/** Words of all that is behind the pointers of the struct. */
export function measure${name}(${parameters}): number {
${body}
}
`
}

function emitMeasureList(struct) {
  const { name } = struct
  const { words, argument, ofList } = sizesOf(struct)
  return `
/** Words of a list of the struct: all its elements have the same size. */
export function measure${name}List(values: readonly ${name}[], referenceFrom: number): number {
  ${ofList}let words = structListWords(values.length, ${words})
  for (const value of values) words += measure${name}(value, referenceFrom${argument})
  return words
}
`
}

/** The expression for the words of a field's value. */
function measureField(value, type) {
  switch (type.kind) {
    case 'data':
      return `dataWords(${value}, referenceFrom)`
    case 'text':
    case 'id':
      return `${type.kind}Words(${value})`
    case 'struct':
      return `size${type.name}(${value}, referenceFrom)`
    default:
      return measureList(value, type.element)
  }
}

function measureList(value, element) {
  switch (element.kind) {
    case 'data':
      return `dataListWords(${value}, referenceFrom)`
    case 'list':
      return `dataListListWords(${value}, referenceFrom)`
    case 'struct':
      return `measure${element.name}List(${value}, referenceFrom)`
    default:
      return `${element.kind}ListWords(${value})`
  }
}

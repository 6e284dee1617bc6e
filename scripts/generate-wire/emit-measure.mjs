// Emits the functions that measure each struct, so that the writer can allocate the right amount of
// memory.

import { isPointer } from './schema.mjs'
import { hasTwoSizes, sizesOf } from './sizes.mjs'

/** The functions that measure a struct, on its own and in a list if it is used in one. */
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

/** The function that measures a struct and everything that it points to. */
function emitSize(struct) {
  const { name } = struct
  const { words, argument, ofOne } = sizesOf(struct)
  return `
/** Words of the struct and of everything that it points to. */
export function size${name}(value: ${name}, referenceFrom: number): number {
  ${ofOne}return ${words} + measure${name}(value, referenceFrom${argument})
}
`
}

/** The function that measures everything that a struct points to. */
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
/** Words of everything that the struct points to. */
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

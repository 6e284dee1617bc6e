// A struct with extension fields has two sizes: if all of them are empty, it has the size without
// them, so that 1.9.9 peers receive the bytes that they expect.

/** Whether a struct has two sizes. */
export function hasTwoSizes(struct) {
  return struct.fields.some((field) => field.isExtension)
}

/**
 * The sizes of a struct as expressions: numbers, or a choice by `isExtended` if it has two.
 * `argument` and `parameter` pass that choice on.
 */
export function sizesOf(struct) {
  const { dataWords, pointers, baseDataWords, basePointers } = struct
  const either = (full, base) => (full === base ? `${full}` : `(isExtended ? ${full} : ${base})`)
  const isTwoSized = hasTwoSizes(struct)
  return {
    words: either(dataWords + pointers, baseDataWords + basePointers),
    bytes: either((dataWords + pointers) * 8, (baseDataWords + basePointers) * 8),
    dataWords: either(dataWords, baseDataWords),
    dataBytes: either(dataWords * 8, baseDataWords * 8),
    pointers: either(pointers, basePointers),
    parameter: isTwoSized ? ', isExtended: boolean' : '',
    argument: isTwoSized ? ', isExtended' : '',
    ofOne: isTwoSized ? `const isExtended = isExtended${struct.name}(value)\n` : '',
    ofList: isTwoSized ? `const isExtended = values.some(isExtended${struct.name})\n` : '',
  }
}

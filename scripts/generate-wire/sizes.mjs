// A struct with extension fields has two sizes: the one that it had without them where they are all
// empty, so that 1.9.9 peers see the bytes that they know.

/** Whether a struct has two sizes. */
export function hasTwoSizes(struct) {
  return struct.fields.some((field) => field.isExtension)
}

/**
 * The sizes of a struct as expressions: numbers, or a choice by `isExtended` where it has two.
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

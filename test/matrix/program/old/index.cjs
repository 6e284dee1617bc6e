// The cases that only CommonJS can have, and some that compilers must not touch.

exports.cases = [
  ...require('./functions.cjs').cases,
  ...require('./modules.cjs').cases,
  ...require('./strict.cjs').cases,
]

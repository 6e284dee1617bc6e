// What methods and functions of JavaScript do with a value, as far as read-depth.ts must know.

function setOf(words: string): ReadonlySet<string> {
  return new Set(words.split(' '))
}

/** Methods that return only numbers, texts and other primitives. */
export const TELLING: ReadonlySet<string> = setOf(
  'includes indexOf lastIndexOf join has toString toLocaleString hasOwnProperty test exec call ' +
    'apply getTime getFullYear getMonth getDate getDay getHours getMinutes getSeconds ' +
    'getMilliseconds getTimezoneOffset getUTCFullYear getUTCMonth getUTCDate getUTCDay ' +
    'getUTCHours getUTCMinutes getUTCSeconds getUTCMilliseconds toISOString toJSON ' +
    'toDateString toTimeString toUTCString getInt8 getUint8 getInt16 getUint16 getInt32 ' +
    'getUint32 getFloat32 getFloat64 getBigInt64 getBigUint64 isSubsetOf isSupersetOf ' +
    'isDisjointFrom',
)

/** Methods that return one of the elements. */
export const FINDING: ReadonlySet<string> = setOf('at get find findLast')

/** Methods that return a new collection with the elements in it. */
export const COPYING: ReadonlySet<string> = setOf(
  'slice concat filter flat toReversed toSorted toSpliced with union intersection difference ' +
    'symmetricDifference',
)

/** Methods that return an iterator of the elements or of entries. */
export const LISTING: ReadonlySet<string> = setOf('entries keys values')

/** Methods that only add to a collection, and return a number. */
export const ADDING: ReadonlySet<string> = setOf('push unshift')

/** Methods that remove an element of a collection, and return it. */
export const REMOVING: ReadonlySet<string> = setOf('pop shift')

/** Methods that change a collection, and return it. */
export const REORDERING: ReadonlySet<string> = setOf('sort reverse fill copyWithin')

const ELEMENTS: readonly number[] = [1, 1, 0]
/** The levels of the parameters of `reduce`: the result so far may be an element. */
export const ACCUMULATED: readonly number[] = [1, 1, 1, 0]
/** The same for a function that compares two elements. */
export const COMPARED: readonly number[] = [1, 1]

/** Methods that call a function; for each of its parameters, the level of the argument. */
export const CALLBACKS: ReadonlyMap<string, readonly number[]> = new Map([
  ...[...setOf('map filter forEach some every find findLast findIndex findLastIndex flatMap')].map(
    (name) => [name, ELEMENTS] as const,
  ),
  ['reduce', ACCUMULATED],
  ['reduceRight', ACCUMULATED],
  ['toSorted', COMPARED],
])

/** Functions that return primitives. */
export const CONVERTERS: ReadonlySet<string> = setOf(
  'Number String Boolean BigInt parseInt parseFloat isNaN isFinite',
)

/** Functions that change nothing and keep no reference. */
export const TAKING: ReadonlySet<string> = setOf(
  'structuredClone Array.isArray Object.keys Object.getOwnPropertyNames Object.hasOwn ' +
    'Object.is Object.isFrozen console.log console.info console.warn console.error ' +
    'console.debug console.dir console.table Buffer.byteLength Number.isInteger Number.isFinite',
)

/** Functions that return a new array with the content of the argument in it. */
export const LISTS: ReadonlySet<string> = setOf('Object.values Object.entries Array.from')

/** Functions that return a new object with the content of the argument in it. */
export const OPENING: ReadonlySet<string> = setOf(
  'Object.values Object.entries Object.fromEntries Object.assign Array.from',
)

/** Classes whose instances contain the elements of their argument. */
export const NEW_COPY: ReadonlySet<string> = setOf('Map Set')

/** What returns a part of a `Buffer` that shares its memory, apart from what every view has. */
export const SHARING: ReadonlySet<string> = setOf('slice parent')
/** A text without it shares nothing. */
export const SHARING_TEXT: RegExp = /slice|parent/

/** The properties that are numbers on every object that is not a plain one. */
export const COUNTS: ReadonlySet<string> = setOf('length size byteLength')

// `npm test` runs a reduced amount of the tests that take minutes with `npm test -- --all`
// (scripts/test-scope.mjs).

/** Whether this is a reduced run. */
export const isShort: boolean = process.env['TEST_SHORT'] === '1'

/** `whole` in a complete run, otherwise `short`. */
export function sized<T>(whole: T, short: T): T {
  return isShort ? short : whole
}

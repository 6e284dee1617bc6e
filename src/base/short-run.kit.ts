// `npm test` does less of the same where `npm test -- --all` takes minutes (scripts/test-scope.mjs).

/** Whether this run is not for all there is. */
export const isShort: boolean = process.env['TEST_SHORT'] === '1'

/** `whole` where all is tried, `short` else. */
export function sized<T>(whole: T, short: T): T {
  return isShort ? short : whole
}

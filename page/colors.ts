// The colours of functions in the timeline: far from the red of failures and from each other, and
// readable on the light and the dark background.

/** In this order, so that the first ones differ most. */
export const FUNCTION_COLORS: readonly string[] = [
  '#0096e1',
  '#b4780f',
  '#b42da5',
  '#00783c',
  '#783cff',
  '#879600',
  '#3c9696',
  '#966996',
  '#00a500',
  '#4b78ff',
  '#78694b',
  '#ff00ff',
]

/**
 * A colour per function, by its place among those that the server knows, which does not change.
 * With more than twelve functions, some have the same. `running`: these may not be known yet.
 */
export function functionColors(
  functions: readonly string[],
  running: readonly string[],
): ReadonlyMap<string, string> {
  const names = [...new Set([...functions, ...running])]
  return new Map(
    names.map((name, at) => [name, FUNCTION_COLORS[at % FUNCTION_COLORS.length] ?? '']),
  )
}

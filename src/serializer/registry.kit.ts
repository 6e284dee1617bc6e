// For tests: constants of another module that are empty at first.

/** Changed while the program runs. */
export const registry: Record<string, unknown> = {}

/** The same, but not empty from the start. */
export const counts: Map<string, unknown> = new Map()

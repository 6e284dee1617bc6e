// A module whose functions have not been inspected yet when those of the main module have.

const factor = 1.5

/** Uses a constant of its module. */
export const scale = (value: number): number => value * factor

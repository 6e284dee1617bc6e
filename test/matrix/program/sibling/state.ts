// A module with state.

const scales = new Map<string, number>([['area', 1]])

/** Changed by `setRate`: an import of it is live. */
export let rate = 1

export function setRate(value: number): void {
  rate = value
}

export function readRate(): number {
  return rate
}

export function scaleOf(name: string): number {
  return scales.get(name) ?? 0
}

export function setScale(name: string, value: number): void {
  scales.set(name, value)
}

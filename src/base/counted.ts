// Numbers of things, as people say them.

/** `1 worker`, `2 workers`. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`
}

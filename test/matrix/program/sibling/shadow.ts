// Variables of a module with the names of globals.

const process = { pid: 'mine' }
const console = { log: (): string => 'no log' }
const Map = Array
const JSON = 'a string'

/** The meaning of the names here. */
export function readShadows(): unknown[] {
  return [process.pid, console.log(), Map.of(1, 2), JSON]
}

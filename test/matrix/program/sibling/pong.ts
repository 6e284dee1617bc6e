// The other one of ping.ts.

import { ping } from './ping.js'

export function pong(n: number): string {
  return n === 0 ? 'pong' : `pong ${ping(n - 1)}`
}

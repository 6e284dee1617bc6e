// Two modules that import each other: this one and pong.ts.

import { pong } from './pong.js'

export function ping(n: number): string {
  return n === 0 ? 'ping' : `ping ${pong(n - 1)}`
}

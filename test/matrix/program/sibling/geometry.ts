// A module of functions, some of which use others of it.

import { scaleOf } from './state.js'

/** Not exported elsewhere. */
const half = (x: number): number => x / 2

export function area(width: number, height: number): number {
  return width * height * scaleOf('area')
}

export const triangle = (width: number, height: number): number => half(area(width, height))

/** A class of a sibling. */
export class Square {
  readonly side: number
  constructor(side: number) {
    this.side = side
  }
  get area(): number {
    return area(this.side, this.side)
  }
}

function perimeter(width: number, height: number): number {
  return 2 * (width + height)
}
export { perimeter as default }

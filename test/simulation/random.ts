// Random numbers from a seed: the same seed gives the same numbers on every machine. The simulator
// uses no others.

/** A stream of numbers. */
export class Random {
  readonly #seed: number
  #state: number

  /** Any whole number. */
  constructor(seed: number) {
    this.#seed = scramble(seed)
    this.#state = this.#seed
  }

  /**
   * A separate stream that depends on the seed and the name only, not on earlier draws: draws in
   * one part of the world do not change those in another.
   */
  fork(name: string): Random {
    let hash = this.#seed
    for (let at = 0; at < name.length; at += 1) {
      hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
    }
    return new Random(hash)
  }

  /** From 0 to just below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from 0 to `below - 1`. */
  int(below: number): number {
    return Math.floor(this.next() * below)
  }

  /** A whole number from `min` to `max`, both included. */
  whole(min: number, max: number): number {
    return min + this.int(max - min + 1)
  }

  /** A number between two others. */
  between(min: number, max: number): number {
    return min + this.next() * (max - min)
  }

  /** A number between two positive others, each order of magnitude as likely as the next. */
  spread(min: number, max: number): number {
    return min * (max / min) ** this.next()
  }

  /** True with a probability of 1 in `cases`. */
  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** One of some. */
  pick<T>(items: readonly T[]): T {
    return items[this.int(items.length)] as T
  }

  /** One of some names, by weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries(weights) as [Name, number][]
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name
    }
    return (entries.at(-1) as [Name, number])[0]
  }
}

function scramble(seed: number): number {
  const mixed = Math.imul((seed ^ (seed >>> 16)) + 0x9e3779b9, 0x85ebca6b)
  return Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) | 0
}

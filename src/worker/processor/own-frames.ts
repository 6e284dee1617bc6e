// Users see only their own frames in stacks: of errors, and of what runs at a moment.

import { fileURLToPath } from 'node:url'

/** The folder of this package's compiled files. */
const OWN_URL: string = new URL('../..', import.meta.url).href
const OWN_PATH: string = fileURLToPath(OWN_URL)

/** Modules of Node through which this package calls user code. */
const INSIDES: ReadonlySet<string> = new Set(['node:async_hooks', 'node:vm'])

const FRAME = /^\s+at (?:async )?(?:.*? \()?(\S.*?):\d+:\d+\)?$/

/** The stack without the frames that called user code. */
export function withoutOwnFrames(stack: string): string {
  const lines = stack.split('\n')
  const places = lines.map((line) => FRAME.exec(line)?.[1])
  const lastOwn = places.findLastIndex((place) => place !== undefined && isOwn(place))
  const kept = lines.filter((_, index) => {
    const place = places[index]
    if (place === undefined) return true
    if (isOwn(place) || isInside(place)) return false
    // Below our last frame there is only Node's code that reads the pipe.
    return lastOwn < 0 || index < lastOwn || !place.startsWith('node:')
  })
  return kept.join('\n')
}

function isOwn(place: string): boolean {
  return place.startsWith(OWN_URL) || place.startsWith(OWN_PATH)
}

function isInside(place: string): boolean {
  return place.startsWith('node:internal/') || INSIDES.has(place)
}

// Which of several object storage servers gets the next content. It is separate because it decides
// everything about how content is spread: docs/protocol.md#servers

import { parseAddress } from '../../transport/address.js'
import { isOwnHost } from '../process-usage.js'

/** A server that can be used. */
export interface Choice {
  readonly name: string
  /** It is on this machine. */
  readonly isNear: boolean
  /** How much more it can store, in bytes; 0: not known. */
  readonly freeBytes: number
}

/**
 * The name of one of these: on this machine if there is any. Of several, one at random, with
 * chances in proportion to their free room, so that not all clients use the same one; with equal
 * chances if the room of one is not known. `random`: at least 0, below 1.
 */
export function chooseServer(choices: readonly Choice[], random: number): string | undefined {
  const near = choices.filter(({ isNear }) => isNear)
  const candidates = near.length > 0 ? near : choices
  const isKnown = candidates.every(({ freeBytes }) => freeBytes > 0)
  const weightOf = ({ freeBytes }: Choice): number => (isKnown ? freeBytes : 1)
  let left = random * candidates.reduce((sum, choice) => sum + weightOf(choice), 0)
  const chosen = candidates.find((choice) => (left -= weightOf(choice)) < 0)
  return (chosen ?? candidates.at(-1))?.name
}

/** Whether what listens at this address is on this machine. */
export function isHere(text: string): boolean {
  const address = parseAddress(text)
  return address.kind === 'ipc' || isOwnHost(address.host)
}

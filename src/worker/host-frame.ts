// The first frame that a processor gets: whose it is. One that was started in advance learns it
// only then.

import { ProtocolError } from '../base/errors.js'
import { identity, type Identity } from '../base/ids.js'

/** What a processor has to know of its worker. */
export interface HostFacts {
  /** Where the worker's scheduler is. */
  readonly address: string
  readonly worker: Identity
  /** Longer results become objects, in bytes. */
  readonly inlineLimitBytes: number
  /** How long the worker lets any task run, in milliseconds; 0 = for ever. */
  readonly taskTimeoutMs: number
}

/** The facts as bytes. */
export function encodeHost(facts: HostFacts): Uint8Array {
  return Buffer.from(JSON.stringify(facts))
}

/** The facts again. Throws `ProtocolError`. */
export function decodeHost(bytes: Buffer): HostFacts {
  try {
    const facts = JSON.parse(bytes.toString()) as Readonly<Record<keyof HostFacts, unknown>>
    const { address, worker, inlineLimitBytes, taskTimeoutMs } = facts
    if (typeof address === 'string' && typeof worker === 'string') {
      if (typeof inlineLimitBytes === 'number' && typeof taskTimeoutMs === 'number') {
        return { address, worker: identity(worker), inlineLimitBytes, taskTimeoutMs }
      }
    }
  } catch {
    // What is no JSON is no better than JSON of something else.
  }
  throw new ProtocolError('an agent has told its processor nothing that makes sense')
}

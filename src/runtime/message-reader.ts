// Reads the messages that a socket receives. Those that cannot be read are dropped and logged at a
// bounded rate, so that a hostile peer can neither stop this process nor fill its log.

import { ProtocolError } from '../base/errors.js'
import type { Identity } from '../base/ids.js'
import type { LogFields } from '../base/logger.js'
import { BoundedLog } from '../transport/bounded-log.js'
import type { IncomingMessage } from '../transport/options.js'
import { decode, type Message } from '../wire/message.js'

/** Decodes messages. */
export class MessageReader {
  readonly #dropped: BoundedLog<'malformed', LogFields>

  /** `warn` writes a line to the log. */
  constructor(warn: (text: string, fields: LogFields) => void) {
    this.#dropped = new BoundedLog((last, count) => {
      if (count === 1) return warn('dropped a malformed message', last)
      warn(`dropped ${count} more malformed messages; the last one`, { count, ...last })
    })
  }

  /** The message; undefined if it is malformed. `peer` names the sender where there are many. */
  read(frames: IncomingMessage, peer?: Identity): Message | undefined {
    try {
      if (frames instanceof Uint8Array) return decode(frames)
      throw new ProtocolError('more than one frame')
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      const { message: text } = error
      this.#dropped.note('malformed', peer === undefined ? { error: text } : { peer, error: text })
      return undefined
    }
  }

  /** Logs nothing more. */
  close(): void {
    this.#dropped.close()
  }
}

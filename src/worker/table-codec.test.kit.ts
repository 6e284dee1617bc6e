// For tests of the processor: functions and values by their name in a table, so that no bytes need
// to be made.

import type { AttachmentBytes } from '../serializer/default-serializer.js'
import type { ReadShipment } from '../serializer/value/message.js'
import type { ShippedFunction, TaskCodec } from '../serializer/task-codec.js'

/** A codec whose bytes are names. */
export class TableCodec implements TaskCodec {
  readonly values: Map<string, unknown> = new Map()
  /** Whether functions are made once for all tasks. */
  isSteady = true
  /** Called with the name of whatever is read. */
  onRead: (name: string) => void = () => {}
  /** How many attachments a function has, by its name. */
  readonly counts: Map<string, number> = new Map()
  /** Of the function that was read last: the names of its attachments. */
  lastAttachments: readonly string[] = []

  serialize(value: unknown): Uint8Array {
    if (typeof value === 'symbol') throw new TypeError('symbols cannot travel')
    return Buffer.from(JSON.stringify(value) ?? '')
  }

  deserialize(bytes: Uint8Array): unknown {
    const name = textOf(bytes)
    this.onRead(name)
    if (!this.values.has(name)) throw new TypeError(`no ${name}`)
    return this.values.get(name)
  }

  serializeFunction(): ShippedFunction {
    throw new Error('not on a worker')
  }

  deserializeFunction(bytes: Uint8Array, attachments: readonly AttachmentBytes[]): ReadShipment {
    this.lastAttachments = attachments.map((attachment) => textOf(attachment.bytes))
    return { value: this.deserialize(bytes), isSteady: this.isSteady }
  }

  attachmentCount(bytes: Uint8Array): number {
    return this.counts.get(textOf(bytes)) ?? 0
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString()
}

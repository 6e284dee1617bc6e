// For tests of the processor: functions and values are looked up by name in a table, so that
// nothing has to be serialized.

import type { AttachmentBytes } from '../serializer/default-serializer.js'
import type { ReadShipment } from '../serializer/value/message.js'
import type { ShippedFunction, TaskCodec } from '../serializer/task-codec.js'

/** A codec that encodes values as names. */
export class TableCodec implements TaskCodec {
  readonly values: Map<string, unknown> = new Map()
  /** Whether functions are created once for all tasks. */
  isSteady = true
  /** Called with the name of each value that is read. */
  onRead: (name: string) => void = () => {}
  /** The number of attachments of each function, by name. */
  readonly counts: Map<string, number> = new Map()
  /** The names of the attachments of the function that was read last. */
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

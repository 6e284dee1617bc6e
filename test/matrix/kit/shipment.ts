// The messages between a program of the matrix and its far side. Types only.

/** A call: each part serialized separately, as for a task. */
export interface Shipment {
  readonly fn: Uint8Array
  readonly args: readonly Uint8Array[]
}

/** The outcome. */
export type Answer =
  | { readonly kind: 'value'; readonly bytes: Uint8Array }
  | { readonly kind: 'thrown'; readonly bytes: Uint8Array }
  /** Function or arguments could not be deserialized. */
  | { readonly kind: 'unreadable'; readonly text: string }

// What all sockets of the transport have in common: frames, limits and what is told to their owner.
// A message is one frame, or several ("more" frames); the engine's own protocol uses one.

/**
 * One frame to be sent: its bytes, or pieces of them in order, which are written without being
 * joined. Pieces of less than 16 KiB are copied inside `send`; larger ones belong to the transport
 * from then on and must not be changed.
 */
export type OutgoingFrame = Uint8Array | readonly Uint8Array[]

/**
 * One received message: its only frame, or all frames where there were several. Frames may share
 * memory with others of the same read: keep a copy, not a frame, for longer than a moment.
 */
export type IncomingMessage = Buffer | readonly Buffer[]

/** Bounds of one socket. Every one has a default in `DEFAULT_SOCKET_LIMITS`. */
export interface SocketLimits {
  /** Longest frame that is accepted, in bytes. */
  readonly maxFrameBytes: number
  /** Most frames in one message. */
  readonly maxFramesPerMessage: number
  /** `send` returns false while more than this waits for one peer, in bytes. */
  readonly highWaterMarkBytes: number
  /** A peer for which more than this waits loses its connection, in bytes. */
  readonly maxQueuedBytes: number
  /** A peer that has not finished its handshake by then loses its connection, in milliseconds. */
  readonly handshakeTimeoutMs: number
}

/** 4 GiB - 1 frames, 8 frames, 4 MiB, 8 GiB, 10 s. */
export const DEFAULT_SOCKET_LIMITS: SocketLimits = {
  maxFrameBytes: 4 * 1024 ** 3 - 1,
  maxFramesPerMessage: 8,
  highWaterMarkBytes: 4 * 1024 ** 2,
  maxQueuedBytes: 8 * 1024 ** 3,
  handshakeTimeoutMs: 10_000,
}

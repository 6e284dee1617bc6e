// Socket options that users can configure: defaults and checks, one function per socket type.

import { constants } from 'node:buffer'
import { ConfigError } from '../base/errors.js'
import type { Identity } from '../base/ids.js'
import { type Logger, silentLogger } from '../base/logger.js'
import { booleanOption, numberOption } from '../base/option.js'
import type { DescriptorRoom } from './descriptor-room.js'
import type { TlsOption } from './tls/options.js'

// What all sockets of the transport share: frames, limits and callbacks. A message is one frame or
// several ("more" frames); the engine's own protocol uses one.

/**
 * One frame to send: its bytes, or pieces of them in order, which are written without being joined.
 * Pieces of less than 16 KiB are copied inside `send`; larger ones belong to the transport from
 * then on and must not be changed.
 */
export type OutgoingFrame = Uint8Array | readonly Uint8Array[]

/**
 * One received message: its only frame, or a list of several frames. Frames may share memory with
 * others of the same read: to keep one for longer than a moment, copy it.
 */
export type IncomingMessage = Buffer | readonly Buffer[]

/** The limits of one socket. Each has a default in `DEFAULT_SOCKET_LIMITS`. */
interface SocketLimits {
  /** The longest frame that is accepted, in bytes. */
  readonly maxFrameBytes: number
  /** The most frames in one message. */
  readonly maxFramesPerMessage: number
  /** `send` returns false while more bytes than this are queued for one peer. */
  readonly highWaterMarkBytes: number
  /** A peer for which more bytes than this are queued is disconnected. */
  readonly maxQueuedBytes: number
  /** A peer that has not finished its handshake by then is disconnected, in milliseconds. */
  readonly handshakeTimeoutMs: number
}

/** 4 GiB - 1 frames, 8 frames, 4 MiB, 8 GiB, 10 s. */
const DEFAULT_SOCKET_LIMITS: SocketLimits = {
  maxFrameBytes: 4 * 1024 ** 3 - 1,
  maxFramesPerMessage: 8,
  highWaterMarkBytes: 4 * 1024 ** 2,
  maxQueuedBytes: 8 * 1024 ** 3,
  handshakeTimeoutMs: 10_000,
}

/** Options of all sockets. */
export interface SocketOptions extends SocketLimits, TlsOption {
  /** How long `close` continues to write queued data, in milliseconds. Default: 1,000. */
  readonly lingerMs: number
  /**
   * After this much silence in either direction, a ZMTP 3.1 peer is sent a PING, in milliseconds. 0
   * = never. Default: 2,000; for a PUB 0.
   */
  readonly pingIntervalMs: number
  /**
   * A peer that leaves PINGs unanswered for this long is disconnected, in milliseconds; 0 = never.
   * Default: four times `pingIntervalMs` for sockets that connect. Listening sockets never give up
   * a peer themselves: their owner knows which peers may be busy for long.
   */
  readonly pingTimeoutMs: number
  /**
   * Closes idle connections when the process runs out of file descriptors. For listening sockets;
   * all sockets of one process share one. Default: one of its own.
   */
  readonly descriptorRoom: DescriptorRoom | undefined
  /** Receives reports of refused or broken connections. Default: silent. */
  readonly logger: Logger
}

/** Options of a `RouterSocket`. */
export interface RouterOptions extends SocketOptions {
  /**
   * What happens when a peer connects with the identity of a connected peer. True (the default):
   * the new connection takes over and the old one is closed, so that a peer can reconnect
   * after its link broke unnoticed. False, as in libzmq: the new connection is refused.
   */
  readonly handover: boolean
  /** The router's own identity, sent to its peers: at most 255 bytes. Default: none. */
  readonly identity: Identity | ''
}

/** Options of sockets that connect. */
export interface ConnectOptions extends SocketOptions {
  /**
   * The delay before another attempt to connect, in milliseconds. It doubles with each failure, and
   * is shortened by a random amount of up to half. Default: 100.
   */
  readonly reconnectMinMs: number
  /** The longest such delay, in milliseconds. Default: 1,000. */
  readonly reconnectMaxMs: number
}

/** Options of a `DealerSocket`. */
export interface DealerOptions extends ConnectOptions {
  /**
   * True (the default), as in ZeroMQ: messages sent without a connection are queued for the next
   * one, in order, up to `maxQueuedBytes`. Data already handed to the operating system when a
   * connection was lost is not sent again, nor is the rest of a message that had been started.
   * False: without a connection `send` drops the message and returns false, and the queue is
   * dropped when the connection is lost.
   */
  readonly queueWhileDisconnected: boolean
}

/** The longest delay that Node's timers support. */
const MAX_TIMER_MS = 2 ** 31 - 1
const MAX_IDENTITY_BYTES = 255

const DEFAULT_PING_INTERVAL_MS = 2000
/** How many ping intervals may pass unanswered before a peer is given up. */
const PING_ROUNDS = 4
/** With less, a scheduler that was only suspended for some seconds would lose its peers. */
const MIN_PING_INTERVAL_MS = 1250
const DEFAULT_RECONNECT_MIN_MS = 100
const DEFAULT_RECONNECT_MAX_MS = 1000

/** The defaults for PINGs. */
interface PingDefaults {
  readonly intervalMs: number
  /** 0 = peers are never given up. */
  readonly rounds: number
}

const NO_PINGS: PingDefaults = { intervalMs: 0, rounds: 0 }

/**
 * How often a process that sends a heartbeat this often asks whether its link is alive: a broken
 * one is noticed after four times that, between 5 and 8 seconds. Both in milliseconds.
 */
export function pingIntervalFor(heartbeatIntervalMs: number): number {
  return Math.min(Math.max(heartbeatIntervalMs, MIN_PING_INTERVAL_MS), DEFAULT_PING_INTERVAL_MS)
}

/** Fills in the defaults. Throws a `ConfigError` that names the option, its value and the bound. */
export function socketOptions(
  given: Partial<SocketOptions>,
  { intervalMs, rounds }: PingDefaults = NO_PINGS,
): SocketOptions {
  const pingIntervalMs = duration('pingIntervalMs', given.pingIntervalMs, intervalMs, 0)
  const pingTimeoutMs = Math.min(rounds * pingIntervalMs, MAX_TIMER_MS)
  return {
    maxFrameBytes: size('maxFrameBytes', given, 1, constants.MAX_LENGTH),
    maxFramesPerMessage: size('maxFramesPerMessage', given, 1),
    highWaterMarkBytes: size('highWaterMarkBytes', given, 0),
    maxQueuedBytes: size('maxQueuedBytes', given, 1),
    handshakeTimeoutMs: duration(
      'handshakeTimeoutMs',
      given.handshakeTimeoutMs,
      DEFAULT_SOCKET_LIMITS.handshakeTimeoutMs,
      1,
    ),
    lingerMs: duration('lingerMs', given.lingerMs, 1000, 0),
    pingIntervalMs,
    pingTimeoutMs: duration('pingTimeoutMs', given.pingTimeoutMs, pingTimeoutMs, 0),
    descriptorRoom: given.descriptorRoom,
    tls: given.tls,
    logger: given.logger ?? silentLogger,
  }
}

/** Like `socketOptions`. */
export function routerOptions(given: Partial<RouterOptions>): RouterOptions {
  return {
    ...socketOptions(given, { intervalMs: DEFAULT_PING_INTERVAL_MS, rounds: 0 }),
    handover: booleanOption('handover', given.handover, true),
    identity: checkIdentity(given.identity ?? ''),
  }
}

/** Like `socketOptions`. */
export function connectOptions(given: Partial<ConnectOptions>): ConnectOptions {
  const { reconnectMinMs: givenMinMs } = given
  const reconnectMinMs = duration('reconnectMinMs', givenMinMs, DEFAULT_RECONNECT_MIN_MS, 1)
  const fallback = Math.max(DEFAULT_RECONNECT_MAX_MS, reconnectMinMs)
  return {
    ...socketOptions(given, { intervalMs: DEFAULT_PING_INTERVAL_MS, rounds: PING_ROUNDS }),
    reconnectMinMs,
    reconnectMaxMs: duration('reconnectMaxMs', given.reconnectMaxMs, fallback, reconnectMinMs),
  }
}

/** Like `socketOptions`. */
export function dealerOptions(given: Partial<DealerOptions>): DealerOptions {
  const { queueWhileDisconnected } = given
  return {
    ...connectOptions(given),
    queueWhileDisconnected: booleanOption('queueWhileDisconnected', queueWhileDisconnected, true),
  }
}

/** Returns `identity` if valid: at most 255 characters, one per byte. Else throws `ConfigError`. */
export function checkIdentity<T extends string>(identity: T): T {
  if (typeof identity !== 'string' || /[^\0-\xff]/.test(identity)) {
    throw new ConfigError('identity: expected a string with one character per byte')
  }
  if (identity.length <= MAX_IDENTITY_BYTES) return identity
  throw new ConfigError(
    `identity: expected at most ${MAX_IDENTITY_BYTES} bytes, got ${identity.length}`,
  )
}

function size(
  name: keyof SocketLimits,
  given: Partial<SocketLimits>,
  min: number,
  max: number = Number.MAX_SAFE_INTEGER,
): number {
  return numberOption(name, given[name], DEFAULT_SOCKET_LIMITS[name], { min, max })
}

function duration(name: string, given: unknown, fallback: number, min: number): number {
  return numberOption(name, given, fallback, { min, max: MAX_TIMER_MS })
}

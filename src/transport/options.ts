// What users may configure on the sockets: defaults and checks, one function per kind of socket.

import { constants } from 'node:buffer'
import { ConfigError } from '../base/errors.js'
import type { Identity } from '../base/ids.js'
import { silentLogger, type Logger } from '../base/logger.js'
import { booleanOption, numberOption } from '../base/option.js'
import { DEFAULT_SOCKET_LIMITS, type SocketLimits } from './socket.js'

/** What all sockets have. */
export interface SocketOptions extends SocketLimits {
  /** How long `close` goes on writing what waits, in milliseconds. Default: 1,000. */
  readonly lingerMs: number
  /**
   * How often ZMTP 3.1 peers are asked whether they are there, in milliseconds. Default: 0 = never,
   * as the engine has heartbeats of its own and TCP keepalive is on.
   */
  readonly pingIntervalMs: number
  /**
   * A peer from which nothing has come for so long, though it was asked, loses its connection.
   * Default: twice `pingIntervalMs`.
   */
  readonly pingTimeoutMs: number
  /** Hears of connections that were refused or broken. Default: silent. */
  readonly logger: Logger
}

/** Of a `RouterSocket`. */
export interface RouterOptions extends SocketOptions {
  /**
   * What happens when a peer comes with the identity of one that is connected. True (the default):
   * the new one takes over and the old one is closed, so that a peer whose link broke unnoticed
   * can come back. False, as libzmq does: the new one is refused.
   */
  readonly handover: boolean
  /** The router's own identity, which it tells its peers: at most 255 bytes. Default: none. */
  readonly identity: Identity | ''
}

/** Of the sockets that connect. */
export interface ConnectOptions extends SocketOptions {
  /**
   * The delay before another attempt to connect, in milliseconds. It doubles with each failure,
   * and a random part of up to a half is taken off. Default: 100.
   */
  readonly reconnectMinMs: number
  /** The longest such delay, in milliseconds. Default: 2,000. */
  readonly reconnectMaxMs: number
}

/** Of a `DealerSocket`. */
export interface DealerOptions extends ConnectOptions {
  /**
   * True (the default), as in ZeroMQ: what is sent while there is no connection waits for the next
   * one, in order, up to `maxQueuedBytes`. What had been handed to the operating system when a
   * connection was lost is not sent again, nor is the rest of a message that had been begun.
   * False: `send` drops and returns false while there is no connection, and what waits is dropped
   * when the connection is lost.
   */
  readonly queueWhileDisconnected: boolean
}

/** The longest delay that Node's timers take. */
const MAX_TIMER_MS = 2 ** 31 - 1
const MAX_IDENTITY_BYTES = 255

/** Fills in the defaults. Throws `ConfigError` that names the option, its value and the bound. */
export function socketOptions(given: Partial<SocketOptions>): SocketOptions {
  const pingIntervalMs = duration('pingIntervalMs', given.pingIntervalMs, 0, 0)
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
    pingTimeoutMs: duration('pingTimeoutMs', given.pingTimeoutMs, 2 * pingIntervalMs, 0),
    logger: given.logger ?? silentLogger,
  }
}

/** As `socketOptions`. */
export function routerOptions(given: Partial<RouterOptions>): RouterOptions {
  return {
    ...socketOptions(given),
    handover: booleanOption('handover', given.handover, true),
    identity: checkIdentity(given.identity ?? ''),
  }
}

/** As `socketOptions`. */
export function connectOptions(given: Partial<ConnectOptions>): ConnectOptions {
  const reconnectMinMs = duration('reconnectMinMs', given.reconnectMinMs, 100, 1)
  const fallback = Math.max(2000, reconnectMinMs)
  return {
    ...socketOptions(given),
    reconnectMinMs,
    reconnectMaxMs: duration('reconnectMaxMs', given.reconnectMaxMs, fallback, reconnectMinMs),
  }
}

/** As `socketOptions`. */
export function dealerOptions(given: Partial<DealerOptions>): DealerOptions {
  const { queueWhileDisconnected } = given
  return {
    ...connectOptions(given),
    queueWhileDisconnected: booleanOption('queueWhileDisconnected', queueWhileDisconnected, true),
  }
}

/** `identity` if it is one: at most 255 characters, one per byte. Throws `ConfigError` if not. */
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

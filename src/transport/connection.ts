// One connection: couples a stream to the ZMTP session and the frame writer. It controls how the
// connection begins and ends; the meaning of messages is left to its owner.

import type { Socket } from 'node:net'
import { unreachable } from '../base/assert.js'
import { copyOf } from '../base/bytes.js'
import { ProtocolError } from '../base/errors.js'
import type { ConnectionSetup } from './connection-handler.js'
import { Delivery, type DeliveryActions } from './delivery.js'
import { FrameWriter, type WriterActions } from './writer.js'
import { Heartbeat, type HeartbeatActions, type OutgoingState } from './heartbeat.js'
import type { IncomingMessage, OutgoingFrame } from './options.js'
import { codesOf, describeError } from './address.js'
import { CROWDED } from './bounded-log.js'
import { type ConnectionEnd, type ConnectionStage, type EndKind, endKindOf } from './end.js'
import type { SendQueue } from './send-queue.js'
import { describeRemote, type OpenStream } from './stream.js'
import { tlsTrouble } from './tls/trouble.js'
import { encodeError, encodePing, encodePong, type Command } from './zmtp/commands.js'
import { HandshakeError, type Inbox, isKnownProtocol, ZmtpSession } from './zmtp/session.js'

/** The minimum time between two calls of `onProgress`. */
const PROGRESS_INTERVAL_MS = 1000
/** The peer has disconnected, noticed while reading or writing. */
const LEFT_CODES: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

/**
 * TLS: a write in progress of up to this many bytes is likely to be one that is being encrypted,
 * not one for which the system has no room.
 */
const SLOW_BYTES = 64 * 1024

/** The most PONGs that wait for a gap between messages. */
const MAX_CONTROL_FRAMES = 64

/**
 * 'flushing': the queue is being written, nothing is added. 'ending': our side has sent its last
 * byte.
 */
type Phase = 'open' | 'flushing' | 'ending' | 'closed'

/** A connection, from the first moment of its socket to the last. */
export class Connection {
  /**
   * What the parts of a connection ask of it: one object for all connections, because closures and
   * their contexts would be a dozen objects for each of thousands.
   */
  static readonly #actions: WriterActions<Connection> &
    HeartbeatActions<Connection> &
    DeliveryActions<Connection> = {
    written: (own, hasMoved) => own.#onWritten(hasMoved),
    outgoing: (own) => own.#outgoing(),
    ping: (own) => {
      // One PING queued behind a long message is enough.
      if (own.#writer.controlFrames === 0) own.sendControl(encodePing(0))
    },
    giveUp: (own, reason) => {
      // What it has sent is not read.
      if (!own.#delivery.isStopped) own.close(reason)
    },
    deliver: (own, messages) => own.#deliver(messages),
    hold: (own) => own.#socket.pause(),
    release: (own) => own.#release(),
  }

  readonly #socket: Socket
  readonly #setup: ConnectionSetup
  readonly #queue: SendQueue
  readonly #writer: FrameWriter<Connection>
  readonly #session: ZmtpSession
  readonly #heartbeat: Heartbeat<Connection>
  readonly #delivery: Delivery<Connection>
  readonly #remote: string
  readonly #slowBytes: number
  #phase: Phase = 'open'
  #isConnected: boolean
  #isGreeted = false
  #isReady = false
  /** Whether the peer caused it if the connection ends now: true until it is ready. */
  #mayLeave = true
  #hasLeft = false
  #reason: string | undefined
  /** What failed before the connection was ready; undefined if it was only a matter of time. */
  #fault: EndKind | undefined
  #excerpt = ''
  /** What to do once the owner has received all queued messages, other than to read on. */
  #onDelivered: (() => void) | undefined
  #lastProgressMs = -PROGRESS_INTERVAL_MS
  #deadline: NodeJS.Timeout | undefined

  /** May still be connecting. `queue` may hold frames: they are sent after the handshake. */
  constructor({ socket, reader, isSecure }: OpenStream, queue: SendQueue, setup: ConnectionSetup) {
    const { local, options, flusher } = setup
    this.#socket = socket
    this.#isConnected = !socket.connecting
    this.#queue = queue
    this.#remote = describeRemote(socket)
    this.#setup = setup
    const slowBytes = isSecure === true ? SLOW_BYTES : 0
    this.#slowBytes = slowBytes
    const actions = Connection.#actions
    const writing = { stream: socket, queue, flusher, actions, owner: this, slowBytes }
    this.#writer = new FrameWriter(writing)
    this.#session = new ZmtpSession(local, options, setup.handler.onLongFrame)
    this.#heartbeat = new Heartbeat(options, setup.rounds, actions, this)
    this.#delivery = new Delivery(setup.turn, actions, this)
    this.#deadline = setTimeout(
      () => this.#onHandshakeTimeout(),
      options.handshakeTimeoutMs,
    ).unref()
    if (socket.connecting) socket.on('connect', () => (this.#isConnected = true))
    reader.readTo(this.#onRead)
    socket.on('error', this.#onError)
    socket.on('end', this.#onEnd)
    socket.on('close', this.#onClose)
    socket.write(this.#session.greeting)
  }

  /** Whether the handshake is done and nothing has ended the connection. */
  get isOpen(): boolean {
    return this.#isReady && this.#phase === 'open'
  }

  /**
   * Why the connection is closing or has closed; empty while it is open and after a clean close.
   */
  get reason(): string {
    return this.#reason ?? ''
  }

  /** How the connection has ended, or would have if it ended now. */
  get end(): ConnectionEnd {
    const { reason } = this
    const excerpt = this.#excerpt
    const { peerType, peerScheduler } = this.#session
    return { kind: this.#endKind, stage: this.#stage, reason, peerType, peerScheduler, excerpt }
  }

  /** Where the peer is, for people: `127.0.0.1:40404`. */
  get remote(): string {
    return this.#remote
  }

  /** Bytes queued for writing. */
  get queuedBytes(): number {
    return this.#writer.queuedBytes
  }

  /** Queues a message. False: more than `highWaterMarkBytes` are queued; `onDrain` will follow. */
  send(frame: OutgoingFrame): boolean {
    if (!this.isOpen) return true
    this.#writer.send(frame)
    return this.#hasRoom()
  }

  /** Like `send`, for a message of several frames. */
  sendMultipart(frames: readonly OutgoingFrame[]): boolean {
    if (!this.isOpen) return true
    this.#writer.sendMessage(frames)
    return this.#hasRoom()
  }

  /** Queues a control frame ahead of all messages that have not been started. */
  sendControl(frame: Uint8Array): void {
    if (this.isOpen) this.#writer.sendControl(frame)
  }

  /** Closes the connection immediately; queued data is dropped. */
  close(reason: string): void {
    if (this.#phase === 'closed') return
    this.#reason ??= reason
    this.#mayLeave = false
    this.#phase = 'closed'
    this.#stopTimers()
    this.#writer.stop()
    this.#socket.destroy()
  }

  /** Closes the connection once all queued data is written, or after `lingerMs` at the latest. */
  finish(reason: string): void {
    if (!this.isOpen) return this.#phase === 'open' ? this.close(reason) : undefined
    this.#reason ??= reason
    this.#phase = 'flushing'
    this.#limitEnd()
    this.#writer.write()
    if (this.#writer.isIdle) this.#endSocket()
  }

  /**
   * Sends the peer the reason, if it speaks ZMTP, and closes the connection; queued data is
   * dropped.
   */
  refuse(reason: string): void {
    if (this.#phase !== 'open') return
    this.#reason ??= reason
    this.#mayLeave = false
    if (!this.#isGreeted || !this.#writer.isBetweenMessages) return this.close(reason)
    this.#socket.write(encodeError(reason))
    this.#limitEnd()
    this.#endSocket()
  }

  /** Reads nothing until `startReading`: the peer can send as much as the system's buffers hold. */
  stopReading(): void {
    if (this.#onDelivered === undefined) this.#delivery.stop()
  }

  /** Undoes `stopReading`. */
  startReading(): void {
    this.#delivery.start()
  }

  /** Makes the connection keep the process alive. */
  ref(): void {
    this.#socket.ref()
  }

  /** Undoes `ref`. */
  unref(): void {
    this.#socket.unref()
  }

  readonly #onRead = (memory: Buffer): void => {
    if (this.#phase !== 'open') return
    const inbox: Inbox = { messages: [], commands: [] }
    let failure: ProtocolError | undefined
    this.#heartbeat.heard()
    try {
      const taken = this.#session.fill(memory, inbox)
      if (taken < memory.length) this.#session.feed(copyOf(memory.subarray(taken)), inbox)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      failure = error
    }
    // An exception from the owner must not lose messages: the bytes have been consumed and will not
    // arrive again.
    try {
      if (!this.#isReady) this.#advanceHandshake()
      this.#handleCommands(inbox.commands)
    } finally {
      const { refusal } = this.#session
      const isOver = failure !== undefined || refusal !== undefined
      try {
        this.#delivery.add(inbox.messages)
        if (!isOver && inbox.messages.length === 0) this.#onPart()
      } finally {
        try {
          if (isOver) this.#delivery.flush()
        } finally {
          if (failure !== undefined) this.#onFailure(failure, memory)
          if (refusal !== undefined) this.#onRefused(refusal)
        }
      }
    }
  }

  get #endKind(): EndKind {
    if (this.#reason === CROWDED) return 'crowded'
    if (this.#hasLeft && this.#fault !== 'untrusted') return 'closed'
    return this.#fault ?? (this.#isReady && this.#phase !== 'open' ? 'lost' : 'silent')
  }

  get #stage(): ConnectionStage {
    if (this.#isReady) return 'ready'
    if (this.#isGreeted) return 'greeted'
    return this.#isConnected ? 'connected' : 'connecting'
  }

  #onRefused(refusal: string): void {
    if (!this.#isReady) this.#fault ??= this.#slowBytes > 0 ? 'untrusted' : 'broken'
    this.close(`the peer refused: ${refusal}`)
  }

  /** Stops reading. A stranger gets time to leave before it is reported as a wrong peer. */
  #onFailure(error: ProtocolError, chunk: Buffer): void {
    const { message: reason } = error
    if (!this.#isReady) this.#fault ??= 'broken'
    if (error instanceof HandshakeError) {
      this.#fault = error.kind
      this.#excerpt = error.excerpt
    }
    const { strangerMs = 0 } = this.#setup
    if (this.#isGreeted || strangerMs === 0 || isKnownProtocol(chunk)) return this.refuse(reason)
    this.#reason ??= reason
    this.#phase = 'ending'
    this.#stopTimers()
    this.#deadline = setTimeout(() => this.close(reason), strangerMs).unref()
  }

  #advanceHandshake(): void {
    if (this.#session.isGreeted && !this.#isGreeted) {
      this.#isGreeted = true
      this.#socket.write(this.#session.ready)
    }
    const { peer } = this.#session
    if (peer === undefined) return
    this.#isReady = true
    this.#mayLeave = false
    this.#stopDeadline()
    if (peer.minor >= 1) this.#heartbeat.start()
    this.#writer.start()
    this.#setup.handler.onReady(this, peer)
  }

  #handleCommands(commands: readonly Command[]): void {
    for (const command of commands) {
      if (this.#phase !== 'open') return
      switch (command.kind) {
        case 'ping':
          this.#onPing(command.ttlMs, command.context)
          break
        case 'subscribe':
        case 'cancel':
          this.#setup.handler.onSubscription(this, command.kind === 'subscribe', command.prefix)
          break
        // Hearing a PONG is enough; a second READY and unknown commands are ignored, as the
        // specification requires.
        case 'pong':
        case 'ready':
        case 'error':
        case 'unknown':
          break
        default:
          unreachable(command)
      }
    }
  }

  /** A peer that keeps sending PINGs without reading gets no answers above the high water mark. */
  #onPing(ttlMs: number, context: Buffer): void {
    this.#heartbeat.onPing(ttlMs)
    if (this.queuedBytes > this.#setup.options.highWaterMarkBytes) return
    if (this.#writer.controlFrames < MAX_CONTROL_FRAMES) this.sendControl(encodePong(context))
  }

  /** A peer is not silent while its messages are queued here, even if reading is paused. */
  #deliver(messages: readonly IncomingMessage[]): void {
    this.#heartbeat.heard()
    if (this.isOpen) this.#setup.handler.onMessages(this, messages)
  }

  #outgoing(): OutgoingState {
    const { bytesWritten, writableLength } = this.#socket
    return { takenBytes: bytesWritten - writableLength, isFull: writableLength > this.#slowBytes }
  }

  #onPart(): void {
    if (this.isOpen && this.#session.isInsideMessage) this.#tellProgress()
  }

  #tellProgress(): void {
    const now = performance.now()
    if (now - this.#lastProgressMs < PROGRESS_INTERVAL_MS) return
    this.#lastProgressMs = now
    this.#setup.handler.onProgress(this)
  }

  #hasRoom(): boolean {
    const queued = this.#writer.queuedBytes
    const { highWaterMarkBytes, maxQueuedBytes } = this.#setup.options
    if (queued <= highWaterMarkBytes) return true
    this.#queue.wantsDrain = true
    if (queued > maxQueuedBytes) {
      this.close(`the peer does not read: ${queued} bytes are queued (limit: ${maxQueuedBytes})`)
    }
    return false
  }

  #onWritten(hasMoved: boolean): void {
    if (hasMoved && this.isOpen) this.#tellProgress()
    if (this.#phase === 'flushing' && this.#writer.isIdle) this.#endSocket()
    else this.#tellDrain()
  }

  #tellDrain(): void {
    if (!this.#queue.wantsDrain || !this.isOpen) return
    if (this.queuedBytes > this.#setup.options.highWaterMarkBytes / 2) return
    this.#queue.wantsDrain = false
    this.#setup.handler.onDrain(this)
  }

  /** Sends no more, but keeps reading: unread data would reset the connection and lose ours. */
  #endSocket(): void {
    this.#phase = 'ending'
    this.#writer.stop()
    this.#socket.end()
  }

  #limitEnd(): void {
    this.#stopTimers()
    this.#deadline = setTimeout(() => this.close(''), this.#setup.options.lingerMs).unref()
  }

  #stopTimers(): void {
    this.#heartbeat.stop()
    this.#stopDeadline()
  }

  #stopDeadline(): void {
    clearTimeout(this.#deadline)
    this.#deadline = undefined
  }

  #onHandshakeTimeout(): void {
    const { handshakeTimeoutMs } = this.#setup.options
    const handshake = this.#slowBytes > 0 ? 'TLS or ZeroMQ handshake' : 'ZeroMQ handshake'
    const what = this.#socket.connecting ? 'connection' : handshake
    this.close(`no ${what} within ${handshakeTimeoutMs} ms`)
  }

  readonly #onError = (error: Error): void => {
    const codes = codesOf(error)
    if (codes.some((code) => LEFT_CODES.has(code))) this.#hasLeft ||= this.#mayLeave
    // Of several attempts, one that was not refused says more.
    const code = codes.find((each) => each !== 'ECONNREFUSED') ?? codes[0] ?? ''
    if (!this.#isConnected) this.#fault ??= endKindOf(code)
    const trouble = this.#slowBytes > 0 ? tlsTrouble(error) : undefined
    if (trouble !== undefined && !this.#isReady) this.#fault ??= 'untrusted'
    this.#reason ??= trouble ?? describeError(error)
  }

  /** Also called while the socket is paused. */
  readonly #onEnd = (): void => {
    this.#hasLeft ||= this.#mayLeave
    if (!this.#isReady) this.#reason ??= 'the peer closed the connection during the handshake'
    else if (this.#session.isInsideMessage) this.#reason ??= 'the connection ended inside a message'
    this.#whenDelivered(() => this.close(''))
  }

  readonly #onClose = (): void => {
    this.#stopTimers()
    this.#whenDelivered(() => this.#tellClose())
  }

  #release(): void {
    if (this.#onDelivered === undefined) this.#socket.resume()
    else this.#onDelivered()
  }

  #whenDelivered(action: () => void): void {
    if (!this.#delivery.isHeld) return action()
    this.#onDelivered = action
    this.#delivery.start()
  }

  #tellClose(): void {
    this.#phase = 'closed'
    this.#setup.handler.onClose(this, this.reason)
  }
}

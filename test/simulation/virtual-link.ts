// One connection between a DEALER and a ROUTER: like src/transport/connection.ts on a socket, with
// a network that can cut it, lose it, or delay it.

import { bytesToLatin1, latin1ToBytes, NO_BYTES } from '#src/base/bytes.js'
import { identity as identityOf, type Identity } from '#src/base/ids.js'
import type { InstantMs } from '#src/base/machine.js'
import { PeerWatch, type PingOptions } from '#src/transport/heartbeat.js'
import type { Random } from './random.js'
import type { VirtualClock } from './virtual-clock.js'
import { VirtualPipe, type PipeFrame, type PipeReader, type PipeSettings } from './virtual-pipe.js'
import type { VirtualProcess } from './virtual-process.js'

/** The events of one end, always in its process. */
export interface LinkHandler {
  /** The handshake is done. */
  onReady(end: LinkEnd): void
  onMessage(end: LinkEnd, bytes: Uint8Array): void
  onProgress(end: LinkEnd): void
  onDrain(end: LinkEnd): void
  /** The last call. `reason` is empty if the other end closed normally. */
  onClose(end: LinkEnd, reason: string): void
}

/** The parts of an end. */
export interface LinkEndSetup {
  readonly process: VirtualProcess
  readonly handler: LinkHandler
  readonly settings: PipeSettings
  /** Its identity in the handshake; '' for a router. */
  readonly identity: Identity | ''
  readonly ping: PingOptions
}

const LINGER_MS = 1_000
const HANDSHAKE_TIMEOUT_MS = 10_000
const PROGRESS_INTERVAL_MS = 1_000
/** The system drops a connection with bytes that are not acknowledged. */
const SYSTEM_TIMEOUT_MS = 900_000

/** One end. */
export class LinkEnd implements PipeReader {
  readonly process: VirtualProcess
  readonly #setup: LinkEndSetup
  readonly #clock: VirtualClock
  #pipe: VirtualPipe | undefined
  #other: LinkEnd | undefined
  #phase: 'open' | 'finishing' | 'closed' = 'open'
  #isReady = false
  #peer: Identity = identityOf('')
  #reason: string | undefined
  #wantsDrain = false
  #hasHeard = false
  #lastProgress: InstantMs = -PROGRESS_INTERVAL_MS
  #isCutOff = false

  constructor(clock: VirtualClock, setup: LinkEndSetup) {
    this.#clock = clock
    this.#setup = setup
    this.process = setup.process
  }

  /** Whether the handshake is done and nothing has ended the connection. */
  get isOpen(): boolean {
    return this.#isReady && this.#phase === 'open'
  }

  /** Whether the handshake was ever done. */
  get wasReady(): boolean {
    return this.#isReady
  }

  /** The identity of the other end. */
  get peer(): Identity {
    return this.#peer
  }

  get isClosed(): boolean {
    return this.#phase === 'closed'
  }

  get reason(): string {
    return this.#reason ?? ''
  }

  get queuedBytes(): number {
    return this.#pipe?.queuedBytes ?? 0
  }

  get pipe(): VirtualPipe {
    return this.#pipe as VirtualPipe
  }

  /** The network has established the connection. */
  begin(other: LinkEnd, random: Random): void {
    this.#other = other
    this.#pipe = new VirtualPipe(this.#clock, random, this.#setup.settings, {
      reader: other,
      onWritten: (hasWaited) => this.#onWritten(hasWaited),
    })
    this.process.onDeath(() => this.#onDeath())
    this.process.deliver(() => this.pipe.send('ready', latin1ToBytes(this.#setup.identity)))
    this.process.after(HANDSHAKE_TIMEOUT_MS, () => {
      if (!this.#isReady) this.close(`no ZeroMQ handshake within ${HANDSHAKE_TIMEOUT_MS} ms`)
    })
  }

  /** False: more than the high water mark is queued, and `onDrain` follows. */
  send(bytes: Uint8Array): boolean {
    if (!this.isOpen) return true
    this.pipe.send('message', bytes)
    if (this.queuedBytes <= this.#setup.settings.highWaterMarkBytes) return true
    this.#wantsDrain = true
    return false
  }

  /** Ends the connection once everything queued is written, or after a while. */
  finish(reason: string): void {
    if (!this.isOpen) {
      if (this.#phase === 'open') this.close(reason)
      return
    }
    this.#reason ??= reason
    this.#phase = 'finishing'
    this.pipe.send('end', NO_BYTES)
    this.process.after(LINGER_MS, () => this.close(''))
  }

  /** Ends the connection immediately; queued messages are dropped. The other end is notified. */
  close(reason: string): void {
    this.#close(reason, true)
  }

  /** The system reports that the connection is lost. Delayed until the process reads it. */
  lose(reason: string): void {
    this.process.deliver(() => this.#close(reason, false))
  }

  whenReading(read: () => void): void {
    this.process.deliver(() => {
      if (this.#phase !== 'closed') read()
    })
  }

  onFrame(frame: PipeFrame): void {
    this.#hasHeard = true
    const { handler } = this.#setup
    switch (frame.kind) {
      case 'ready':
        this.#isReady = true
        this.#peer = identityOf(bytesToLatin1(frame.bytes))
        this.#watchPeer()
        handler.onReady(this)
        break
      case 'message':
        if (this.isOpen) handler.onMessage(this, frame.bytes)
        break
      case 'ping':
        if (this.isOpen) this.pipe.send('pong', NO_BYTES)
        break
      case 'pong':
        break
      case 'end':
        this.#close('', true)
        break
      default:
    }
  }

  onProgress(): void {
    this.#hasHeard = true
    this.#tellProgress()
  }

  /** At most once a second. */
  #tellProgress(): void {
    const { now } = this.#clock
    if (!this.isOpen || now - this.#lastProgress < PROGRESS_INTERVAL_MS) return
    this.#lastProgress = now
    this.#setup.handler.onProgress(this)
  }

  #onWritten(hasWaited: boolean): void {
    if (hasWaited) this.process.deliver(() => this.#tellProgress())
    if (!this.#wantsDrain || !this.isOpen) return
    if (this.queuedBytes > this.#setup.settings.highWaterMarkBytes / 2) return
    this.#wantsDrain = false
    this.process.deliver(() => {
      if (this.isOpen) this.#setup.handler.onDrain(this)
    })
  }

  #close(reason: string, isTold: boolean): void {
    if (this.#phase === 'closed') return
    this.#reason ??= reason
    this.#phase = 'closed'
    this.#pipe?.close()
    if (isTold) this.#tellOther()
    const { handler } = this.#setup
    this.#clock.after(0, () => this.process.deliver(() => handler.onClose(this, this.reason)))
  }

  /** After everything in transit. */
  #tellOther(): void {
    const other = this.#other
    if (other === undefined || this.#isCutOff) return
    const { minDelayMs } = this.#setup.settings
    const at = Math.max(this.pipe.lastArrival, this.#clock.now + minDelayMs)
    this.#clock.at(at, () => other.lose('the peer closed the connection'))
  }

  /** Whatever happens to this end, the other does not notice. */
  cutOff(): void {
    this.#isCutOff = true
    this.#pipe?.enterVoid()
    this.#clock.after(SYSTEM_TIMEOUT_MS, () => this.lose('the connection timed out'))
  }

  #onDeath(): void {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    this.pipe.close()
    // With unread bytes an end becomes a reset.
    this.pipe.loseSome()
    this.#tellOther()
  }

  /** Like src/transport/heartbeat.ts. */
  #watchPeer(): void {
    const { ping } = this.#setup
    const watch = new PeerWatch(ping, this.#clock.now)
    const look = (): void => {
      if (!this.isOpen) return
      const outgoing = { takenBytes: this.pipe.takenBytes, isFull: this.queuedBytes > 0 }
      const next = watch.look(this.#clock.now, this.#hasHeard, outgoing)
      this.#hasHeard = false
      if (next === 'ping') this.pipe.send('ping', NO_BYTES)
      if (next === 'giveUp') this.#giveUp()
      this.process.after(ping.pingIntervalMs, look)
    }
    this.process.after(ping.pingIntervalMs, look)
  }

  /** Bytes that arrived while this process was busy are read before a peer is given up. */
  #giveUp(): void {
    this.process.after(0, () => {
      if (!this.#hasHeard) this.close('the peer has not answered')
    })
  }
}

/**
 * How a network ends a connection. `void`: neither end is notified, and nothing arrives any more.
 */
export type CutKind = 'both' | 'dealerFirst' | 'routerFirst' | 'void'

/** One connection. */
export class VirtualLink {
  readonly dealer: LinkEnd
  readonly router: LinkEnd
  readonly #clock: VirtualClock
  readonly #random: Random
  #isVoid = false

  constructor(clock: VirtualClock, random: Random, dealer: LinkEnd, router: LinkEnd) {
    this.#clock = clock
    this.#random = random
    this.dealer = dealer
    this.router = router
    dealer.begin(router, random)
    router.begin(dealer, random)
  }

  /** Whether one of its ends is still open. */
  get isAlive(): boolean {
    return !this.dealer.isClosed || !this.router.isClosed
  }

  /**
   * The network breaks it. With `dealerFirst` or `routerFirst` the other is notified this much
   * later.
   */
  cut(kind: CutKind, laterMs: number): void {
    if (kind === 'void') {
      this.#isVoid = true
      this.dealer.cutOff()
      this.router.cutOff()
      return
    }
    const [first, second] =
      kind === 'routerFirst' ? [this.router, this.dealer] : [this.dealer, this.router]
    for (const end of [first, second]) end.pipe.loseSome()
    if (kind !== 'both') {
      first.cutOff()
      second.cutOff()
    }
    const laterBy = kind === 'both' ? this.#random.between(0, 2) : laterMs
    first.lose('reset')
    this.#clock.after(laterBy, () => second.lose('reset'))
  }

  /** Nothing arrives before then. */
  stall(until: InstantMs): void {
    this.dealer.pipe.stall(until)
    this.router.pipe.stall(until)
  }

  /** The network works again: ends of a dead connection find out that it is dead. */
  heal(): void {
    if (!this.#isVoid) return
    this.dealer.lose('reset')
    this.router.lose('reset')
  }
}

// One connection through the proxy: two sockets and, for each direction, a flow with its faults.

import { connect, type Socket } from 'node:net'

/** `up` is from the connecting to the listening side. */
export type Direction = 'up' | 'down'
export type LinkSide = Direction

/** Reset: both ends get an error. End: both see an ordinary end of the stream. */
export type CutKind = 'reset' | 'end'

/** The faults of one direction of a connection. */
export interface LinkFaults {
  /** The delay of everything. 0. */
  readonly delayMs: number
  /** Infinity. */
  readonly bytesPerSecond: number
  /** Both directions are cut once this many bytes have passed in this one. Infinity. */
  readonly cutAtByte: number
  /** The kind of cut. 'reset'. */
  readonly cutKind: CutKind
  /**
   * Instead of a cut at `cutAtByte`, the connection stops: nothing passes, and neither end notices.
   */
  readonly stopAtByte: number
}

const NO_FAULTS: LinkFaults = {
  delayMs: 0,
  bytesPerSecond: Infinity,
  cutAtByte: Infinity,
  cutKind: 'reset',
  stopAtByte: Infinity,
}

/** The most bytes that may wait in a flow before its source is paused. */
const MAX_HELD_BYTES = 1024 * 1024
/** The number of steps per second of a throttled flow. */
const SLICES_PER_SECOND = 50

/** One connection and its faults. */
export class ProxyLink {
  readonly #near: Socket
  readonly #far: Socket
  readonly #flows: Readonly<Record<Direction, Flow>>
  readonly #onClosed: () => void
  #idleMs = Infinity
  #idleTimer: NodeJS.Timeout | undefined
  #passes = 0
  #isForgotten = false
  #isOver = false

  constructor(
    near: Socket,
    target: { readonly host: string; readonly port: number },
    onClosed: () => void,
  ) {
    this.#near = near
    this.#far = connect({ ...target, noDelay: true, allowHalfOpen: true })
    this.#onClosed = onClosed
    const owner: FlowOwner = {
      onPassed: () => this.#restartIdleTimer(),
      onLimit: (how) => (how === 'stop' ? this.stop() : this.cut(how)),
    }
    this.#flows = {
      up: new Flow(this.#near, this.#far, owner),
      down: new Flow(this.#far, this.#near, owner),
    }
    for (const socket of [this.#near, this.#far]) {
      socket.on('error', () => {})
      socket.on('close', () => this.#onSocketClose(socket))
    }
  }

  /** Bytes that have passed. */
  passed(direction: Direction): number {
    return this.#flows[direction].passedBytes
  }

  /** Whether nothing passes. */
  get isStopped(): boolean {
    return this.#flows.up.isStopped || this.#flows.down.isStopped
  }

  /** Starts forwarding. */
  start(): void {
    this.#flows.up.pump()
    this.#flows.down.pump()
  }

  /** Sets faults of one direction, or of both. */
  disturb(faults: Partial<LinkFaults>, direction?: Direction): void {
    if (direction !== 'down') this.#flows.up.disturb(faults)
    if (direction !== 'up') this.#flows.down.disturb(faults)
  }

  /** Forgets the connection when nothing has passed for this long. */
  dropIdle(afterMs: number): void {
    this.#idleMs = afterMs
    this.#restartIdleTimer()
  }

  /** Nothing passes any more in one direction, or in both; held bytes wait for `heal`. */
  stop(direction?: Direction): void {
    if (direction !== 'down') this.#flows.up.stop()
    if (direction !== 'up') this.#flows.down.stop()
  }

  /** Removes all faults. A forgotten connection stays forgotten. */
  heal(): void {
    clearTimeout(this.#idleTimer)
    this.#idleMs = Infinity
    this.disturb(NO_FAULTS)
    if (this.#isForgotten) return
    // One end has closed meanwhile: now the other is notified.
    if (this.#near.destroyed || this.#far.destroyed) return this.cut('reset')
    this.#flows.up.resume()
    this.#flows.down.resume()
  }

  /** Ends both connections. */
  cut(how: CutKind): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#idleTimer)
    this.#flows.up.close()
    this.#flows.down.close()
    for (const socket of [this.#near, this.#far]) {
      // While its end is being sent, Node would refuse the reset, and never close the socket: the
      // process could not exit.
      if (how === 'reset' && socket.writableEnded) socket.destroy()
      else if (how === 'reset') socket.resetAndDestroy()
      else socket.destroySoon()
      socket.resume()
    }
    this.#onClosed()
  }

  #onSocketClose(socket: Socket): void {
    // The end of an unreachable host is not visible either.
    if (this.#isOver || this.isStopped) return
    const hadEnded = socket.readableEnded && socket.writableFinished
    this.cut(hadEnded ? 'end' : 'reset')
  }

  #restartIdleTimer(): void {
    if (this.#idleMs === Infinity || this.#isOver || this.#isForgotten) return
    this.#passes += 1
    if (this.#idleTimer !== undefined) {
      this.#idleTimer.refresh()
      return
    }
    this.#idleTimer = setTimeout(() => {
      // If this process got no CPU for a while, what has arrived meanwhile is read after the timers.
      const before = this.#passes
      setImmediate(() => {
        if (this.#passes === before) this.#forget()
      })
    }, this.#idleMs)
    this.#idleTimer.unref()
  }

  #forget(): void {
    if (this.#idleMs === Infinity || this.#isOver) return
    this.#isForgotten = true
    this.stop()
  }
}

/** The events of a flow for its link. */
interface FlowOwner {
  onPassed(): void
  /** The byte at which to cut or to stop has passed. */
  onLimit(how: CutKind | 'stop'): void
}

/** One direction. Chunks wait in order until they are due. */
class Flow {
  readonly #source: Socket
  readonly #sink: Socket
  readonly #owner: FlowOwner
  readonly #held: { chunk: Buffer; readonly dueAt: number }[] = []
  #heldBytes = 0
  #faults = NO_FAULTS
  #timer: NodeJS.Timeout | undefined
  /** A throttled flow may pass nothing before. */
  #freeAt = 0
  #hasEnded = false
  #isFull = false
  #isClosed = false
  #hasStarted = false
  isStopped = false
  passedBytes = 0

  constructor(source: Socket, sink: Socket, owner: FlowOwner) {
    this.#source = source
    this.#sink = sink
    this.#owner = owner
    sink.on('drain', () => {
      this.#isFull = false
      this.#go()
    })
  }

  pump(): void {
    this.#hasStarted = true
    this.#source.on('data', (chunk: Buffer) => {
      this.#held.push({ chunk, dueAt: performance.now() + this.#faults.delayMs })
      this.#heldBytes += chunk.length
      this.#go()
    })
    this.#source.on('end', () => {
      this.#hasEnded = true
      this.#go()
    })
    if (this.isStopped) this.#source.pause()
  }

  disturb(faults: Partial<LinkFaults>): void {
    this.#faults = { ...this.#faults, ...faults }
    this.#go()
  }

  stop(): void {
    this.isStopped = true
    clearTimeout(this.#timer)
    this.#source.pause()
  }

  resume(): void {
    this.isStopped = false
    this.#go()
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#held.length = 0
  }

  /** Passes on all bytes that may pass now, and schedules the rest. */
  #go(): void {
    if (!this.#hasStarted) return
    while (!this.#isClosed && !this.isStopped && !this.#isFull) {
      const first = this.#held[0]
      if (first === undefined) break
      const waitMs = Math.max(first.dueAt, this.#freeAt) - performance.now()
      if (waitMs > 0) {
        clearTimeout(this.#timer)
        this.#timer = setTimeout(() => this.#go(), Math.ceil(waitMs))
        break
      }
      this.#pass(first)
    }
    if (this.#isClosed || this.isStopped) return
    if (this.#heldBytes > MAX_HELD_BYTES) this.#source.pause()
    else this.#source.resume()
    if (this.#hasEnded && this.#held.length === 0) this.#sink.end()
  }

  #pass(first: { chunk: Buffer; readonly dueAt: number }): void {
    const { bytesPerSecond, cutAtByte, cutKind, stopAtByte } = this.#faults
    const limit = Math.min(cutAtByte, stopAtByte) - this.passedBytes
    const slice = Math.max(1, Math.floor(bytesPerSecond / SLICES_PER_SECOND))
    const length = Math.max(0, Math.min(first.chunk.length, limit, slice))
    const part = first.chunk.subarray(0, length)
    first.chunk = first.chunk.subarray(length)
    this.#heldBytes -= length
    if (first.chunk.length === 0) this.#held.shift()
    this.passedBytes += length
    this.#freeAt = performance.now() + (1_000 * length) / bytesPerSecond
    this.#owner.onPassed()
    const isLimit = length >= limit
    const onWritten = isLimit
      ? (): void => this.#owner.onLimit(cutAtByte <= stopAtByte ? cutKind : 'stop')
      : undefined
    // Nothing more until the limit has been reported: exactly this many bytes pass.
    if (isLimit) this.stop()
    if (!this.#sink.write(part, onWritten)) this.#isFull = true
  }
}

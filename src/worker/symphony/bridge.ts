// The bridge, as a process: Python with IBM's library, which passes inputs of services to Symphony
// and their outputs back. The frames are described in service/symphony_bridge.py.

import { ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Writable } from 'node:stream'
import { asBuffer, totalBytes } from '../../base/bytes.js'
import { ProtocolError, type ProcessorDeath } from '../../base/errors.js'
import type { ErrorText } from '../../base/text.js'
import type { LastRun } from '../../core/worker/events.js'
import { lastLineOf } from '../../core/worker/processor/death.js'
import { startFailureOf } from '../../runtime/child-environment.js'
import type { OutputStream } from '../../wire/message.js'
import {
  ByteTail,
  exitOf,
  inTime,
  LineSplitter,
  PULSE_INTERVAL_MS,
  signalGroup,
} from '../agent/spawn.js'
import { Pulse } from '../link/lifeline.js'

const SCRIPT: string = fileURLToPath(
  new URL('../../../service/symphony_bridge.py', import.meta.url),
)

/**
 * A bridge that cannot work exits with this code. We use the same code for a program that cannot be
 * started, or that exits before it has come to the frames: it is not Python, or too old.
 */
const CANNOT_WORK = 9

/** What is before its first frame. What is before that was printed by something else. */
const START = Buffer.from('\0scaler-ts frames\n')

const TASK = 0
const PING = 1
const READY = 0
const OUTPUT = 1
const FAILURE = 2
const LOST = 3
const REFUSED = 4
const PONG = 5

const HEADER_BYTES = 5
const NUMBER_BYTES = 8
const LENGTH_BYTES = 4

/** How much of what it prints is kept, in bytes. */
const TAIL_BYTES = 4096

/** A bridge that should end gets SIGTERM after this time, */
const PATIENCE_MS = 1_000
/** and SIGKILL this long after SIGTERM. */
const KILL_DELAY_MS = 2_000

/** How long to wait for the remaining frames of a bridge that has exited. */
const DRAIN_TIMEOUT_MS = 1_000

/** How to start bridges. */
export interface BridgeOptions {
  /** The program: `python3`. */
  readonly python: string
  readonly serviceName: string
  /** How often to check that it responds, in milliseconds. Default: as for processors. */
  readonly pulseIntervalMs?: number
}

/** Handles the events of a bridge. */
export interface BridgeHandler {
  /** A session is open. */
  onReady(pid: number, ids: { readonly connection: string; readonly session: string }): void
  onOutput(number: number, output: Buffer): void
  /** The service has failed. `pickled`: its exception; empty if there is none. */
  onFailure(number: number, text: ErrorText, pickled: Buffer): void
  /** It prints lines, for example those of IBM's library. */
  onLine(line: string): void
  /** `reason`: why it ended, as reported by itself; undefined if it crashed. */
  onExit(death: ProcessorDeath, lastRun: LastRun, reason: string | undefined): void
}

/** One bridge process. */
export class Bridge {
  /** Resolves when it has exited, after `onExit`. */
  readonly exited: Promise<void>
  readonly #child: ChildProcess
  readonly #python: string
  readonly #input: Writable | null
  readonly #handler: BridgeHandler
  /** The end of stderr, and of what was printed to stdout before the first frame. */
  readonly #tails = { stderr: new ByteTail(TAIL_BYTES), stdout: new ByteTail(TAIL_BYTES) }
  readonly #pulse = new Pulse(
    () => this.#send(PING, []),
    (silentMs) => this.#onFrozen(silentMs),
  )
  readonly #pulseIntervalMs: number
  #chunks: Buffer[] = []
  #bytes = 0
  /** How many bytes are needed to go on. */
  #wanted = START.byteLength
  /** Receives what is before the first frame; undefined once that has arrived. */
  #printed: LineSplitter | undefined
  #isReady = false
  #isGone = false
  #end: { readonly reason: string; readonly isOfTask: boolean } | undefined
  #startError: NodeJS.ErrnoException | undefined
  #killTimer: NodeJS.Timeout | undefined

  /** Starts it. The handler is never called within this call. */
  constructor({ python, serviceName, pulseIntervalMs }: BridgeOptions, handler: BridgeHandler) {
    this.#python = python
    this.#handler = handler
    this.#pulseIntervalMs = pulseIntervalMs ?? PULSE_INTERVAL_MS
    this.#child = spawnOrFail(python, [SCRIPT, serviceName])
    const { stdin, stdout, stderr } = this.#child
    // Undefined if the system has no pipes left.
    this.#input = stdin ?? null
    // A pipe breaks when the process exits, which is reported separately.
    for (const stream of [stdin, stdout, stderr]) stream?.on('error', () => {})
    const onLine = (line: string): void => handler.onLine(line)
    this.#printed = new LineSplitter(onLine)
    stdout?.on('data', (chunk: Buffer) => this.#onChunk(chunk))
    const lines = new LineSplitter(onLine)
    stderr?.on('data', (chunk: Buffer) => this.#onPrinted('stderr', chunk, lines))
    const closed = [stdout, stderr].map(
      async (stream) => new Promise((resolve) => stream?.once('close', resolve)),
    )
    this.exited = this.#watch(Promise.all(closed), lines)
  }

  /** Passes the input of a service to Symphony. Numbers must not be used twice. */
  submit(number: number, input: readonly Uint8Array[]): void {
    const head = Buffer.allocUnsafe(NUMBER_BYTES)
    head.writeBigUInt64LE(BigInt(number))
    this.#send(TASK, [head, ...input])
  }

  /** Kills it: SIGTERM first, then SIGKILL. */
  kill(): void {
    if (this.#isGone) return
    signalGroup(this.#child, 'SIGTERM')
    clearTimeout(this.#killTimer)
    this.#killTimer = setTimeout(() => signalGroup(this.#child, 'SIGKILL'), KILL_DELAY_MS)
  }

  /** Has it exit. Resolves after `onExit`. */
  async end(): Promise<void> {
    this.#input?.end()
    if (!this.#isGone) this.#killTimer ??= setTimeout(() => this.kill(), PATIENCE_MS)
    await this.exited
  }

  #send(kind: number, content: readonly Uint8Array[]): void {
    const stdin = this.#input
    if (stdin === null || stdin.destroyed || stdin.writableEnded) return
    const head = Buffer.allocUnsafe(HEADER_BYTES)
    head.writeUInt32LE(totalBytes(content), 0)
    head[4] = kind
    stdin.cork()
    for (const piece of [head, ...content]) stdin.write(piece)
    process.nextTick(() => stdin.uncork())
  }

  async #watch(closed: Promise<unknown>, lines: LineSplitter): Promise<void> {
    const failed = new Promise<[number, null]>((resolve) => {
      this.#child.once('error', (error: NodeJS.ErrnoException) => {
        this.#startError = error
        if (this.#child.pid === undefined) resolve([CANNOT_WORK, null])
      })
    })
    const [exitCode, signal] = await Promise.race([exitOf(this.#child), failed])
    this.#isGone = true
    this.#pulse.stop()
    clearTimeout(this.#killTimer)
    if (this.#child.pid !== undefined) {
      // Kills processes that it has started and left behind.
      signalGroup(this.#child, 'SIGKILL')
      await inTime(closed, DRAIN_TIMEOUT_MS)
    }
    for (const stream of this.#child.stdio ?? []) stream?.destroy()
    const rest = Buffer.concat(this.#chunks)
    if (this.#printed !== undefined) this.#onPrinted('stdout', rest, this.#printed)
    for (const printed of [this.#printed, lines]) printed?.end()
    this.#handler.onExit(this.#deathOf(exitCode, signal), this.#lastRun, this.#end?.reason)
  }

  /**
   * A bridge that could not open its session has not been started, as far as tasks are concerned;
   * this may be different a moment later.
   */
  #deathOf(exitCode: number | null, signal: NodeJS.Signals | null): ProcessorDeath {
    const { code, message } = this.#startError ?? {}
    if (code === 'ENOENT' || code === 'EACCES')
      return { exitCode: CANNOT_WORK, stderr: message ?? '' }
    if (message !== undefined) return { stderr: startFailureOf(message) }
    if (!this.#isReady && this.#end !== undefined) return { stderr: this.#end.reason }
    if (this.#printed !== undefined && exitCode !== null) return this.#unfit(exitCode)
    return {
      exitCode: exitCode ?? undefined,
      signal: signal ?? undefined,
      stderr: this.#end?.reason ?? this.#lastText,
    }
  }

  get #lastText(): string {
    return this.#tails.stderr.toString() || this.#tails.stdout.toString()
  }

  #unfit(exitCode: number): ProcessorDeath {
    const line = lastLineOf(this.#lastText)
    if (exitCode === CANNOT_WORK) return { exitCode, stderr: line }
    const what = `${this.#python} has exited with code ${exitCode} without starting the bridge`
    return { exitCode: CANNOT_WORK, stderr: line === '' ? what : `${what}: ${line}` }
  }

  /** A lost session is not the fault of a task, which may be retried however often. */
  get #lastRun(): LastRun {
    return this.#end?.isOfTask === false ? 'retired' : 'nothing'
  }

  #onPrinted(stream: OutputStream, chunk: Buffer, lines: LineSplitter): void {
    this.#tails[stream].write(chunk)
    lines.write(chunk)
  }

  #onChunk(chunk: Buffer): void {
    this.#pulse.heard()
    this.#chunks.push(chunk)
    this.#bytes += chunk.byteLength
    if (this.#bytes < this.#wanted) return
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    if (this.#printed !== undefined) rest = this.#skipPrinted(rest, this.#printed)
    while (this.#printed === undefined) {
      this.#wanted = HEADER_BYTES + (rest.byteLength < HEADER_BYTES ? 0 : rest.readUInt32LE(0))
      if (rest.byteLength < this.#wanted) break
      try {
        this.#onFrame(rest[4] as number, rest.subarray(HEADER_BYTES, this.#wanted))
      } catch (error) {
        return this.#onGarbage(error)
      }
      rest = rest.subarray(this.#wanted)
    }
    this.#chunks = rest.byteLength === 0 ? [] : [rest]
    this.#bytes = rest.byteLength
  }

  /** Returns what may be the beginning of frames. */
  #skipPrinted(content: Buffer, lines: LineSplitter): Buffer {
    const at = content.indexOf(START)
    const end = at === -1 ? content.byteLength - START.byteLength + 1 : at
    this.#onPrinted('stdout', content.subarray(0, end), lines)
    if (at === -1) return content.subarray(end)
    lines.end()
    this.#printed = undefined
    return content.subarray(at + START.byteLength)
  }

  #onGarbage(error: unknown): void {
    this.#child.stdout?.removeAllListeners('data').resume()
    this.#giveUp(`received invalid data: ${String(error)}`)
  }

  /** It was stopped, or the library blocks the whole process. */
  #onFrozen(silentMs: number): void {
    this.#giveUp(`the bridge to Symphony has not responded for ${silentMs} ms`)
  }

  #giveUp(reason: string): void {
    this.#end = { reason, isOfTask: true }
    if (!this.#isGone) signalGroup(this.#child, 'SIGKILL')
  }

  #onFrame(kind: number, content: Buffer): void {
    switch (kind) {
      case READY: {
        this.#isReady = true
        // It may have exited since.
        if (!this.#isGone) this.#pulse.start(this.#pulseIntervalMs)
        const ids = JSON.parse(content.toString()) as { connection: string; session: string }
        return this.#handler.onReady(this.#child.pid ?? 0, ids)
      }
      case OUTPUT:
        return this.#handler.onOutput(numberIn(content), content.subarray(NUMBER_BYTES))
      case FAILURE: {
        const textAt = NUMBER_BYTES + LENGTH_BYTES
        const textEnd = textAt + content.readUInt32LE(NUMBER_BYTES)
        const text = JSON.parse(content.toString('utf8', textAt, textEnd)) as ErrorText
        return this.#handler.onFailure(numberIn(content), text, content.subarray(textEnd))
      }
      case PONG:
        return undefined
      case LOST:
      case REFUSED:
        this.#end = { reason: content.toString(), isOfTask: kind === REFUSED }
        return undefined
      default:
        throw new ProtocolError(`the bridge sent a frame of the unknown kind ${kind}`)
    }
  }
}

function numberIn(content: Buffer): number {
  return Number(asBuffer(content).readBigUInt64LE(0))
}

/** Errors that `spawn` would throw, for example if memory ran out, are emitted like all others. */
function spawnOrFail(program: string, args: readonly string[]): ChildProcess {
  try {
    return spawn(program, args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      // Ctrl-C in a terminal does not reach it.
      detached: true,
      windowsHide: true,
    })
  } catch (error) {
    const child = new ChildProcess()
    process.nextTick(() => child.emit('error', error))
    return child
  }
}

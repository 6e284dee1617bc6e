// Looks at what the main thread of this process is doing, for an operator. A thread of its own
// connects to the main thread with the inspector, which works even if that is in a busy loop, and
// pauses it for a moment: about 0.2 ms for each running call. The thread is not the guardian, which
// has little memory and must not die. It is started at the first look and stays: on Node 20, a
// thread that ends soon after it has used the inspector sometimes aborts the process. If it ends
// during a look, or its session does, the main thread continues.

import type * as inspector from 'node:inspector'
import { fileURLToPath } from 'node:url'
import { parentPort, Worker } from 'node:worker_threads'
import type { StackReport } from '../core/worker/events.js'
import { SourcePositions } from '../serializer/source-position.js'
import type { StackFrame } from '../wire/message.js'
import { withoutOwnFrames } from './processor/own-frames.js'

/** The input of the thread that looks: it runs the same file as the guardian. */
export const LOOK = 'look at the stack'

/** A thread that executes JavaScript responds within milliseconds, but for a busy machine. */
const RESPONSE_MS = 1_500
/** One that executes none is not paused within this time. */
const PAUSE_MS = 300
/** The frames of a deep stack take up to this time. */
const LOOK_MS = 2_000
/** All of this, and the start of the thread. The scheduler waits for 5 s. */
const TIMEOUT_MS = 4_500

/** Limits of a report. */
const MAX_FRAMES = 100
const MAX_TEXT = 1_024
/** Source maps inside scripts are ignored beyond this many characters. */
const MAX_MAP_LENGTH = 16 * 1024 ** 2

/** Looks, by means of its thread. */
export class StackLooker {
  readonly #isRestricted: boolean
  #thread: Worker | undefined
  /** Receives the report of the current look. */
  #finish: (report: StackReport) => void = () => {}

  /** If the main thread `isRestricted`, the inspector would look at another one. */
  constructor(isRestricted: boolean) {
    this.#isRestricted = isRestricted
  }

  /** What the main thread is doing now. One call at a time. Never rejects. */
  look(): Promise<StackReport> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#fail('it did not answer in time'), TIMEOUT_MS)
      this.#finish = (report) => {
        clearTimeout(timer)
        this.#finish = () => {}
        resolve(report)
      }
      if (this.#isRestricted) return this.#fail('Node was started with --permission')
      try {
        this.#thread ??= this.#start()
        this.#thread.postMessage(LOOK)
      } catch (error) {
        // No further thread may be started now.
        this.#fail(String(error).slice(0, MAX_TEXT))
      }
    })
  }

  #start(): Worker {
    const thread = new Worker(new URL('../../dist/worker/guardian.cjs', import.meta.url), {
      workerData: LOOK,
      execArgv: [],
      env: {},
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
    })
    thread.on('message', (report: StackReport) => this.#finish(report))
    thread.on('error', (error) => this.#fail(String(error).slice(0, MAX_TEXT)))
    thread.on('exit', () => {
      this.#thread = undefined
      this.#fail('its thread has ended')
    })
    return thread
  }

  #fail(reason: string): void {
    this.#finish({ outcome: 'failed', stack: [], reason })
  }
}

/** The thread that looks: answers each message with a report. */
export function answerLooks(): void {
  let look: Look | undefined
  parentPort?.on('message', () => {
    const tell = (report: StackReport): void => parentPort?.postMessage(report)
    // The main thread has not even responded to the last look yet.
    if (look?.isOver === false) return tell(reportOf('blocked'))
    const next = new Look(tell)
    look = next
    next.start().catch((error: unknown) => {
      next.isOver = true
      tell({ ...reportOf('failed'), reason: String(error).slice(0, MAX_TEXT) })
    })
  })
}

function reportOf(outcome: StackReport['outcome'], stack: readonly StackFrame[] = []): StackReport {
  return { outcome, stack, reason: '' }
}

/** One look. Its session ends only when the main thread has responded to everything. */
class Look {
  /** Whether the session has ended. */
  isOver = false
  readonly #tell: (report: StackReport) => void
  readonly #scripts = new Map<string, { readonly url: string; readonly map: string }>()
  #mapLength = 0
  #session: inspector.Session | undefined
  #hasAsked = false
  /** What is known so far; undefined: nothing. */
  #found: StackReport | undefined
  #isReported = false
  #timer: NodeJS.Timeout | undefined

  constructor(tell: (report: StackReport) => void) {
    this.#tell = tell
  }

  async start(): Promise<void> {
    // Some builds of Node have none.
    const { Session } = await import('node:inspector')
    const session = new Session()
    session.connectToMainThread()
    this.#session = session
    session.on('Debugger.scriptParsed', ({ params }) => this.#onScript(params))
    session.on('Debugger.paused', ({ params }) => this.#onPaused(params))
    this.#reportIn(RESPONSE_MS)
    session.post('Debugger.enable', () => this.#onResponse())
  }

  #onScript({ scriptId, url, sourceMapURL = '' }: inspector.Debugger.ScriptParsedEventDataType) {
    this.#mapLength += sourceMapURL.length
    const map = this.#mapLength > MAX_MAP_LENGTH ? '' : sourceMapURL
    if (url !== '') this.#scripts.set(scriptId, { url, map })
  }

  /** It executes JavaScript, or is idle. */
  #onResponse(): void {
    if (this.#isReported || this.#found !== undefined) return this.#end()
    this.#hasAsked = true
    this.#session?.post('Debugger.pause')
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#end(), PAUSE_MS)
  }

  #onPaused({ callFrames, hitBreakpoints = [] }: inspector.Debugger.PausedEventDataType): void {
    // Otherwise somebody else has paused it, with a debugger, who will let it continue.
    if (this.#hasAsked && hitBreakpoints.length === 0) this.#session?.post('Debugger.resume')
    if (this.#found !== undefined) return
    const stack = stackOf(callFrames, this.#scripts)
    this.#found = reportOf(stack.length === 0 ? 'idle' : 'running', stack)
    if (this.#hasAsked) this.#end()
  }

  /** The main thread may be collecting the frames of a deep stack: then it responds later. */
  #end(): void {
    this.#reportIn(LOOK_MS)
    this.#session?.post('Debugger.disable', () => {
      this.#session?.disconnect()
      this.isOver = true
      this.#found ??= reportOf('idle')
      this.#report()
    })
  }

  #reportIn(delayMs: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#report(), delayMs)
  }

  #report(): void {
    clearTimeout(this.#timer)
    if (!this.#isReported) this.#tell(this.#found ?? reportOf('blocked'))
    this.#isReported = true
  }
}

type Scripts = ReadonlyMap<string, { readonly url: string; readonly map: string }>

const FRAME = /^ {4}at (?:(.*) \()?(.*):(\d+):(\d+)\)?$/

/** The frames of users, with the places where the code was written, as far as that is known. */
function stackOf(
  callFrames: readonly inspector.Debugger.CallFrame[],
  scripts: Scripts,
): readonly StackFrame[] {
  const lines = callFrames.map(({ functionName, location: { scriptId, ...at } }) => {
    const url = scripts.get(scriptId)?.url ?? '<anonymous>'
    const place = `${url}:${at.lineNumber + 1}:${(at.columnNumber ?? 0) + 1}`
    return functionName === '' ? `    at ${place}` : `    at ${functionName} (${place})`
  })
  const kept = withoutOwnFrames(lines.join('\n')).split('\n').slice(0, MAX_FRAMES)
  const maps = new Map([...scripts.values()].map(({ url, map }) => [url, map]))
  const positions = new SourcePositions({
    loadedBefore: Date.now() - process.uptime() * 1_000,
    sourceMapUrlAt: (place) => maps.get(place) ?? '',
  })
  // One line has no frames for it.
  const shown = positions.rewrite(['', ...kept].join('\n')).split('\n')
  return shown.flatMap((line) => {
    const [, name = '', place = '', row, column] = FRAME.exec(line) ?? []
    if (row === undefined) return []
    const file = pathOf(place).slice(0, MAX_TEXT)
    return { function: name.slice(0, MAX_TEXT), file, line: Number(row), column: Number(column) }
  })
}

function pathOf(place: string): string {
  try {
    return place.startsWith('file:') ? fileURLToPath(place) : place
  } catch {
    return place
  }
}

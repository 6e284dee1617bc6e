// Spans of OpenTelemetry for calls and tasks, if the program has set up an SDK. The SDK is found in
// the global registry through which all copies of `@opentelemetry/api` 1.x find it: nothing is
// imported, an SDK may be set up at any time, and without one a call costs one look at a global.
// Errors of the SDK are ignored: a trace may be incomplete, but no task is lost.
//
// The trace context of a task is a text (docs/protocol.md#traces), '' if it has none.

import { AsyncResource } from 'node:async_hooks'
import { errorTextOf } from '../base/text.js'

// The parts of `@opentelemetry/api` that are used; all of them exist since its version 1.0.

interface Registry {
  readonly trace?: TracerProvider
  readonly context?: Contexts
}

interface TracerProvider {
  getTracer(name: string): Tracer
  /** The provider that was registered: what the registry has is a stand-in. */
  getDelegate?(): TracerProvider
  /** Of SDKs only. */
  forceFlush?(): Promise<unknown>
}

interface Tracer {
  startSpan(name: string, options: object, context?: Context): Span
}

interface Span {
  spanContext(): SpanContext
  isRecording(): boolean
  setAttributes(attributes: Attributes): unknown
  setStatus(status: { readonly code: number; readonly message: string }): unknown
  recordException(error: { readonly name: string; readonly message: string }): void
  end(): void
}

interface SpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
  readonly traceState?: { serialize(): string } | undefined
}

interface Context {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): Context
}

interface Contexts {
  active(): Context
  with<R>(context: Context, fn: () => R): R
}

/** Properties of a span, by name. */
export type Attributes = Readonly<Record<string, string | number>>

const REGISTRY: unique symbol = Symbol.for('opentelemetry.js.api.1')
/** The active span in a context. */
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')
const PRODUCER = 3
const CONSUMER = 4
const ERROR = 2

/** The context of a program without a context manager. */
class PlainContext implements Context {
  readonly #values: ReadonlyMap<symbol, unknown>

  constructor(values: ReadonlyMap<symbol, unknown>) {
    this.#values = values
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key)
  }

  setValue(key: symbol, value: unknown): PlainContext {
    return new PlainContext(new Map(this.#values).set(key, value))
  }

  deleteValue(key: symbol): PlainContext {
    return this.setValue(key, undefined)
  }
}

const NO_CONTEXT = new PlainContext(new Map())

// Trace contexts as text.

/** The longest `tracestate` that is passed on, in characters. */
const MAX_STATE_LENGTH = 512
const FORMAT = /^00-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?: ([ -~]*))?$/

/** A received trace context; '' if it is malformed. A `tracestate` that is too long is left out. */
export function checkTraceContext(text: string): string {
  if (text === '') return ''
  const [, traceId, spanId, flags, state = ''] = FORMAT.exec(text) ?? []
  return traceId === undefined ? '' : textOf(`00-${traceId}-${spanId}-${flags}`, state)
}

function textOf(parent: string, state: string): string {
  return state === '' || state.length > MAX_STATE_LENGTH ? parent : `${parent} ${state}`
}

function textOfSpan({ traceId, spanId, traceFlags, traceState }: SpanContext): string {
  const flags = (traceFlags & 0xff).toString(16).padStart(2, '0')
  const text = textOf(`00-${traceId}-${spanId}-${flags}`, traceState?.serialize() ?? '')
  return checkTraceContext(text)
}

/** A stand-in for a span in another process, as `trace.wrapSpanContext` makes it. */
function remoteSpan(traceContext: string): Span | undefined {
  const [, traceId = '', spanId = '', flags = '', state = ''] = FORMAT.exec(traceContext) ?? []
  if (traceId === '') return undefined
  const traceState = state === '' ? undefined : new TraceState(state.split(','))
  const context = { traceId, spanId, traceFlags: parseInt(flags, 16), traceState, isRemote: true }
  return {
    spanContext: () => context,
    isRecording: () => false,
    setAttributes: () => {},
    setStatus: () => {},
    recordException: () => {},
    end: () => {},
  }
}

/** A `tracestate`, which samplers read and change. Immutable. */
class TraceState {
  readonly #members: readonly string[]

  constructor(members: readonly string[]) {
    this.#members = members.map((member) => member.trim())
  }

  get(key: string): string | undefined {
    return this.#members.find((member) => member.startsWith(`${key}=`))?.slice(key.length + 1)
  }

  set(key: string, value: string): TraceState {
    return new TraceState([`${key}=${value}`, ...this.#without(key)])
  }

  unset(key: string): TraceState {
    return new TraceState(this.#without(key))
  }

  serialize(): string {
    return this.#members.join(',')
  }

  #without(key: string): readonly string[] {
    return this.#members.filter((member) => !member.startsWith(`${key}=`))
  }
}

/** What a span is about. */
export interface SpanStart {
  /** A call of a client, or the run of a task. */
  readonly operation: 'submit' | 'map' | 'starmap' | 'get' | 'run'
  /** Of the task or its function; '' = it has none. */
  readonly name: string
  /** The trace that it joins unless a span is active here. */
  readonly traceContext: string
  readonly attributes: Attributes
}

/** How it ended. */
export interface SpanEnd {
  readonly outcome: 'done' | 'failed' | 'cancelled'
  /** Why it failed. */
  readonly error: unknown
  readonly attributes?: Attributes
}

/** The SDK of this process. */
export class Tracing {
  readonly #registry: Registry

  /** The registry of `@opentelemetry/api`. */
  constructor(registry: Registry) {
    this.#registry = registry
  }

  /** Starts a span. Undefined if the SDK fails. */
  start({ operation, name, traceContext, attributes }: SpanStart): TaskSpan | undefined {
    return attempt(() => {
      const { trace, context: contexts } = this.#registry
      const active = contexts?.active() ?? NO_CONTEXT
      const remote = active.getValue(SPAN) === undefined ? remoteSpan(traceContext) : undefined
      const parent = remote === undefined ? active : active.setValue(SPAN, remote)
      const isRun = operation === 'run'
      const options = {
        kind: isRun ? CONSUMER : PRODUCER,
        attributes: {
          'messaging.system': 'scaler',
          'messaging.operation.name': operation,
          'messaging.operation.type': isRun ? 'process' : 'send',
          ...(name !== '' && { 'messaging.destination.name': name }),
          ...attributes,
        },
      }
      const title = name === '' ? operation : `${operation} ${name}`
      const span = trace?.getTracer('scaler-ts').startSpan(title, options, parent)
      return span && new TaskSpan(span, parent.setValue(SPAN, span), contexts)
    })
  }

  /** Exports the spans that have ended. Undefined if nothing has to be awaited. Never rejects. */
  flush(): Promise<unknown> | undefined {
    return attempt(() => {
      const { trace } = this.#registry
      return (trace?.getDelegate?.() ?? trace)?.forceFlush?.().catch(() => {})
    })
  }
}

/** The SDK of this process; undefined if it has none. */
export function findTracing(): Tracing | undefined {
  const registry = (globalThis as { readonly [REGISTRY]?: Registry })[REGISTRY]
  return registry?.trace === undefined ? undefined : new Tracing(registry)
}

/** A span of a call or a task. Nothing throws. */
export class TaskSpan {
  /** For the tasks that belong to it. */
  readonly traceContext: string
  readonly #span: Span
  readonly #context: Context
  readonly #contexts: Contexts | undefined
  #hasEnded = false

  /** `context` is the one in which `span` is active. Throws errors of the SDK. */
  constructor(span: Span, context: Context, contexts: Contexts | undefined) {
    this.traceContext = textOfSpan(span.spanContext())
    this.#span = span
    this.#context = context
    this.#contexts = contexts
  }

  /** Calls `fn`, for which the span is the active one. Its stack does not contain the SDK. */
  run<R>(fn: () => R): R {
    const resource = attempt(() =>
      this.#contexts?.with(this.#context, () => new AsyncResource('ScalerSpan')),
    )
    return resource instanceof AsyncResource ? resource.runInAsyncScope(fn) : fn()
  }

  /** Ends it, unless it has ended. */
  end({ outcome, error, attributes }: SpanEnd): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    attempt(() => {
      const span = this.#span
      if (!span.isRecording()) return
      span.setAttributes({ ...attributes, 'scaler.outcome': outcome })
      if (outcome !== 'failed') return
      const text = errorTextOf(error)
      span.setAttributes({ 'error.type': text.name === '' ? '_OTHER' : text.name })
      span.recordException(text)
      span.setStatus({ code: ERROR, message: text.message })
    })
    attempt(() => this.#span.end())
  }
}

/** What `fn` returns; undefined if it throws. */
function attempt<R>(fn: () => R): R | undefined {
  try {
    return fn()
  } catch {
    return undefined
  }
}

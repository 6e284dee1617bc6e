// Sets up the SDK of OpenTelemetry, installed by scripts/peers.mjs, in a program or a processor.
// Appends the spans that have ended to the file SPANS, one line of JSON each. The parts that are
// used are declared here, because the compiler does not see the folder of the peer.

import { appendFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ROOT } from '../../interop/program.js'

/** A span in the file. */
export interface WrittenSpan {
  readonly name: string
  readonly trace: string
  readonly id: string
  readonly parent: string | undefined
  readonly kind: number
  /** 2 = an error. */
  readonly status: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly exceptions: readonly unknown[]
}

interface Span {
  spanContext(): { readonly traceId: string; readonly spanId: string }
  end(): void
}

/** The part of `@opentelemetry/api` that the test uses. */
export interface Api {
  readonly ROOT_CONTEXT: object
  readonly context: {
    active(): object
    with<R>(context: object, fn: () => R): R
    setGlobalContextManager(manager: object): boolean
  }
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string): Span
      startActiveSpan<R>(name: string, fn: (span: Span) => R): R
    }
    setGlobalTracerProvider(provider: object): boolean
    setSpanContext(context: object, spanContext: object): object
  }
}

interface EndedSpan extends Span {
  readonly name: string
  readonly kind: number
  readonly parentSpanContext?: { readonly spanId: string }
  readonly status: { readonly code: number }
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: readonly { readonly attributes?: Readonly<Record<string, unknown>> }[]
}

interface Sdk {
  readonly BasicTracerProvider: new (options: object) => { forceFlush(): Promise<void> }
  readonly BatchSpanProcessor: new (exporter: object) => object
}

interface Contexts {
  readonly AsyncLocalStorageContextManager: new () => object
}

const require = createRequire(join(ROOT, '.peers/opentelemetry/package.json'))

/** The API of this process. */
export const api: Api = require('@opentelemetry/api') as Api

const { BasicTracerProvider, BatchSpanProcessor } = require('@opentelemetry/sdk-trace-base') as Sdk
const { AsyncLocalStorageContextManager } =
  require('@opentelemetry/context-async-hooks') as Contexts

const exporter = {
  export(spans: readonly EndedSpan[], done: (result: object) => void): void {
    const lines = spans.map((span) => `${JSON.stringify(written(span))}\n`)
    appendFileSync(process.env['SPANS'] ?? '/dev/null', lines.join(''))
    done({ code: 0 })
  },
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
}

function written(span: EndedSpan): WrittenSpan {
  const { traceId, spanId } = span.spanContext()
  return {
    name: span.name,
    trace: traceId,
    id: spanId,
    parent: span.parentSpanContext?.spanId,
    kind: span.kind,
    status: span.status.code,
    attributes: span.attributes,
    exceptions: span.events.map(({ attributes }) => attributes?.['exception.type']),
  }
}

const provider = new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] })

/** Writes all spans that have ended. */
export function flush(): Promise<void> {
  return provider.forceFlush()
}

api.context.setGlobalContextManager(new AsyncLocalStorageContextManager())
api.trace.setGlobalTracerProvider(provider)

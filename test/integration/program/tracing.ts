// Sets up the SDK of OpenTelemetry, installed by scripts/peers.mjs, in a program or a processor.
// Appends the spans that have ended to the file SPANS, one line of JSON each. The parts that are
// used are declared here, because the compiler does not see the folder of the peer.

import assert from 'node:assert/strict'
import { appendFile } from 'node:fs'
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
  readonly context: { with<R>(context: object, fn: () => R): R }
  readonly trace: {
    getTracer(name: string): {
      startSpan(name: string): Span
      startActiveSpan<R>(name: string, fn: (span: Span) => R): R
    }
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

const require = createRequire(join(ROOT, '.peers/opentelemetry/package.json'))

/** The API of this process. */
export const api: Api = require('@opentelemetry/api') as Api

const exporter = {
  export(spans: readonly EndedSpan[], done: (result: object) => void): void {
    const lines = spans.map((span) => `${JSON.stringify(written(span))}\n`)
    // Takes a while, as a real one does.
    appendFile(process.env['SPANS'] ?? '/dev/null', lines.join(''), () => done({ code: 0 }))
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

/** An object of a class of a package. */
function newOf(name: string, className: string, options?: object): object {
  const classes = require(`@opentelemetry/${name}`) as Record<
    string,
    new (options?: object) => object
  >
  const Class = classes[className]
  assert(Class !== undefined)
  return new Class(options)
}

/** Registers an object with a part of the API. */
function register(part: 'trace' | 'context', method: string, made: object): void {
  const registers = api[part] as unknown as Record<string, (made: object) => boolean>
  assert.equal(registers[method]?.(made), true)
}

const batch = newOf('sdk-trace-base', 'BatchSpanProcessor', exporter)
const provider = newOf('sdk-trace-base', 'BasicTracerProvider', { spanProcessors: [batch] })

/** Writes all spans that have ended. */
export function flush(): Promise<void> {
  return (provider as { forceFlush(): Promise<void> }).forceFlush()
}

register(
  'context',
  'setGlobalContextManager',
  newOf('context-async-hooks', 'AsyncLocalStorageContextManager'),
)
register('trace', 'setGlobalTracerProvider', provider)

// An SDK of OpenTelemetry for tests, in the registry where those of `@opentelemetry/api` are.

import { AsyncLocalStorage } from 'node:async_hooks'
import type { TestContext } from 'node:test'
import type { Attributes } from './tracing.js'

const REGISTRY = Symbol.for('opentelemetry.js.api.1')
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')
const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'

interface FakeSpanContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
  readonly traceState?: { serialize(): string } | undefined
}

/** A context, as `ROOT_CONTEXT` and what is made of it. */
export class FakeContext {
  readonly #values: ReadonlyMap<symbol, unknown>

  constructor(values: ReadonlyMap<symbol, unknown> = new Map()) {
    this.#values = values
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key)
  }

  setValue(key: symbol, value: unknown): FakeContext {
    return new FakeContext(new Map(this.#values).set(key, value))
  }
}

/** A span and everything that was done with it. */
export class FakeSpan {
  readonly name: string
  readonly kind: number
  readonly parent: FakeSpanContext | undefined
  readonly isSampled: boolean
  readonly #id: string
  attributes: Attributes
  /** Names of errors. */
  readonly exceptions: string[] = []
  status = ''
  endCount = 0

  constructor(
    name: string,
    options: { readonly kind?: number; readonly attributes?: Attributes },
    facts: { readonly id: string; readonly parent?: FakeSpanContext; readonly isSampled: boolean },
  ) {
    this.name = name
    this.kind = options.kind ?? 0
    this.attributes = options.attributes ?? {}
    this.#id = facts.id
    this.parent = facts.parent
    this.isSampled = facts.isSampled
  }

  spanContext(): FakeSpanContext {
    const { traceId = TRACE_ID, traceState } = this.parent ?? {}
    return { traceId, spanId: this.#id, traceFlags: this.isSampled ? 1 : 0, traceState }
  }

  isRecording(): boolean {
    return this.isSampled && this.endCount === 0
  }

  setAttributes(attributes: Attributes): void {
    this.attributes = { ...this.attributes, ...attributes }
  }

  setStatus({ code, message }: { readonly code: number; readonly message: string }): void {
    this.status = `${code} ${message}`
  }

  recordException({ name }: { readonly name: string }): void {
    this.exceptions.push(name)
  }

  end(): void {
    this.endCount += 1
  }
}

/** An SDK. Samples like the default of real ones: as the parent was sampled, otherwise always. */
export class FakeSdk {
  readonly spans: FakeSpan[] = []
  readonly #storage = new AsyncLocalStorage<FakeContext>()

  /** Registers it until the end of the test. */
  constructor(t: TestContext, changes: Readonly<Record<string, unknown>> = {}) {
    const registry = {
      version: '1.9.0',
      trace: { getTracer: () => this },
      context: {
        active: () => this.#storage.getStore() ?? new FakeContext(),
        with: <R>(context: FakeContext, fn: () => R): R => this.#storage.run(context, fn),
      },
      ...changes,
    }
    Reflect.set(globalThis, REGISTRY, registry)
    t.after(() => Reflect.deleteProperty(globalThis, REGISTRY))
  }

  startSpan(name: string, options: object, context: FakeContext = this.active): FakeSpan {
    const span = context.getValue(SPAN) as FakeSpan | undefined
    const parent = span?.spanContext()
    const isSampled = parent === undefined || parent.traceFlags === 1
    const id = `b7ad6b716920${String(3331 + this.spans.length)}`
    const made = new FakeSpan(name, options, { id, isSampled, ...(parent && { parent }) })
    this.spans.push(made)
    return made
  }

  get active(): FakeContext {
    return this.#storage.getStore() ?? new FakeContext()
  }

  /** Calls `fn` in a span of an application. */
  within<R>(name: string, fn: () => R): R {
    return this.#storage.run(this.active.setValue(SPAN, this.startSpan(name, {})), fn)
  }

  /** Each span with its parent, if that is known, and how it ended. */
  get lines(): string[] {
    return this.spans.map(({ name, parent, attributes, endCount }) => {
      const from = this.spans.find((span) => span.spanContext().spanId === parent?.spanId)
      const origin = parent === undefined ? '' : ` < ${from?.name ?? parent.spanId}`
      const end = endCount === 1 ? ` ${String(attributes['scaler.outcome'] ?? 'ended')}` : ''
      return `${name}${origin}${end}`
    })
  }

  /** The trace context of a span, as a task carries it. */
  traceOf(name: string): string {
    const context = this.spans.find((span) => span.name === name)?.spanContext()
    return `00-${context?.traceId}-${context?.spanId}-0${context?.traceFlags}`
  }
}

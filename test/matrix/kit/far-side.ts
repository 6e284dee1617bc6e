// The program of the far side: plain Node without the files of the cases. Calls the functions that
// arrive and sends back their outcomes.

import type { Serializer } from 'scaler-ts'
import type { Answer, Shipment } from './shipment.js'

interface ErrorCodec {
  readonly serializeError: (thrown: unknown) => Uint8Array
}

/** Internals of the package are only in its single files: all of one instance. */
const loadOwn = (file: string): Promise<unknown> =>
  import(new URL(`../lib/${file}`, import.meta.resolve('scaler-ts')).href)
const { defaultSerializer } = (await loadOwn('index.js')) as {
  readonly defaultSerializer: Serializer
}
const { serializeError } = (await loadOwn('serializer/error-codec.js')) as ErrorCodec

/** A value that can only be read after an import has a promise in its error. */
async function load(bytes: Uint8Array): Promise<unknown> {
  for (;;) {
    try {
      return defaultSerializer.deserialize(bytes)
    } catch (error) {
      const done = pendingOf(error) ?? pendingOf((error as Error).cause)
      if (done === undefined) throw error
      await done
    }
  }
}

function pendingOf(error: unknown): Promise<unknown> | undefined {
  const done: unknown = (error as { readonly done?: unknown } | undefined)?.done
  return done instanceof Promise ? done : undefined
}

async function answerTo({ fn, args }: Shipment): Promise<Answer> {
  let called: (...parameters: unknown[]) => unknown
  const parameters: unknown[] = []
  try {
    called = (await load(fn)) as typeof called
    for (const bytes of args) parameters.push(await load(bytes))
  } catch (error) {
    return {
      kind: 'unreadable',
      text: error instanceof Error ? String(error.stack) : 'not an error',
    }
  }
  try {
    return { kind: 'value', bytes: defaultSerializer.serialize(await called(...parameters)) }
  } catch (error) {
    return { kind: 'thrown', bytes: serializeError(error) }
  }
}

process.on('message', (shipment: Shipment) => {
  void answerTo(shipment).then((answer) => process.send?.(answer))
})
process.on('disconnect', () => process.exit())
process.send?.('ready')

// The seam between the engine, which moves bytes, and the meaning of the bytes. The engine calls a
// serializer for a function, for each argument and for each result; errors travel through
// error-codec.ts instead.

import { hostname } from 'node:os'
import { ConfigError } from '../base/errors.js'
import { type AnyClass, type ClassCodecOptions, ClassCodecs } from './class/codecs.js'
import { Identities, type KnownThings, TaskIdentities } from './class/registry.js'
import { DefaultSerializer } from './default-serializer.js'
import { SourceAnalyst } from './function/analyst.js'
import { explainFunction } from './function/explain.js'
import { ExplicitFunctions, type TaskCaptures } from './function/explicit.js'
import { createModuleLoader } from './module/loader.js'
import { ModuleNames } from './module/names.js'
import { type AnyFunction, NativeNames } from './module/native.js'
import { ModulePolicy } from './module/policy.js'
import type { SourcePositions } from './source-position.js'

// The serializer of this process with its parts, and the settings that users make. There is one:
// registrations hold for every client, and a class is the same class in all messages.

class ProcessSerializer {
  readonly policy = new ModulePolicy()
  readonly explicit = new ExplicitFunctions()
  readonly codecs = new ClassCodecs()
  readonly identities = new Identities()
  isServing = false
  known: () => KnownThings = () => this.identities
  /** The name of this process in errors. */
  name = `process ${process.pid} on ${hostname()}`
  readonly analyst: SourceAnalyst
  readonly serializer: DefaultSerializer
  /** Its functions work alone, too: `{ ...defaultSerializer, deserialize }`. */
  readonly exported: Serializer

  constructor() {
    const natives = new NativeNames()
    const loader = createModuleLoader({
      workerName: () => this.name,
      cwd: () => process.cwd(),
    })
    const modules = new ModuleNames(this.policy, natives, loader)
    const { explicit, codecs } = this
    this.analyst = new SourceAnalyst({ natives, modules, explicit })
    const { analyst, identities } = this
    const known = (): KnownThings => this.known()
    this.serializer = new DefaultSerializer({ analyst, loader, natives, codecs, identities, known })
    const { serializer } = this
    const serialize = (value: unknown): Uint8Array => serializer.serialize(value)
    const deserialize = (bytes: Uint8Array): unknown => serializer.deserialize(bytes)
    this.exported = { serialize, deserialize }
    natives.know('scaler-ts#defaultSerializer', this.exported)
    natives.know('scaler-ts#defaultSerializer.serialize', serialize)
    natives.know('scaler-ts#defaultSerializer.deserialize', deserialize)
  }
}

const own = new ProcessSerializer()

/** The same, with everything that client and worker need beyond a `Serializer`. */
export const processSerializer: DefaultSerializer = own.serializer

/**
 * Functions and values by value (docs/functions.md). `serialize` throws `SerializeError`,
 * `deserialize` throws `DeserializeError`. The bytes of a function are the same `Uint8Array` until
 * something that it uses changes, and must not be modified; all other bytes are the caller's.
 */
export const defaultSerializer: Serializer = own.exported

/** From now on errors name the worker of this process. */
export function nameWorker(worker: string): void {
  own.name = `${worker} (process ${process.pid} on ${hostname()})`
}

/**
 * From now on functions and classes of this package travel by value: it need not be installed on
 * the workers. `specifier` is the name of a package or a subpath of it, or, where a folder is
 * registered by reference, the `file:` URL or path of something in it. For the whole process; takes
 * effect at the next submit. Throws `ConfigError` for anything else.
 */
export function registerByValue(specifier: string): void {
  own.policy.registerByValue(specifier)
}

/**
 * From now on exports of the module are imported on the worker, which must have it. `specifier` is
 * the name of a package, a `file:` URL, or a path of a file or folder. For the whole process; takes
 * effect at the next submit. Throws `ConfigError` for anything else.
 */
export function registerByReference(specifier: string): void {
  own.policy.registerByReference(specifier)
}

/**
 * From now on instances of the class travel as the result of `serialize(instance)`, and
 * `deserialize(value)` creates them again; both functions travel along. For classes with state that
 * only they can access, such as `#private` fields. A class that extends it must be registered as
 * well. For the whole process. Throws `ConfigError`.
 */
export function registerClass<T, V = unknown>(
  constructor: AnyClass<T>,
  options: ClassCodecOptions<T, V>,
): void {
  own.codecs.register(constructor, options)
}

/**
 * What would travel with a function, as text: the tree of all its captured values, with sizes, and
 * with the parts that are imported instead or cannot travel. Throws `TypeError` if `fn` is not a
 * function.
 */
export function explainSerialization(fn: AnyFunction): string {
  if (typeof fn !== 'function') throw new TypeError(`expected a function, got ${typeof fn}`)
  const serialize = (value: unknown): Uint8Array => own.serializer.serialize(value)
  return explainFunction(fn, { analyst: own.analyst, serialize })
}

/**
 * Declares the captures of a function, for processes without an inspector to read them: `fn` uses
 * the variables in `captures` and globals, nothing else. Their values are those given here. Returns
 * `fn`. Throws `ConfigError`.
 */
export function task<F extends AnyFunction>(fn: F, options: TaskCaptures): F
/**
 * The function that the module at `url` (for instance `import.meta.url`) exports as `name`:
 * imported on the worker, which must have the module. Throws `ConfigError`.
 */
export function task(url: string, name: string): (...parameters: unknown[]) => Promise<unknown>
export function task(
  target: AnyFunction | string,
  about: TaskCaptures | string,
): AnyFunction | ((...parameters: unknown[]) => Promise<unknown>) {
  if (typeof target === 'string') return own.explicit.ofExport(target, about as string)
  if (typeof target !== 'function') {
    throw new ConfigError(`task: expected a function or the URL of a module, got ${typeof target}`)
  }
  if (typeof about !== 'object' || about === null) {
    throw new ConfigError('task: expected { captures } after the function')
  }
  return own.explicit.withCaptures(target, about)
}

/** Where the code of this process was written. */
export const sourcePositions: SourcePositions = own.analyst.positions

/**
 * For a processor: classes that it received belong to its clients, and return as such. `known`
 * gives the identities known to the running task; while none runs, those read are not kept.
 */
export function serveClients(known: () => KnownThings | undefined): void {
  own.isServing = true
  own.identities.keepsForeign = true
  own.known = () => known() ?? newTaskIdentities()
}

/** The identities known to a task when it starts: only those of the process. */
export function newTaskIdentities(): TaskIdentities {
  return new TaskIdentities(own.identities)
}

/** Reads a value that the process keeps for all of its tasks: a client's serializer. */
export function deserializeForAll(bytes: Uint8Array): unknown {
  return own.serializer.deserializeFor(own.identities, bytes)
}

/** For a client: classes that it received are its own, which it may change and send. */
export function ownCopies(): void {
  if (!own.isServing) own.identities.keepsForeign = false
}

/** Any value, with parts that cannot travel replaced by a short text. */
export function serializeLeniently(value: unknown): Uint8Array {
  return own.serializer.serializeAs(value, 'lenient')
}

/** Turns values into bytes and back. Instances are called from one thread, never concurrently. */
export interface Serializer {
  /** The value as bytes, which belong to the caller afterwards. Throws `SerializeError`. */
  serialize(value: unknown): Uint8Array
  /** The value again. The bytes are not kept. Throws `DeserializeError`. */
  deserialize(bytes: Uint8Array): unknown
}

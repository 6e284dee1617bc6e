// The options of tasks: names, defaults and bounds, and how they are encoded.

import { asBuffer } from '../../base/bytes.js'
import { ConfigError } from '../../base/errors.js'
import { booleanOption, checkNames, numberOption } from '../../base/option.js'
import { identity, taskId, type Identity, type TaskId } from '../../base/ids.js'
import type { TaskOptions as CoreTaskOptions } from '../../core/client/events.js'
import type { OutputPlace, TaskCapability } from '../../wire/message.js'
import { encodeTaskFlags } from '../../wire/metadata.js'
import { signalWatches, type SignalWatch } from './signal.js'

/** How tasks are run. Times are in milliseconds. */
export interface TaskOptions {
  /** Whether workers measure CPU time and peak memory. Default: the client's option. */
  readonly profiling?: boolean | undefined
  /**
   * How long the task may run from its start; then it fails with `TaskTimeoutError`. 1 to
   * 2,147,483,647. Default: no limit.
   */
  readonly timeoutMs?: number | undefined
  /** 0: how often it is run again after it has failed. At most 1,000,000. */
  readonly retries?: number | undefined
  /** 3: how often it is run again after its worker was lost. 0 to 1,000,000. */
  readonly maxWorkerDeaths?: number | undefined
  /** 0: higher ones run first. -1,000,000,000 to 1,000,000,000. */
  readonly priority?: number | undefined
  /**
   * What the worker must offer, by name: -1 requires only the name; a whole number from 1 requires
   * that many units of the host, reserved for the task while it runs. At most 64 names of at most
   * 256 characters. Default: none.
   */
  readonly capabilities?: Readonly<Record<string, number>> | undefined
  /** Cancels the task when it aborts; its reason becomes the cause. */
  readonly signal?: AbortSignal | undefined
  /** For monitors and logs. At most 1,000 characters. Default: the name of the function. */
  readonly name?: string | undefined
}

/** All options with a value; undefined ones are left to the scheduler. */
export interface TaskSettings {
  readonly profiling: boolean
  readonly timeoutMs: number | undefined
  readonly retries: number
  readonly maxWorkerDeaths: number | undefined
  readonly priority: number
  readonly capabilities: readonly TaskCapability[]
  /** Any of them cancels the task. */
  readonly signals: readonly SignalWatch[]
  readonly name: string
  /** The client's setting. */
  readonly output: OutputPlace
}

const MAX_TIMER_MS = 2 ** 31 - 1
const MAX_COUNT = 1_000_000
const MAX_PRIORITY = 1_000_000_000
const MAX_NAME_LENGTH = 1_000
/** The maximum that a scheduler accepts (core/scheduler/worker/capabilities.ts). */
const MAX_CAPABILITIES = 64
const MAX_CAPABILITY_LENGTH = 256
const NO_PARENT = taskId('')
const NO_CLIENT = identity('')

/** The compiler checks that it is complete. */
const NAMES: Readonly<Record<keyof TaskOptions, true>> = {
  profiling: true,
  timeoutMs: true,
  retries: true,
  maxWorkerDeaths: true,
  priority: true,
  capabilities: true,
  signal: true,
  name: true,
}

/** The settings of tasks without options. */
export function defaultTaskSettings(profiling: boolean, output: OutputPlace = 'log'): TaskSettings {
  return {
    profiling,
    timeoutMs: undefined,
    retries: 0,
    maxWorkerDeaths: undefined,
    priority: 0,
    capabilities: [],
    signals: [],
    name: '',
    output,
  }
}

/**
 * `settings`, changed by the given options. Signals are added. Throws `ConfigError` that names the
 * option, its value and the bound.
 */
export function changeTaskSettings(settings: TaskSettings, given: TaskOptions): TaskSettings {
  checkNames('task', NAMES, given)
  const { profiling, capabilities, signals, name, output } = settings
  return {
    profiling: booleanOption('profiling', given.profiling, profiling),
    timeoutMs: bounded('timeoutMs', given, settings.timeoutMs, [1, MAX_TIMER_MS]),
    retries: bounded('retries', given, settings.retries, [0, MAX_COUNT]),
    maxWorkerDeaths: bounded('maxWorkerDeaths', given, settings.maxWorkerDeaths, [0, MAX_COUNT]),
    priority: bounded('priority', given, settings.priority, [-MAX_PRIORITY, MAX_PRIORITY]),
    capabilities:
      given.capabilities === undefined ? capabilities : checkCapabilities(given.capabilities),
    signals:
      given.signal === undefined
        ? signals
        : [...signals, signalWatches.of(checkSignal(given.signal))],
    name: given.name === undefined ? name : checkName(given.name),
    output,
  }
}

/** The position of a task among others. */
interface TaskPlace {
  readonly taskId: TaskId
  readonly priority: number
  readonly output: OutputPlace
  readonly outputClient: Identity
  readonly traceContext: string
}

/**
 * Settings as they are encoded in tasks. Tasks inside a task have a priority that is higher by one,
 * its output settings and its trace.
 */
export function encodeTaskSettings(settings: TaskSettings, parent?: TaskPlace): CoreTaskOptions {
  const { profiling, timeoutMs, retries, maxWorkerDeaths, capabilities, name } = settings
  const priority = settings.priority + (parent === undefined ? 0 : parent.priority + 1)
  return {
    flags: encodeTaskFlags({ profiling, priority }),
    // A negative priority would crash a 1.9.9 worker.
    plainFlags: encodeTaskFlags({ profiling, priority: Math.max(priority, 0) }),
    parentTaskId: parent?.taskId ?? NO_PARENT,
    name,
    timeoutMs: timeoutMs ?? 0,
    retries,
    workerDeathLimit: maxWorkerDeaths === undefined ? 0 : maxWorkerDeaths + 1,
    capabilities,
    output: parent?.output ?? settings.output,
    outputClient: parent?.output === 'forward' ? parent.outputClient : NO_CLIENT,
    traceContext: parent?.traceContext ?? '',
  }
}

/** Whether tasks with these options can be in one run. `plainFlags` follow from the others. */
export function areSameOptions(some: CoreTaskOptions, others: CoreTaskOptions): boolean {
  if (some === others) return true
  return (
    some.name === others.name &&
    some.timeoutMs === others.timeoutMs &&
    some.retries === others.retries &&
    some.workerDeathLimit === others.workerDeathLimit &&
    some.parentTaskId === others.parentTaskId &&
    some.output === others.output &&
    some.outputClient === others.outputClient &&
    some.traceContext === others.traceContext &&
    asBuffer(some.flags).equals(others.flags) &&
    areSameCapabilities(some.capabilities, others.capabilities)
  )
}

function areSameCapabilities(
  some: readonly TaskCapability[],
  others: readonly TaskCapability[],
): boolean {
  if (some.length !== others.length) return false
  return some.every(({ name, value }, index) => {
    const other = others[index]
    return other?.name === name && other.value === value
  })
}

type NumberName = 'timeoutMs' | 'retries' | 'maxWorkerDeaths' | 'priority'

function bounded<Fallback extends number | undefined>(
  name: NumberName,
  given: TaskOptions,
  fallback: Fallback,
  [min, max]: readonly [number, number],
): number | Fallback {
  const value = given[name]
  return value === undefined ? fallback : numberOption(name, value, 0, { min, max })
}

function checkCapabilities(capabilities: unknown): readonly TaskCapability[] {
  if (!isPlainObject(capabilities)) {
    throw new ConfigError('option capabilities: expected a plain object of names and numbers')
  }
  const entries = Object.entries(capabilities)
  if (entries.length > MAX_CAPABILITIES) {
    const most = `at most ${MAX_CAPABILITIES} names, got ${entries.length}`
    throw new ConfigError(`option capabilities: expected ${most}`)
  }
  return entries.map(([name, amount]) => {
    if (name === '' || name.length > MAX_CAPABILITY_LENGTH) {
      const got = name === '' ? 'an empty one' : `one of ${name.length}`
      const expected = `names of 1 to ${MAX_CAPABILITY_LENGTH} characters`
      throw new ConfigError(`option capabilities: expected ${expected}, got ${got}`)
    }
    const bounds = { min: -1, max: Number.MAX_SAFE_INTEGER }
    if (amount === undefined || amount === 0) {
      const got = amount === 0 ? '0' : 'no number'
      throw new ConfigError(
        `option capabilities.${name}: expected -1 or a number from 1, got ${got}`,
      )
    }
    return { name, value: numberOption(`capabilities.${name}`, amount, -1, bounds) }
  })
}

/** The contents of a map, a class or a symbol would be lost silently. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  // An object of another realm, as in a test runner, has another `Object.prototype`.
  const isPlain = prototype === null || Object.getPrototypeOf(prototype) === null
  const tag = Object.prototype.toString.call(value)
  return isPlain && tag === '[object Object]' && Object.getOwnPropertySymbols(value).length === 0
}

function checkSignal(signal: unknown): AbortSignal {
  if (signal instanceof AbortSignal) return signal
  throw new ConfigError('option signal: expected an AbortSignal')
}

function checkName(name: unknown): string {
  if (typeof name === 'string' && name.length <= MAX_NAME_LENGTH) return name
  throw new ConfigError(`option name: expected a text of at most ${MAX_NAME_LENGTH} characters`)
}

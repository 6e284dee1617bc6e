// Looks at a cluster as a monitor: a connection of its own beside that of the client, so that what
// it receives holds up no task.

import { ConfigError, ConnectError, TimeoutError } from '../../base/errors.js'
import { identity, taskId } from '../../base/ids.js'
import { checkNames } from '../../base/option.js'
import type { OperatorRequest } from '../../wire/message.js'
import { signalWatches } from '../submit/signal.js'
import type { ClusterEvent, ClusterInfo } from './cluster-info.js'
import {
  ClusterLink,
  type Link,
  MonitorLink,
  type MonitorSetup,
  type SchedulerSetup,
} from './links.js'
import {
  type ExplainedTask,
  type ObjectInfo,
  type OperatorReply,
  operatorReply,
} from './operator-reply.js'

/** Options of `Client.info` and `Client.events`. */
export interface LookOptions {
  /** Aborting it ends the call or the loop, which then throws its reason. */
  readonly signal?: AbortSignal | undefined
}

/** How long an answer is waited for. */
interface AskLimits {
  readonly timeoutMs: number
  /** Aborted when the client ends; its reason is thrown. */
  readonly ended?: AbortSignal
}

/** What a cluster is like now. See `Client.info`. */
export function lookAtCluster(
  setup: MonitorSetup,
  { timeoutMs, ended, ...options }: LookOptions & AskLimits,
): Promise<ClusterInfo> {
  const signal = checkedSignal('info', options)
  const wishes = { events: false, failures: true }
  return answered<ClusterInfo>({ timeoutMs, signals: [ended, signal] }, (answer, fail) => {
    return new ClusterLink(setup, wishes, {
      onReport: (_, picture, link) => {
        const info = picture.isComplete ? picture.info(Date.now()) : undefined
        if (info !== undefined) answer(info)
        else link.read()
      },
      onCrowded: fail,
      onFault: fail,
    })
  })
}

/** A question or an order, about a task (its id or the beginning of it) or about a worker. */
export interface OperatorQuestion {
  readonly action: OperatorRequest['action']
  readonly task?: string
  readonly worker?: string
  /** pause, resume: its name. */
  readonly allocator?: string
  /** logs, waiting, objects: the most lines, tasks, objects. */
  readonly lines?: number
  /** drain: how long running tasks get, in milliseconds. */
  readonly limitMs?: number
}

/** Asks as an operator. docs/protocol.md#operators */
export function requestOf(
  setup: SchedulerSetup,
  question: OperatorQuestion,
  timeoutMs: number,
  ended?: AbortSignal,
): Promise<OperatorReply> {
  const { action, task = '', worker = '', lines = 0, limitMs: limitMS = 0 } = question
  const { allocator = '' } = question
  const who = { taskId: taskId(''), worker: identity(worker), allocator }
  const about = { action, task, ...who, lines, limitMS }
  return answered<OperatorReply>({ timeoutMs, signals: [ended] }, (answer, fail) => {
    const link = new MonitorLink(setup, undefined, {
      onReport: () => {},
      onAnswer: (sent) => answer(operatorReply(sent, Date.now())),
      onRefused: () => fail(requestRefusal(setup.address)),
      onFault: fail,
    })
    link.request({ kind: 'operatorRequest', number: 1, ...about })
    return link
  })
}

/** Maximum number of objects in one answer. */
const MAX_OBJECTS = 1_000

/** The largest objects. See `Client.objects`. */
export async function listObjects(setup: SchedulerSetup, limits: AskLimits): Promise<ObjectInfo[]> {
  const question = { action: 'objects', lines: MAX_OBJECTS } as const
  return Array.from((await listed(setup, question, { what: 'objects', ...limits })).objects)
}

/** The tasks that have waited longest, at most `most`. */
export async function listWaiting(
  setup: SchedulerSetup,
  most: number,
  timeoutMs: number,
): Promise<readonly ExplainedTask[]> {
  const question = { action: 'waiting', lines: most } as const
  return (await listed(setup, question, { what: 'waiting tasks', timeoutMs })).tasks
}

/** Rejects with `TimeoutError` if the scheduler has no time for it. */
async function listed(
  setup: SchedulerSetup,
  question: OperatorQuestion,
  { what, timeoutMs, ended }: AskLimits & { readonly what: string },
): Promise<OperatorReply> {
  const answer = await requestOf(setup, question, timeoutMs, ended)
  if (answer.outcome === 'done') return answer
  const why = answer.note || 'the scheduler has too many requests'
  throw new TimeoutError(`${what} cannot be listed now: ${why}; try again`)
}

/** Why no scheduler takes requests here. */
export function requestRefusal(address: string): ConnectError {
  return new ConnectError(
    `the scheduler at ${address} takes no requests: it is older, or one of Python Scaler`,
  )
}

/**
 * What is asked over a connection of its own, which is closed after the answer. Rejects with
 * `TimeoutError` without an answer, and with the reason of the first signal that is aborted.
 */
async function answered<T>(
  limits: {
    readonly timeoutMs: number
    readonly signals: readonly (AbortSignal | undefined)[]
  },
  open: (answer: (value: T) => void, fail: (error: unknown) => void) => Link,
): Promise<T> {
  const signals = limits.signals.filter((signal) => signal !== undefined)
  for (const signal of signals) signal.throwIfAborted()
  const { timeoutMs } = limits
  let resolve: (value: T) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<T>((...settle) => ([resolve, reject] = settle))
  const link = open(resolve, reject)
  const watches = signals.map((signal) => signalWatches.of(signal))
  const waiting = { cancel: (reason: unknown) => reject(reason) }
  for (const watch of watches) watch.add(waiting)
  const timer = setTimeout(() => {
    const text = `${link.silence} within ${timeoutMs} ms`
    reject(new TimeoutError(text, { reason: 'no-scheduler' }))
  }, timeoutMs)
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    for (const watch of watches) watch.delete(waiting)
    await link.close()
  }
}

/** What happens in a cluster from now on. See `Client.events`. */
export async function* watchCluster(
  setup: MonitorSetup,
  { ended, ...options }: LookOptions & { readonly ended: AbortSignal },
): AsyncGenerator<ClusterEvent, void, undefined> {
  const signal = checkedSignal('events', options)
  signal?.throwIfAborted()
  /** Reports that have come and were not taken; the scheduler sends no more than a few. */
  const reports: (readonly ClusterEvent[])[] = []
  let wake = (): void => {}
  let end: (() => void) | undefined
  const finish = (how: () => void): void => {
    end ??= how
    wake()
    // The loop may never be continued.
    void close()
  }
  const watch = signal && signalWatches.of(signal)
  const waiting = { cancel: () => finish(() => signal?.throwIfAborted()) }
  watch?.add(waiting)
  ended.addEventListener('abort', () => finish(() => {}))
  const link = new ClusterLink(
    setup,
    { events: true, failures: false },
    {
      onReport: (events) => {
        reports.push(events)
        wake()
      },
      onCrowded: (error) => finish(() => thrown(error)),
      onFault: (error) => finish(() => thrown(error)),
    },
  )
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= link.close())
  try {
    while (end === undefined) {
      const report = reports.shift()
      if (report === undefined) {
        await new Promise<void>((resolve) => (wake = resolve))
        continue
      }
      yield* report
      link.read()
    }
    end()
  } finally {
    watch?.delete(waiting)
    await close()
  }
}

/** The signal of a call. Throws `ConfigError` if its options are wrong. */
export function checkedSignal(call: string, options: LookOptions): AbortSignal | undefined {
  checkNames(call, { signal: true }, options)
  const { signal } = options
  if (signal === undefined || signal instanceof AbortSignal) return signal
  throw new ConfigError('option signal: expected an AbortSignal')
}

function thrown(error: unknown): never {
  throw error
}

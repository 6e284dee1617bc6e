// What a program and the parts of its embedded cluster say to each other: lines of JSON.

import type { LogFields, LogLevel } from '../base/logger.js'
import type { AgentOrder, SchedulerOrder } from './options.js'

/** The role and options of a child, sent as one line of JSON. */
export type EmbeddedOrder =
  | { readonly role: 'scheduler'; readonly options: SchedulerOrder }
  | { readonly role: 'agent'; readonly options: AgentOrder }

/** What a child reports of its log. */
export interface Logging {
  /** Whether its log lines are used. */
  readonly isLogged: boolean
  /** Whether debug lines, which follow each task, are used too. */
  readonly isDebugLogged: boolean
}

/** The lines sent to a child. If stdin closes without `end`, the child exits immediately. */
export type EmbeddedLine =
  | (EmbeddedOrder & Logging)
  /** To an agent: its order follows once the scheduler's address is known. */
  | ({ readonly role: 'prepare'; readonly options: AgentOrder } & Logging)
  | { readonly role: 'end' }

/** Where a scheduler listens. `metricsAddress`: `host:port`, empty if it serves no metrics. */
export interface SchedulerPlace {
  readonly address: string
  readonly monitorAddress: string
  readonly metricsAddress: string
}

/** The reports of a child, each as one line of JSON. */
export type EmbeddedReport =
  | ({ readonly event: 'listening' } & SchedulerPlace)
  | { readonly event: 'ready' }
  /** Node has started: the first report. */
  | { readonly event: 'alive' }
  /** It is not ready because processes cannot be started, and goes on trying. */
  | { readonly event: 'delayed'; readonly text: string }
  /** `code` is the error's code, if it has one. */
  | { readonly event: 'failed'; readonly text: string; readonly code?: string }
  | {
      readonly event: 'log'
      readonly level: LogLevel
      readonly text: string
      readonly fields: LogFields
    }

/** The outcome of a start. */
export type EmbeddedStart = Exclude<EmbeddedReport, { event: 'log' | 'alive' | 'delayed' }>

/**
 * Modules that `NODE_OPTIONS` loads may print, too, and not end their lines. Each report begins on
 * a line of its own.
 */
export function reportLine(report: EmbeddedReport): string {
  return `\n${JSON.stringify(report)}\n`
}

/** All events, and nothing else that a module may print. */
const EVENTS: ReadonlySet<unknown> = new Set<EmbeddedReport['event']>([
  'listening',
  'ready',
  'alive',
  'delayed',
  'failed',
  'log',
])

/** The report in a line; undefined if it is something else. */
export function reportIn(line: string): EmbeddedReport | undefined {
  if (!line.startsWith('{"event":')) return undefined
  try {
    const report = JSON.parse(line) as EmbeddedReport
    return EVENTS.has(report.event) ? report : undefined
  } catch {
    return undefined
  }
}

/** Carries how many clusters a process is nested in. */
export const DEPTH_VARIABLE = 'SCALER_EMBEDDED_DEPTH'

/** How long a graceful shutdown of this part may take by its options, in milliseconds. */
export function orderlyEndMs(order: EmbeddedOrder): number {
  if (order.role === 'scheduler') return 0
  const { drainMs = 0, killDelayMs = 0 } = order.options
  return drainMs + killDelayMs
}

// When an agent ends on its own: after a time without tasks, or in time before its time limit. Both
// concern all of its workers together, because only the whole agent frees a machine or a job.

import type { InstantMs } from '../../base/machine.js'

/** What limits the life of an agent. */
export interface AgentLimits {
  /** All of its workers have been idle for this long; 0 = no limit. */
  readonly idleTimeoutMs: number
  /** When it started. */
  readonly startedAt: InstantMs
  /** When it must have ended; Infinity = never. */
  readonly endsAt: InstantMs
  /** How long running tasks get to finish. */
  readonly drainMs: number
}

/** What follows from the limits: it ends now, for this reason, or they are looked at again. */
export type AgentVerdict = { readonly endsBecause: string } | { readonly nextLookAt: InstantMs }

/**
 * Whether an agent ends now. `idleSince`: since when each worker has had no task; undefined for one
 * that has a task, or no scheduler. `nextLookAt` is Infinity if nothing limits its life.
 */
export function agentVerdict(
  limits: AgentLimits,
  idleSince: readonly (InstantMs | undefined)[],
  now: InstantMs,
): AgentVerdict {
  const drainAt = drainsAt(limits)
  if (now >= drainAt) return { endsBecause: 'the time limit is near' }
  const { idleTimeoutMs } = limits
  if (idleTimeoutMs === 0) return { nextLookAt: drainAt }
  // A worker that is busy now may become idle immediately: not earlier than this.
  const idleAt =
    Math.max(limits.startedAt, ...idleSince.map((since) => since ?? now)) + idleTimeoutMs
  const isIdle = idleSince.length > 0 && !idleSince.includes(undefined)
  if (isIdle && now >= idleAt) return { endsBecause: `no task for ${idleTimeoutMs / 1_000} s` }
  return { nextLookAt: Math.min(drainAt, Math.max(idleAt, now + 1)) }
}

/** Running tasks get `drainMs`, but the agent works for at least half of its life. */
function drainsAt({ startedAt, endsAt, drainMs }: AgentLimits): InstantMs {
  return endsAt - Math.min(drainMs, Math.max(0, (endsAt - startedAt) / 2))
}

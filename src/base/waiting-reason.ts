// Why something waits: one vocabulary for warnings, errors, progress, status and logs.

/**
 * Why tasks wait, the longest-lasting reason first.
 *
 * - `no-scheduler`: no scheduler answers.
 * - `no-worker`: the scheduler has no worker that accepts tasks.
 * - `no-runtime`: its workers run another language than the client.
 * - `no-capability`: none of its workers offers what the task needs.
 * - `all-busy`: every worker that could run it is fully loaded.
 * - `limit`: the scheduler's queue is at its configured limit.
 * - `dependency`: it needs the result of another task, which has not finished.
 */
export const WAITING_REASONS = [
  'no-scheduler',
  'no-worker',
  'no-runtime',
  'no-capability',
  'all-busy',
  'limit',
  'dependency',
] as const

/** One of `WAITING_REASONS`. */
export type WaitingReason = (typeof WAITING_REASONS)[number]

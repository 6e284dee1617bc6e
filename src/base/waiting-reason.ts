// Why something waits: one list of words for warnings, errors, progress, status and logs.

/**
 * Why tasks wait, the reason that keeps them longest first.
 *
 * - `no-scheduler`: no scheduler answers.
 * - `no-worker`: the scheduler has no worker that takes tasks.
 * - `no-runtime`: its workers run another language than the client.
 * - `no-capability`: none of its workers offers what the task needs.
 * - `all-busy`: every worker that could run it has enough to do.
 * - `limit`: the scheduler has as many tasks waiting as it may have.
 * - `dependency`: it needs the result of another task, which has not ended.
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

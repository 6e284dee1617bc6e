// What has started an agent, and until when it lets it live: told by options, or by Slurm.

import { ConfigError } from '../base/errors.js'
import { show } from '../base/option.js'

/** What the scheduler is told of it. */
export interface Allocation {
  /** When the agent is ended, in milliseconds since 1970; 0 = no limit is known. */
  readonly endsMS: number
  /** '' = it is part of nothing that is known. */
  readonly allocation: string
}

const NAME = /^[^\p{Cc}]{1,128}$/u

/** What options say, or `env` of a job of Slurm, now. Throws `ConfigError` for a bad name. */
export function allocationOf(
  options: { readonly timeLimitMs?: number | undefined; readonly allocation?: string | undefined },
  env: NodeJS.ProcessEnv,
  nowMS: number,
): Allocation {
  const { timeLimitMs, allocation } = options
  if (allocation !== undefined && !NAME.test(allocation)) {
    const rule = '1 to 128 characters without control characters'
    throw new ConfigError(`option allocation: expected ${rule}, got ${show(allocation)}`)
  }
  const job = env['SLURM_JOB_ID'] ?? ''
  const limitMS = timeLimitMs === 0 ? 0 : nowMS + (timeLimitMs ?? 0)
  return {
    endsMS: timeLimitMs === undefined ? slurmEndMS(env) : limitMS,
    allocation: allocation ?? (NAME.test(job) ? `slurm-${job}` : ''),
  }
}

/** Slurm tells it in seconds since 1970. */
function slurmEndMS(env: NodeJS.ProcessEnv): number {
  const seconds = Number(env['SLURM_JOB_END_TIME'] ?? 0)
  return Number.isSafeInteger(seconds * 1_000) && seconds > 0 ? seconds * 1_000 : 0
}

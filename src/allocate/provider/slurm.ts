// Units as jobs of Slurm. Each start is one array of jobs; the name of the jobs tells an allocator
// that is started again which are its own.

import { open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ListedUnit } from '../../core/allocate/events.js'
import type { CheckedAllocatorOptions } from '../options.js'
import type { Provider, StartedUnits } from '../provider.js'
import { runCommand } from '../shell.js'
import { workerScript } from '../worker-command.js'

/** How much of the output of a job is read, in bytes. */
const TAIL_BYTES = 2_000

/** The states in which a job has not started. */
const QUEUED = new Set(['PD', 'CF', 'RQ', 'RH', 'RF', 'SE', 'RD', 'RS'])

/** The states of a job that has ended. */
const ENDED = new Set(['BF', 'CA', 'CD', 'DL', 'F', 'NF', 'OOM', 'PR', 'TO', 'RV'])

/**
 * Before 23.02, Slurm does not tell a job when it will end; `squeue` does. Without an answer, or
 * without a limit, the variable is empty, which workers ignore.
 */
const END_TIME = `if [ -z "$SLURM_JOB_END_TIME" ]; then
  end="$(SLURM_TIME_FORMAT=standard squeue --noheader --jobs="$SLURM_JOB_ID" --format=%e)"
  export SLURM_JOB_END_TIME="$(date --date="$end" +%s 2>/dev/null)"
fi`

/** Jobs of Slurm. */
export class SlurmProvider implements Provider {
  readonly #options: CheckedAllocatorOptions
  /** Why jobs wait, as last told. */
  #reasons = ''
  /** Running jobs whose script alone was asked to end. */
  readonly #asked = new Set<string>()

  constructor(options: CheckedAllocatorOptions) {
    this.#options = options
  }

  async start(count: number): Promise<StartedUnits> {
    const args = ['sbatch', '--parsable', `--array=1-${count}`]
    const printed = await runCommand(args, { input: slurmScript(this.#options) })
    // `ID`, or `ID;CLUSTER`.
    const [, job] = /^(\d+)(?:;.*)?$/m.exec(printed) ?? []
    if (job === undefined)
      return { units: [], problem: `sbatch printed ${JSON.stringify(printed)}` }
    const units = Array.from({ length: count }, (_, at): ListedUnit => {
      const id = `${job}_${at + 1}`
      return { id, key: id, state: 'queued' }
    })
    return { units, problem: '' }
  }

  async list(signal?: AbortSignal): Promise<readonly ListedUnit[]> {
    const name = `--name=${jobName(this.#options)}`
    const args = ['--noheader', '--array', name, '--format=%i|%t|%r', '--states=all', '--me']
    const text = await runCommand(['squeue', ...args], { signal })
    const reasons = new Set<string>()
    const units = text.split('\n').flatMap((line): ListedUnit[] => {
      const [id = '', state = '', reason = 'None'] = line.trim().split('|')
      if (!/^\d+_\d+$/.test(id) || ENDED.has(state)) return []
      if (QUEUED.has(state) && reason !== 'None') reasons.add(reason)
      return [{ id, key: id, state: QUEUED.has(state) ? 'queued' : 'running' }]
    })
    this.#onReasons([...reasons].toSorted().join(', '))
    const ids = new Set(units.map(({ id }) => id))
    for (const id of this.#asked) if (!ids.has(id)) this.#asked.delete(id)
    return units
  }

  /** Some jobs wait for others; some can never start: `PartitionConfig`. */
  #onReasons(reasons: string): void {
    if (reasons !== '' && reasons !== this.#reasons) {
      this.#options.logger.info('jobs wait in the queue of Slurm', { reasons })
    }
    this.#reasons = reasons
  }

  /**
   * Slurm would signal all processes of a job. Those of Python's `scaler_cluster` end in good order
   * only if it asks them to. A job that goes on is cancelled the next time.
   */
  async cancel(units: readonly ListedUnit[]): Promise<void> {
    const isPython = this.#options.workerRuntime === 'python'
    const asked = units.filter(({ id, state }) => {
      return isPython && state === 'running' && !this.#asked.has(id)
    })
    const others = units.filter((unit) => !asked.includes(unit))
    if (asked.length > 0) {
      const ids = asked.map(({ id }) => id)
      for (const id of ids) this.#asked.add(id)
      await runCommand(['scancel', '--batch', '--signal=TERM', ...ids])
    }
    if (others.length > 0) await runCommand(['scancel', ...others.map(({ id }) => id)])
  }

  async output({ id }: ListedUnit): Promise<string> {
    const path = join(directoryOf(this.#options), `${jobName(this.#options)}-${id}.out`)
    try {
      const file = await open(path)
      try {
        const { size } = await file.stat()
        const from = Math.max(0, size - TAIL_BYTES)
        const { buffer, bytesRead } = await file.read(Buffer.alloc(TAIL_BYTES), 0, TAIL_BYTES, from)
        return buffer.toString('utf8', 0, bytesRead)
      } finally {
        await file.close()
      }
    } catch {
      // It may be on another machine.
      return ''
    }
  }
}

/** The script that is submitted: also what `--print-script` prints. */
export function slurmScript(options: CheckedAllocatorOptions): string {
  const { partition, account, workersPerUnit, sbatchArgs } = options
  // Slurm replaces what follows a percent sign.
  const directory = directoryOf(options).replaceAll('%', '%%')
  const output = settingText(join(directory, `${jobName(options)}-%A_%a.out`))
  const settings = [
    `--job-name=${jobName(options)}`,
    `--output=${output}`,
    '--nodes=1',
    '--ntasks=1',
    `--cpus-per-task=${workersPerUnit}`,
    ...timeLimitOf(options),
    ...(partition === undefined ? [] : [`--partition=${partition}`]),
    ...(account === undefined ? [] : [`--account=${account}`]),
    ...(sbatchArgs === undefined ? [] : [sbatchArgs]),
  ]
  const key = '${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}'
  const header = settings.map((setting) => `#SBATCH ${setting}`)
  return ['#!/bin/sh', ...header, '', END_TIME, workerScript(options, key)].join('\n')
}

/** A minute more than the workers live, which end on their own. */
function timeLimitOf({ lifetimeMs }: CheckedAllocatorOptions): readonly string[] {
  return lifetimeMs === 0 ? [] : [`--time=${Math.ceil(lifetimeMs / 60_000) + 1}`]
}

/** A value for sbatch, which reads quotes as a shell does. */
function settingText(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `"${text.replaceAll(/["\\]/g, '\\$&')}"`
}

function jobName({ name }: CheckedAllocatorOptions): string {
  return `scaler-${name}`
}

function directoryOf({ outputDirectory = '.' }: CheckedAllocatorOptions): string {
  return resolve(outputDirectory)
}

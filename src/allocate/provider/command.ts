// Units by commands of the user's: for PBS, LSF, SGE, HTCondor, and the clouds' command lines.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ScalerError } from '../../base/errors.js'
import { messageOf, quoted } from '../../base/text.js'
import type { ListedUnit } from '../../core/allocate/events.js'
import type { CheckedAllocatorOptions } from '../options.js'
import { newUnitKey, type Provider, type StartedUnits, UNIT_KEY } from '../provider.js'
import { filled, runCommand } from '../shell.js'
import { workerScript } from '../worker-command.js'

/** The states in which a unit has not started, as the usual systems abbreviate them. */
const QUEUED = /^(q|queued|pd|pend|pending|i|idle|w|waiting|h|held|qw|hqw|creating|starting)$/i

/** The states of a unit that has ended. */
const ENDED =
  /^(c|f|e|x|done|exit|completed?|ended|failed|finished|cancell?ed|terminat(ed|ing)|stopped)$/i

/** No allocator has more: a list with more of them is wrong. */
const MAX_UNITS = 100_000

/** Units that the user's commands submit, list and cancel. */
export class CommandProvider implements Provider {
  readonly #options: CheckedAllocatorOptions

  constructor(options: CheckedAllocatorOptions) {
    this.#options = options
  }

  async start(count: number): Promise<StartedUnits> {
    const units: ListedUnit[] = []
    try {
      for (let started = 0; started < count; started += 1) units.push(await this.#submit())
      return { units, problem: '' }
    } catch (error) {
      return { units, problem: messageOf(error) }
    }
  }

  async list(signal?: AbortSignal): Promise<readonly ListedUnit[]> {
    const prefix = this.#nameOf('')
    const text = await this.#run(this.#options.listCommand, { name: prefix }, signal)
    const units = text.split('\n').flatMap((line): ListedUnit[] => {
      const [id = '', name = '', state = ''] = line.trim().split(/\s+/)
      const key = name.slice(prefix.length)
      // The name of another allocator may begin with that of this one.
      const isOwn = name.startsWith(prefix) && UNIT_KEY.test(key)
      if (!isOwn || ENDED.test(state)) return []
      return [{ id, key, state: QUEUED.test(state) ? 'queued' : 'running' }]
    })
    if (units.length <= MAX_UNITS) return units
    const problem = `--list-command lists ${units.length} units, more than any allocator has`
    throw new ScalerError('ERR_SCALER_PROVIDER', problem)
  }

  async cancel(units: readonly ListedUnit[]): Promise<void> {
    for (const { id, key } of units) {
      await this.#run(this.#options.cancelCommand, { id, name: this.#nameOf(key) })
    }
  }

  output(): Promise<string> {
    return Promise.resolve('')
  }

  /** The command reads its script before it ends; the last word that it prints is the id. */
  async #submit(): Promise<ListedUnit> {
    const key = newUnitKey()
    const folder = await mkdtemp(join(tmpdir(), 'scaler-allocate-'))
    try {
      const script = join(folder, `${this.#nameOf(key)}.sh`)
      await writeFile(script, `#!/bin/sh\n${workerScript(this.#options, key)}`, { mode: 0o700 })
      const { submitCommand, workersPerUnit, lifetimeMs } = this.#options
      const printed = await this.#run(submitCommand, {
        script,
        name: this.#nameOf(key),
        workers: String(workersPerUnit),
        lifetime: String(Math.ceil(lifetimeMs / 1_000)),
      })
      const id = printed.trim().split(/\s+/).at(-1) ?? ''
      return { id: id === '' ? key : id, key, state: 'queued' }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  #nameOf(key: string): string {
    return `scaler-${this.#options.name}-${key}`
  }

  #run(
    command: string = '',
    values: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<string> {
    const words = Object.entries(values).map(([name, value]) => [name, quoted(value)] as const)
    return runCommand(['sh', '-c', filled(command, Object.fromEntries(words))], { signal })
  }
}

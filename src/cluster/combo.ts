// Scheduler and workers on this machine, started from code: one process for the scheduler, one for
// the agent, one processor per worker. None of them outlives this process.

import { argumentError, asCalled, captureSite } from '../runtime/call-site.js'
import { requireProcesses } from '../runtime/child-environment.js'
import { openCodeLog, type CodeLog } from '../runtime/log/log.js'
import { serveLocally } from '../runtime/peer-info.js'
import { localAddress } from '../transport/address.js'
import type { EmbeddedOrder, EmbeddedStart, SchedulerPlace } from './embedded-lines.js'
import { EmbeddedProcess } from './embedded-process.js'
import {
  checkComboOptions,
  type AgentOrder,
  type ComboOptions,
  type SchedulerOrder,
} from './options.js'
import { SupervisedProcess } from './supervised-process.js'

/** What happens on the way to a cluster that is ready. */
interface StartHandler {
  /** Its processes have been started. */
  readonly onSpawned?: () => void
  /** Clients can connect to this address; there are no workers yet. */
  readonly onListening?: (address: string) => void
  /** A part cannot start: the others are about to end. */
  readonly onFailed?: () => Promise<void>
}

/**
 * A scheduler and its workers on this machine. If one of their processes dies, it is restarted,
 * and a process warning (`SCALER_EMBEDDED_ENDED`) reports it; submitted tasks still complete.
 */
export class SchedulerClusterCombo implements AsyncDisposable {
  /** Where clients of this machine connect. */
  readonly address: string
  /** Where monitors of this machine subscribe; empty if nowhere. */
  readonly monitorAddress: string
  /** Where metrics are served, as `host:port` with the actual port; empty if nowhere. */
  readonly metricsAddress: string
  readonly #processes: readonly SupervisedProcess[]
  readonly #log: CodeLog
  readonly #withdraw: () => void
  #ending: Promise<void> | undefined

  private constructor(
    place: SchedulerPlace,
    processes: readonly SupervisedProcess[],
    own: { readonly log: CodeLog; readonly withdraw: () => void },
  ) {
    // The compiler refuses `new`; JavaScript does not.
    if (!Array.isArray(processes)) {
      throw argumentError(
        'new SchedulerClusterCombo() starts nothing; ' +
          'use await SchedulerClusterCombo.start(options)',
      )
    }
    this.address = place.address
    this.monitorAddress = place.monitorAddress
    this.metricsAddress = place.metricsAddress
    this.#processes = processes
    this.#log = own.log
    this.#withdraw = own.withdraw
  }

  /**
   * Starts everything; resolves when all workers are ready. Rejects with `ConfigError` for a bad
   * option, and with an error that says why if a part cannot start, or if the system has refused
   * to start processes for a minute; everything is cleaned up first. A process warning
   * (`SCALER_START_DELAYED`) says before that why it takes long.
   */
  static start(options: ComboOptions = {}): Promise<SchedulerClusterCombo> {
    return asCalled(captureSite(1), () => SchedulerClusterCombo.begin(options))
  }

  /**
   * Like `start`, for a caller that has something to do while the processes start. @internal
   */
  static async begin(
    options: ComboOptions,
    { onSpawned, onListening, onFailed }: StartHandler = {},
  ): Promise<SchedulerClusterCombo> {
    requireProcesses()
    const orders = checkComboOptions(options)
    const log = await openCodeLog(options)
    let expired = ''
    const { scheduler, agent } = newParts(log, () => (expired = timeOptionsOf(orders.agent)))
    let withdraw = (): void => {}
    try {
      agent.prepare(orders.agent)
      const listens = startScheduler(scheduler, orders.scheduler)
      onSpawned?.()
      const listening = await listens
      const { monitorAddress, metricsAddress } = listening
      const place = {
        address: localAddress(listening.address),
        monitorAddress: monitorAddress === '' ? '' : localAddress(monitorAddress),
        metricsAddress,
      }
      withdraw = serveLocally(place.address, {
        get expired() {
          return expired
        },
      })
      const serves = startAgent(agent, { ...orders.agent, address: place.address })
      onListening?.(place.address)
      await serves
      if (metricsAddress !== '') log.logger.info('serving metrics', { metricsAddress })
      return new SchedulerClusterCombo(place, [agent, scheduler], { log, withdraw })
    } catch (error) {
      withdraw()
      await Promise.all([onFailed?.(), agent.end(), scheduler.end()])
      await log.close()
      throw error
    }
  }

  /**
   * Shuts everything down: no process, port or file is left behind. Running tasks get `drainMs` to
   * finish. Safe to call twice.
   */
  shutdown(): Promise<void> {
    this.#ending ??= this.#shutdown()
    return this.#ending
  }

  /** Shuts down only the workers; `shutdown` does the rest. @internal */
  async endWorkers(): Promise<void> {
    const [agent] = this.#processes
    await agent?.end()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.shutdown()
  }

  /** The workers first, so that they can disconnect from the scheduler. */
  async #shutdown(): Promise<void> {
    this.#withdraw()
    for (const process of this.#processes) await process.end()
    await this.#log.close()
  }
}

/**
 * Opens both processes in parallel: starting Node takes longer than anything that follows.
 * `onWorkersOver`: the workers have ended, and no others will be started.
 */
function newParts(
  { logger, isSilent }: CodeLog,
  onWorkersOver: () => void,
): Record<'scheduler' | 'agent', SupervisedProcess> {
  const open = (role: EmbeddedOrder['role']) => (): EmbeddedProcess =>
    new EmbeddedProcess(role, logger, !isSilent)
  const scheduler = new SupervisedProcess(open('scheduler'), logger, () => void agent.end())
  const agent = new SupervisedProcess(open('agent'), logger, (hasDied) => {
    // Without workers no task ever finishes: clients should not find a scheduler either.
    if (hasDied) return void scheduler.end()
    // A client has shut the whole cluster down, and the scheduler is about to exit, too. Or the
    // time of the workers has passed.
    onWorkersOver()
    scheduler.release()
  })
  return { scheduler, agent }
}

/** The options that end workers: of several, the agent does not say which one has ended it. */
function timeOptionsOf({ lifetimeMs, timeLimitMs, idleTimeoutMs }: AgentOrder): string {
  const limits = Object.entries({ lifetimeMs, timeLimitMs, idleTimeoutMs })
  const set = limits.flatMap(([name, ms = 0]) => (ms > 0 ? [`${name} (${ms})`] : []))
  return set.length === 0 ? 'their time limit' : set.join(' or ')
}

async function startScheduler(
  scheduler: SupervisedProcess,
  options: SchedulerOrder,
): Promise<SchedulerPlace> {
  const start = await scheduler.start({ role: 'scheduler', options }, (first) => {
    // At the port that clients and workers already use.
    const { address, monitorAddress, metricsAddress } = whereabouts(first)
    const same = { ...options, address, monitorAddress }
    return {
      role: 'scheduler',
      options: metricsAddress === '' ? same : { ...same, metricsAddress },
    }
  })
  return whereabouts(start)
}

async function startAgent(agent: SupervisedProcess, options: AgentOrder): Promise<void> {
  const order = { role: 'agent', options } as const
  await agent.start(order, () => order)
}

function whereabouts(start: EmbeddedStart): SchedulerPlace {
  if (start.event === 'listening') return start
  throw new Error('the scheduler did not say where it listens')
}

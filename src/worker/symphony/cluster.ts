// Workers that pass their tasks on to IBM Spectrum Symphony: an agent with one worker for each
// runtime. They share the base concurrency.

import {
  FEATURE_FILES,
  FEATURE_LINKS,
  FEATURE_REFUSALS,
  OUR_FEATURES,
} from '../../base/features.js'
import { ConfigError } from '../../base/errors.js'
import type { Logger } from '../../base/logger.js'
import { HostConcurrency } from '../../core/worker/queue/concurrency.js'
import { Agent } from '../agent/agent.js'
import { checkAgentOptions } from '../agent/options.js'
import type { TaskHosting } from '../agent/hosting.js'
import { NodeForm } from './node-form.js'
import { checkSymphonyOptions, type SymphonyOptions } from './options.js'
import { SymphonyProcessor } from './processor.js'
import { PythonForm } from './python-form.js'

/** What workers for Symphony need. */
interface SymphonyClusterOptions extends SymphonyOptions {
  /** The address of the scheduler. */
  readonly address: string
  /** The service of Symphony that runs the tasks. */
  readonly serviceName: string
  readonly logger: Logger
}

/** Hosts of Symphony see no files of this machine, and know no other tasks than their own. */
const NODE_FEATURES = OUR_FEATURES & ~(FEATURE_FILES | FEATURE_LINKS)

/** For Python clients, an object without content is a missing one. */
const FEATURES = { node: NODE_FEATURES, python: NODE_FEATURES & ~FEATURE_REFUSALS }

/** Python clients read results from objects only. */
const HOSTINGS = {
  node: { runtime: `node/${process.versions.node}` },
  python: { runtime: '', inlineLimitBytes: 0 },
}

/**
 * Starts the workers; they connect in the background. Rejects with `ConfigError` for a bad option.
 */
export async function startSymphonyCluster(options: SymphonyClusterOptions): Promise<Agent> {
  const { address, serviceName, logger, ...others } = options
  if (serviceName === '') throw new ConfigError('the SERVICE_NAME must not be empty')
  const { baseConcurrency, name, python, agent, runtimes } = checkSymphonyOptions(others)
  const concurrency = new HostConcurrency(baseConcurrency)
  const bridge = { python, serviceName }
  const hostings = runtimes.map((runtime): TaskHosting => {
    const form = runtime === 'python' ? new PythonForm() : new NodeForm()
    return {
      ...HOSTINGS[runtime],
      gateway: { name: 'bridge to Symphony', concurrency, features: FEATURES[runtime] },
      encodeError: (error) => form.encodeError(error),
      newProcessor: () => new SymphonyProcessor(bridge, form),
    }
  })
  const settings = {
    ...agent,
    address,
    logger,
    workers: runtimes.length,
    workerNames: runtimes.map(() => name),
    spareProcessors: 0,
    objectDirectory: '',
  }
  checkAgentOptions(settings)
  return Agent.start(settings, undefined, hostings)
}

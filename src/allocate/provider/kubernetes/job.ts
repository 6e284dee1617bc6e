// The Job that runs the workers of one unit: a single pod, made from the options and, merged into
// it, the pod template of the user. Also what `--print-manifest` prints.

import { createHash } from 'node:crypto'
import { ConfigError } from '../../../base/errors.js'
import { AGENT_OPTIONS } from '../../../worker/agent/options.js'
import type { CheckedAllocatorOptions } from '../../options.js'
import { workerScript } from '../../worker-command.js'

/** The container of the workers, also in pod templates. */
export const CONTAINER = 'worker'

/** Carries the key of a unit. */
export const UNIT_LABEL = 'scaler-ts/unit'

/** How the key is shown where there is no unit. */
const SAMPLE_KEY = '00000000'

/** On top of what workers wait for running tasks: to end these, and for the pod to notice. */
const GRACE_SECONDS = 25

/** A finished Job stays for this long at least, so that people can look at it. */
const MIN_KEPT_SECONDS = 300

/** An object as it is in JSON or YAML. */
type Fields = Readonly<Record<string, unknown>>

/** What a pod template may have. */
export interface PodTemplate {
  readonly metadata?: Fields
  readonly spec?: Fields
}

/**
 * Checks what was read from the file of `--pod-template`. Throws `ConfigError`, which names the
 * option, if it is not a pod template, or sets what only the allocator can.
 */
export function checkPodTemplate(value: unknown): PodTemplate {
  if (!isFields(value)) throw templateError('expected an object with metadata and spec')
  const other = Object.keys(value).find((key) => key !== 'metadata' && key !== 'spec')
  if (other !== undefined) throw templateError(`expected only metadata and spec, got ${other}`)
  const { metadata = {}, spec = {} } = value
  if (!isFields(metadata)) throw templateError('metadata is not an object')
  if (!isFields(spec)) throw templateError('spec is not an object')
  for (const key of ['labels', 'annotations']) {
    if (!isFields(metadata[key] ?? {})) throw templateError(`metadata.${key} is not an object`)
  }
  const { restartPolicy = 'Never' } = spec
  if (restartPolicy !== 'Never') throw templateError('the restartPolicy of workers is Never')
  const containers = spec['containers'] ?? []
  if (!Array.isArray(containers) || !containers.every(isFields)) {
    throw templateError('spec.containers is not a list of objects')
  }
  for (const container of containers) checkContainer(container)
  return { metadata, spec }
}

function checkContainer({ name, image, command, args }: Fields): void {
  if (name !== CONTAINER && image === undefined) {
    const text = `the container ${JSON.stringify(name)} has no image`
    throw templateError(`${text}; the one of the workers is called ${CONTAINER}`)
  }
  if (name === CONTAINER && (command !== undefined || args !== undefined)) {
    throw templateError('to change what the workers run, use --worker-command or --preamble')
  }
}

function templateError(why: string): ConfigError {
  return new ConfigError(`option podTemplate: ${why}`)
}

/** The labels by which an allocator finds its Jobs and pods: by its name, and by its scheduler. */
export function ownLabels({ name, address }: CheckedAllocatorOptions): Record<string, string> {
  const scheduler = createHash('sha256').update(address).digest('hex').slice(0, 8)
  return {
    'app.kubernetes.io/managed-by': 'scaler-allocate',
    'scaler-ts/allocator': name,
    'scaler-ts/scheduler': scheduler,
  }
}

/** The name of the Job of a unit: at most 63 characters, because pods have it in a label. */
export function jobName({ name }: CheckedAllocatorOptions, key: string): string {
  const words = name.toLowerCase().split(/[^\da-z]+/)
  const short = words.filter(Boolean).join('-').slice(0, 40).replace(/-$/, '')
  return `scaler-${short}-${key}`
}

/** The Job of a unit, as the API takes it. The template has been checked. */
export function jobOf(
  options: CheckedAllocatorOptions,
  template: PodTemplate,
  key: string = SAMPLE_KEY,
): Fields {
  const { metadata = {}, spec = {} } = template
  const labels = { ...ownLabels(options), [UNIT_LABEL]: key }
  const podLabels = { 'app.kubernetes.io/name': 'scaler-worker', ...labels }
  const { labels: given = {}, annotations } = metadata
  const keptSeconds = Math.max(MIN_KEPT_SECONDS, Math.ceil(options.listIntervalMs / 500))
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    // Labels of the template are for whatever looks at Jobs, too: a queue, a policy.
    metadata: {
      name: jobName(options, key),
      labels: merged(given as Fields, labels),
      ...(annotations === undefined ? {} : { annotations }),
    },
    spec: {
      // A unit that fails is the allocator's business.
      backoffLimit: 0,
      ttlSecondsAfterFinished: keptSeconds,
      template: {
        metadata: merged(metadata, { labels: podLabels }),
        spec: podOf(options, spec, key),
      },
    },
  }
}

function podOf(options: CheckedAllocatorOptions, given: Fields, key: string): Fields {
  const { serviceAccount, lifetimeMs, startTimeoutMs } = options
  const graceSeconds = drainSeconds(options) + GRACE_SECONDS
  const lifeSeconds = Math.ceil((lifetimeMs + startTimeoutMs) / 1_000) + graceSeconds
  const defaults = {
    terminationGracePeriodSeconds: graceSeconds,
    // Workers end on their own; this is for a pod that does not.
    ...(lifetimeMs === 0 ? {} : { activeDeadlineSeconds: lifeSeconds }),
    ...(serviceAccount === undefined ? {} : { serviceAccountName: serviceAccount }),
    // Tasks are code of others: they get no access to the cluster unless the template gives it.
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    // Processes that tasks leave behind are reaped by the pause container.
    shareProcessNamespace: true,
    securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  }
  const { containers = [], ...rest } = given
  const others = (containers as readonly Fields[]).filter(({ name }) => name !== CONTAINER)
  const own = (containers as readonly Fields[]).find(({ name }) => name === CONTAINER) ?? {}
  return {
    ...merged(defaults, rest),
    restartPolicy: 'Never',
    containers: [containerOf(options, own, key), ...others],
  }
}

function containerOf(options: CheckedAllocatorOptions, given: Fields, key: string): Fields {
  const { image, workersPerUnit } = options
  const script = workerScript(options, key, ['scaler_cluster'])
  return merged(
    {
      name: CONTAINER,
      image,
      command: ['/bin/sh', '-c', script],
      resources: { requests: { cpu: String(workersPerUnit) } },
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    },
    given,
  )
}

/** How long the workers wait for running tasks after a SIGTERM. */
function drainSeconds({ workerArgs = '' }: CheckedAllocatorOptions): number {
  const [, given] = /--drain-seconds[= ]+(\d+)/.exec(workerArgs) ?? []
  return Number(given ?? Number(AGENT_OPTIONS.drainMs.commandDefault) / 1_000)
}

/** Both, with what the second one has in the place of the same in the first one, at any depth. */
function merged(first: Fields, second: Fields): Fields {
  const result: Record<string, unknown> = { ...first }
  for (const [key, value] of Object.entries(second)) {
    const before = result[key]
    result[key] = isFields(before) && isFields(value) ? merged(before, value) : value
  }
  return result
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

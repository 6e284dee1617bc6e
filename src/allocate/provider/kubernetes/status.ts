// What Jobs, pods and events say about a unit: whether it has ended, whether it runs, and in a few
// words why it does not.

import { CONTAINER, UNIT_LABEL } from './job.js'

interface Metadata {
  readonly name?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly deletionTimestamp?: string
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

/** Why something waits, or has ended. */
interface Cause {
  readonly reason?: string
  readonly message?: string
  readonly exitCode?: number
}

interface ContainerStatus {
  readonly name: string
  readonly state?: {
    readonly waiting?: Cause
    readonly running?: object
    readonly terminated?: Cause
  }
}

/** What matters here of a Job. */
export interface JobObject {
  readonly metadata?: Metadata
  readonly spec?: { readonly suspend?: boolean }
  readonly status?: { readonly ready?: number; readonly conditions?: readonly Condition[] }
}

/** Of a pod. */
export interface PodObject {
  readonly metadata?: Metadata
  readonly spec?: { readonly nodeName?: string }
  readonly status?: Cause & {
    readonly phase?: string
    readonly conditions?: readonly Condition[]
    readonly initContainerStatuses?: readonly ContainerStatus[]
    readonly containerStatuses?: readonly ContainerStatus[]
  }
}

/** Of an event. */
export interface EventObject {
  readonly involvedObject?: { readonly name?: string }
  readonly reason?: string
  readonly message?: string
}

/**
 * What keeps a container from starting until somebody changes something. The first failure to get
 * an image (`ErrImagePull`) is not among them: the next attempt may succeed.
 */
const STUCK = new Set([
  'ImagePullBackOff',
  'ErrImageNeverPull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
])

/** The key of the unit to which a Job or a pod belongs. */
export function keyOf({ metadata }: JobObject | PodObject): string {
  return metadata?.labels?.[UNIT_LABEL] ?? ''
}

/** How a Job has ended; undefined: it has not. One that is being deleted has ended. */
export function endOf({ metadata, status }: JobObject): 'complete' | 'failed' | undefined {
  const isTrue = (type: string): boolean => conditionOf(status?.conditions, type)?.status === 'True'
  if (isTrue('Complete')) return 'complete'
  return isTrue('Failed') || metadata?.deletionTimestamp !== undefined ? 'failed' : undefined
}

/** Whether a Job has its pod on a node, where it starts or runs. */
export function isPlaced({ status }: JobObject, pod: PodObject | undefined): boolean {
  return (status?.ready ?? 0) > 0 || (pod?.spec?.nodeName ?? '') !== ''
}

/** Why the workers will not start unless somebody changes something; '' if they may, or have. */
export function stuckReason(pod: PodObject | undefined): string {
  for (const { name, state } of containersOf(pod)) {
    if (name === CONTAINER && state?.running !== undefined) return ''
    const { reason = '' } = state?.waiting ?? {}
    if (STUCK.has(reason)) return textOf(state?.waiting)
  }
  return ''
}

/** Why a Job does not run yet; '' if that is not known, or it is only a matter of seconds. */
export function waitReason(
  { metadata, spec }: JobObject,
  pod: PodObject | undefined,
  events: readonly EventObject[],
): string {
  if (pod !== undefined) {
    const scheduled = conditionOf(pod.status?.conditions, 'PodScheduled')
    return scheduled?.status === 'False' ? textOf(scheduled) : ''
  }
  if (spec?.suspend === true) return 'the Job is suspended'
  const own = events.filter(({ involvedObject }) => involvedObject?.name === metadata?.name)
  return textOf(own.at(-1))
}

/** Why a pod has ended, as far as that is more than the exit of a program; '' otherwise. */
export function endReason(pod: PodObject | undefined): string {
  const { reason, message } = pod?.status ?? {}
  if (reason !== undefined) return textOf({ reason, ...(message === undefined ? {} : { message }) })
  for (const { name, state } of containersOf(pod)) {
    const ended = state?.terminated
    const isPlain = ended?.reason === 'Error' || ended?.reason === 'Completed'
    if (ended === undefined || isPlain) continue
    const { exitCode = 0 } = ended
    return `the container ${name} ended with exit code ${exitCode}: ${textOf(ended)}`
  }
  return ''
}

/** First the container of the workers, then others, also those that run before it. */
function containersOf(pod: PodObject | undefined): readonly ContainerStatus[] {
  const { containerStatuses = [], initContainerStatuses = [] } = pod?.status ?? {}
  const isOwn = ({ name }: ContainerStatus): boolean => name === CONTAINER
  const others = containerStatuses.filter((status) => !isOwn(status))
  return [...containerStatuses.filter(isOwn), ...initContainerStatuses, ...others]
}

function conditionOf(
  conditions: readonly Condition[] | undefined,
  wanted: string,
): Condition | undefined {
  return conditions?.find(({ type }) => type === wanted)
}

function textOf({ reason = '', message = '' }: Cause = {}): string {
  const words = [reason, message].filter((word) => word !== '')
  return words.join(': ').replaceAll(/\s+/g, ' ')
}

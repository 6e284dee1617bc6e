// Units as Jobs of Kubernetes, each with one pod. Labels tell an allocator that is started again
// which are its own. A worker that is drained ends its pod and so its Job, which is then removed;
// one that has failed stays for some minutes, so that it can be inspected.

import { messageOf } from '../../../base/text.js'
import type { ListedUnit } from '../../../core/allocate/events.js'
import type { CheckedAllocatorOptions } from '../../options.js'
import { newUnitKey, type Provider, type StartedUnits } from '../../provider.js'
import { ApiError, KubernetesApi } from './api.js'
import { CONTAINER, jobName, jobOf, ownLabels, type PodTemplate, UNIT_LABEL } from './job.js'
import { openAccess, readPodTemplate } from './library.js'
import {
  endOf,
  endReason,
  type EventObject,
  isPlaced,
  type JobObject,
  keyOf,
  type PodObject,
  stuckReason,
  waitReason,
} from './status.js'
import { WatchedList } from './watched-list.js'

const BATCH = '/apis/batch/v1'
const CORE = '/api/v1'

/** How many requests are made at a time. */
const PARALLEL = 8

/** How much of the output of a pod is read. */
const TAIL_LINES = 20
const TAIL_CHARACTERS = 2_000

/** What a provider needs before it can do anything. */
interface Connection {
  readonly api: KubernetesApi
  readonly template: PodTemplate
  readonly jobs: WatchedList<JobObject>
  readonly pods: WatchedList<PodObject>
}

/** Jobs of Kubernetes. */
export class KubernetesProvider implements Provider {
  readonly #options: CheckedAllocatorOptions
  readonly #selector: string
  #connection: Promise<Connection> | undefined
  /** Why units did not start, by their keys, as of the last list. */
  #reasons: ReadonlyMap<string, string> = new Map()
  /** Jobs that had ended well by the last list: their output has been read, if it was needed. */
  #complete: ReadonlySet<string> = new Set()

  #onChange: () => void = () => {}

  constructor(options: CheckedAllocatorOptions) {
    this.#options = options
    this.#selector = selectorOf(ownLabels(options))
  }

  async open(): Promise<void> {
    await this.#connected()
  }

  subscribe(onChange: () => void): void {
    this.#onChange = onChange
  }

  close(): void {
    const end = ({ jobs, pods }: Connection): void => {
      jobs.close()
      pods.close()
    }
    void this.#connection?.then(end, () => {})
  }

  async start(count: number): Promise<StartedUnits> {
    const units: ListedUnit[] = []
    const problems: string[] = []
    await forEach(new Array<undefined>(count).fill(undefined), async () => {
      // What is refused once is refused again.
      if (problems.length > 0) return
      try {
        units.push(await this.#create())
      } catch (error) {
        problems.push(messageOf(error))
      }
    })
    return { units, problem: problems[0] ?? '' }
  }

  async list(): Promise<readonly ListedUnit[]> {
    const connection = await this.#connected()
    const jobs = await connection.jobs.read()
    const alive = jobs.filter((job) => endOf(job) === undefined)
    const starting = alive.filter((job) => !isPlaced(job, undefined))
    const pods = starting.length === 0 ? [] : await connection.pods.read()
    const podOf = new Map(pods.map((pod) => [keyOf(pod), pod]))
    const isAlone = starting.some((job) => !podOf.has(keyOf(job)))
    const events = isAlone ? await this.#warnings() : []
    const reasons = new Map<string, string>()
    const stuck: string[] = []
    const units: ListedUnit[] = []
    for (const job of alive) {
      const key = keyOf(job)
      const pod = podOf.get(key)
      const why = stuckReason(pod)
      if (why !== '') {
        reasons.set(key, why)
        stuck.push(nameOf(job))
        continue
      }
      const wait = isPlaced(job, pod) ? '' : waitReason(job, pod, events)
      if (wait !== '') reasons.set(key, wait)
      const state = isPlaced(job, pod) ? 'running' : 'queued'
      units.push({ id: nameOf(job), key, state, ...(wait === '' ? {} : { why: wait }) })
    }
    this.#reasons = reasons
    const complete = jobs.filter((job) => endOf(job) === 'complete').map(nameOf)
    await this.#tidy([...stuck, ...complete.filter((name) => this.#complete.has(name))])
    this.#complete = new Set(complete)
    return units
  }

  async cancel(units: readonly ListedUnit[]): Promise<void> {
    await forEach(units, ({ id }) => this.#remove(id))
  }

  async output({ key }: ListedUnit): Promise<string> {
    const known = this.#reasons.get(key)
    if (known !== undefined) return known
    const { api } = await this.#connected()
    const labelSelector = `${this.#selector},${UNIT_LABEL}=${key}`
    const found = await api.list<PodObject>(api.pathOf(CORE, 'pods'), { labelSelector })
    const [pod] = found.items
    if (pod === undefined) {
      const job = { metadata: { name: jobName(this.#options, key) } }
      return waitReason(job, undefined, await this.#warnings())
    }
    const log = await this.#logOf(pod)
    return [log.trimEnd(), endReason(pod)].filter((text) => text !== '').join('\n')
  }

  /** Rejects with `ConfigError`; later calls try again what has failed. */
  async #connected(): Promise<Connection> {
    this.#connection ??= this.#connect()
    try {
      return await this.#connection
    } catch (error) {
      this.#connection = undefined
      throw error
    }
  }

  async #connect(): Promise<Connection> {
    const template = await readPodTemplate(this.#options)
    const api = new KubernetesApi(await openAccess(this.#options))
    const { logger } = this.#options
    const setup = { api, logger, labelSelector: this.#selector, onChange: () => this.#onChange() }
    const jobs = { ...setup, kind: 'jobs', path: api.pathOf(BATCH, 'jobs') }
    const pods = { ...setup, kind: 'pods', path: api.pathOf(CORE, 'pods') }
    return { api, template, jobs: new WatchedList(jobs), pods: new WatchedList(pods) }
  }

  async #create(): Promise<ListedUnit> {
    const { api, template, jobs } = await this.#connected()
    const key = newUnitKey()
    const id = jobName(this.#options, key)
    const body = jobOf(this.#options, template, key)
    // A field that the server does not know is an error, not a warning that goes unread.
    const query = { fieldValidation: 'Strict' }
    jobs.expect(id)
    try {
      await api.send({ method: 'POST', path: api.pathOf(BATCH, 'jobs'), query, body })
    } catch (error) {
      // The answer to an earlier attempt was lost.
      const isCreated = error instanceof ApiError && error.reason === 'AlreadyExists'
      if (!isCreated || error.attempts === 1) {
        jobs.forget(id)
        throw error
      }
    }
    return { id, key, state: 'queued' }
  }

  async #remove(name: string): Promise<void> {
    const { api } = await this.#connected()
    // Without it, pods of a Job stay and run.
    const query = { propagationPolicy: 'Background' }
    try {
      await api.send({ method: 'DELETE', path: api.pathOf(BATCH, 'jobs', name), query })
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error
    }
  }

  /** Removes Jobs that are of no use; the next list has those that could not be removed. */
  async #tidy(names: readonly string[]): Promise<void> {
    try {
      await forEach(names, (name) => this.#remove(name))
    } catch (error) {
      this.#options.logger.warn('a Job could not be removed', { problem: messageOf(error) })
    }
  }

  /** What went wrong with Jobs of the namespace, for those that have no pod. */
  async #warnings(): Promise<readonly EventObject[]> {
    const { api } = await this.#connected()
    const fieldSelector = 'involvedObject.kind=Job,type=Warning'
    try {
      const { items } = await api.list<EventObject>(api.pathOf(CORE, 'events'), { fieldSelector })
      return items
    } catch (error) {
      // Only the reason is lost.
      this.#options.logger.debug('the events could not be read', { problem: messageOf(error) })
      return []
    }
  }

  async #logOf(pod: PodObject): Promise<string> {
    const { api } = await this.#connected()
    const path = api.pathOf(CORE, 'pods', nameOf(pod), 'log')
    const query = { container: CONTAINER, tailLines: String(TAIL_LINES) }
    try {
      return (await api.send({ method: 'GET', path, query })).slice(-TAIL_CHARACTERS)
    } catch (error) {
      // It has none if its container did not start.
      this.#options.logger.debug('the log of a pod could not be read', {
        problem: messageOf(error),
      })
      return ''
    }
  }
}

function nameOf({ metadata }: JobObject | PodObject): string {
  return metadata?.name ?? ''
}

function selectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
}

/** Handles all items, some at a time; rejects with the first error once none is in progress. */
async function forEach<Item>(
  items: readonly Item[],
  handle: (item: Item) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = []
  const rest = items.values()
  const work = async (): Promise<void> => {
    for (const item of rest) {
      try {
        await handle(item)
      } catch (error) {
        errors.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  if (errors.length > 0) throw errors[0]
}

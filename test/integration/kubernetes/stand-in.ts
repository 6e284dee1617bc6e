// Stands in for a Kubernetes cluster: an API server with strict validation, selectors, pages, watches,
// quotas, tokens and failures on demand; the controller of Jobs; and a node that runs pods as
// processes of this machine.

import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { commandPath } from '../../chaos/program.js'
import type { Event, Job, Pod } from './objects.js'
import { PodProcess } from './pod-process.js'
import { allocatorRights } from './rights.js'
import { Schemas } from './schema.js'
import { Watches } from './watches.js'

const NAMESPACE = 'team-a'
const TOKEN = 'token-of-the-allocator'

/** What goes wrong with the next requests of a kind. */
export interface Fault {
  /** `POST jobs`, `GET pods`, `WATCH jobs`. */
  readonly request: string
  readonly times: number
  /** Undefined: the connection is dropped. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Whether only later pages of a list are meant. */
  readonly isLaterPage?: boolean
  /** Whether the request is carried out all the same. */
  readonly isDone?: boolean
}

interface Answer {
  readonly status: number
  readonly body: object | string
}

/** A cluster with one namespace and one node. */
export class StandInCluster {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'kube-'))
  /** The path of a file with the address, the certificate and the token. */
  readonly kubeconfig: string = join(this.folder, 'config')
  readonly jobs: Map<string, Job> = new Map()
  readonly pods: Map<string, PodProcess> = new Map()
  readonly events: Event[] = []
  readonly watches: Watches = new Watches()
  /** All requests so far: `POST jobs`. */
  readonly requests: string[] = []
  readonly faults: Fault[] = []
  /** The most objects of a page, whatever the limit of the request is. */
  pageSize = 500
  /** Quotas of the namespace. */
  maxJobs: number = Infinity
  maxPods: number = Infinity
  /** The environment of all pods. */
  podEnv: NodeJS.ProcessEnv = {}
  /** What the Role in deploy/kubernetes allows: `create jobs`. */
  readonly rights: Set<string> = new Set(allocatorRights())
  readonly #schemas = new Schemas('v1.37.0')
  readonly #server: Server
  #isOpen = true

  private constructor(key: string, certificate: string) {
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
      void this.#onRequest(request, response)
    }
    this.#server = createServer({ key, cert: certificate }, onRequest)
  }

  /** Starts it; it ends with the test. */
  static async start(t: TestContext): Promise<StandInCluster> {
    const { key, certificate } = newCertificate()
    const cluster = new StandInCluster(key, certificate)
    t.after(() => cluster.#end())
    cluster.#server.listen(0, '127.0.0.1')
    await once(cluster.#server, 'listening')
    cluster.writeKubeconfig(TOKEN, certificate)
    // What the image of the workers has in its PATH.
    const command = join(cluster.folder, 'scaler_cluster')
    const program = `exec '${process.execPath}' '${commandPath('scaler-cluster')}' "$@"`
    writeFileSync(command, `#!/bin/sh\n${program}\n`)
    chmodSync(command, 0o700)
    return cluster
  }

  /** Writes a kubeconfig with another token. */
  writeKubeconfig(token: string, certificate?: string): void {
    const address = this.#server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    const before = certificate ?? this.#certificateInConfig()
    const name = 'stand-in'
    const cluster = {
      server: `https://127.0.0.1:${port}`,
      'certificate-authority-data': Buffer.from(before).toString('base64'),
    }
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster }],
      users: [{ name, user: { token } }],
      contexts: [{ name, context: { cluster: name, user: name, namespace: NAMESPACE } }],
      'current-context': name,
    }
    writeFileSync(this.kubeconfig, JSON.stringify(config))
  }

  /** Jobs that have not ended. */
  get activeJobs(): readonly Job[] {
    return [...this.jobs.values()].filter(({ status }) => status.conditions === undefined)
  }

  /** How many requests of a kind there were. */
  count(request: string): number {
    return this.requests.filter((each) => each === request).length
  }

  /** What `kubectl delete job` does. */
  async deleteJob(name: string): Promise<void> {
    this.#removeJob(name)
    const own = [...this.pods.values()].filter((each) => ownerOf(each.pod) === name)
    await Promise.all(own.map(({ pod }) => this.deletePod(pod.metadata.name)))
  }

  /** What `kubectl delete pod` does. */
  async deletePod(name: string): Promise<void> {
    const pod = this.pods.get(name)
    await pod?.terminate()
    this.pods.delete(name)
    if (pod !== undefined) this.watches.record('pods', 'DELETED', pod.pod)
    const job = pod === undefined ? undefined : this.jobs.get(ownerOf(pod.pod))
    if (job !== undefined) this.#finish(job, 'Failed')
    this.#createPods()
  }

  async #end(): Promise<void> {
    this.#isOpen = false
    await Promise.all([...this.pods.values()].map((pod) => pod.kill()))
    this.#server.closeAllConnections()
    this.#server.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  #certificateInConfig(): string {
    const text = readFileSync(this.kubeconfig, 'utf8')
    const [, base64 = ''] = /"certificate-authority-data":"([^"]+)"/.exec(text) ?? []
    return Buffer.from(base64, 'base64').toString()
  }

  // The API server.

  async #onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const url = new URL(request.url ?? '', 'https://stand-in')
    const pattern = /^\/(?:api\/v1|apis\/batch\/v1)\/namespaces\/([^/]+)\/(jobs|pods|events)(.*)$/
    const [, namespace = '', kind = '', rest = ''] = pattern.exec(url.pathname) ?? []
    const method = url.searchParams.has('watch') ? 'WATCH' : request.method
    const name = `${method} ${rest.endsWith('/log') ? 'log' : kind}`
    this.requests.push(name)
    const isKnown = request.headers.authorization === `Bearer ${TOKEN}`
    const fault = this.#nextFault(name, url.searchParams.has('continue'))
    if (fault !== undefined && fault.isDone !== true) return respondWithFault(response, fault)
    const text = Buffer.concat(chunks).toString()
    const query = Object.fromEntries(url.searchParams)
    let answer = refusal(401, 'Unauthorized', 'Unauthorized')
    const verb = verbOf(name)
    if (isKnown && (namespace !== NAMESPACE || !this.rights.has(verb))) {
      const what = `${kind} is forbidden: cannot ${verb} in the namespace "${namespace}"`
      answer = refusal(403, 'Forbidden', what)
    } else if (isKnown && method === 'WATCH') {
      return this.watches.open(response, { kind, query, matches: (each) => matches(each, query) })
    } else if (isKnown) {
      answer = this.#answer(name, rest.slice(1).replace(/\/log$/, ''), { query, text })
    }
    if (fault !== undefined) return respondWithFault(response, fault)
    const body = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body)
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body)
  }

  #nextFault(request: string, isLaterPage: boolean): Fault | undefined {
    const at = this.faults.findIndex((fault) => {
      return fault.request === request && (isLaterPage || fault.isLaterPage !== true)
    })
    const fault = this.faults[at]
    if (fault === undefined) return undefined
    const left = { ...fault, times: fault.times - 1 }
    this.faults.splice(at, 1, ...(left.times > 0 ? [left] : []))
    return fault
  }

  #answer(
    request: string,
    name: string,
    { query, text }: { readonly query: Readonly<Record<string, string>>; readonly text: string },
  ): Answer {
    switch (request) {
      case 'POST jobs':
        return this.#create(JSON.parse(text) as Job, query)
      case 'GET jobs':
        return this.#list([...this.jobs.values()], query)
      case 'GET pods':
        return this.#list(
          [...this.pods.values()].map(({ pod }) => pod),
          query,
        )
      case 'GET events':
        return this.#list(this.events, query)
      case 'GET log':
        return this.#log(name, query)
      case 'DELETE jobs':
        return this.#delete(name, query)
      default:
        return refusal(404, 'NotFound', `the server does not know ${request}`)
    }
  }

  #create(job: Job, query: Readonly<Record<string, string>>): Answer {
    const offences = this.#schemas.offencesOf({ ...job })
    const unknown = offences.filter(({ isUnknownField }) => isUnknownField)
    if (query['fieldValidation'] === 'Strict' && unknown.length > 0) {
      const fields = unknown.map(({ path }) => `unknown field "${path}"`).join(', ')
      const what = `Job in version "v1" cannot be handled as a Job: strict decoding error: ${fields}`
      return refusal(400, 'BadRequest', what)
    }
    const { name } = job.metadata
    const [wrong] = offences.filter(({ isUnknownField }) => !isUnknownField)
    if (wrong !== undefined) {
      const what = `Job.batch "${name}" is invalid: ${wrong.path}: ${wrong.what}`
      return refusal(422, 'Invalid', what)
    }
    if (this.jobs.has(name)) {
      return refusal(409, 'AlreadyExists', `jobs.batch "${name}" already exists`)
    }
    const used = this.jobs.size
    if (used >= this.maxJobs) {
      const counts = `requested: count/jobs.batch=1, used: count/jobs.batch=${used}`
      const limit = `limited: count/jobs.batch=${this.maxJobs}`
      const what = `jobs.batch "${name}" is forbidden: exceeded quota: ${NAMESPACE}, ${counts}, ${limit}`
      return refusal(403, 'Forbidden', what)
    }
    const metadata = { ...job.metadata, ...newIdentity(NAMESPACE) }
    const created: Job = { ...job, metadata, status: {} }
    this.jobs.set(name, created)
    this.watches.record('jobs', 'ADDED', created)
    // The controller sees it a moment later.
    setImmediate(() => this.#createPods())
    return { status: 201, body: created }
  }

  #list(all: readonly (Job | Pod | Event)[], query: Readonly<Record<string, string>>): Answer {
    const found = all.filter((object) => matches(object, query))
    const from = Number(query['continue'] ?? 0)
    const end = from + Math.min(Number(query['limit'] ?? 500), this.pageSize)
    const next = end < found.length ? { continue: String(end) } : {}
    const metadata = { ...next, resourceVersion: this.watches.version }
    return { status: 200, body: { kind: 'List', metadata, items: found.slice(from, end) } }
  }

  #log(name: string, query: Readonly<Record<string, string>>): Answer {
    const pod = this.pods.get(name)
    if (pod === undefined) return refusal(404, 'NotFound', `pods "${name}" not found`)
    const { container = '', tailLines = '' } = query
    if (pod.pod.spec.containers.every((each) => each.name !== container)) {
      const what = `container ${container} is not valid for pod ${name}`
      return refusal(400, 'BadRequest', what)
    }
    if (!pod.hasStarted) {
      const what = `container "${container}" in pod "${name}" is waiting to start`
      return refusal(400, 'BadRequest', what)
    }
    const lines = pod.log.split('\n').slice(-Number(tailLines) - 1)
    return { status: 200, body: lines.join('\n') }
  }

  #delete(name: string, { propagationPolicy }: Readonly<Record<string, string>>): Answer {
    if (!this.jobs.has(name)) {
      return refusal(404, 'NotFound', `jobs.batch "${name}" not found`)
    }
    // Without it, pods become orphans.
    if (propagationPolicy === 'Background') void this.deleteJob(name)
    else this.#removeJob(name)
    return { status: 200, body: { kind: 'Status', apiVersion: 'v1', status: 'Success' } }
  }

  #removeJob(name: string): void {
    const job = this.jobs.get(name)
    this.jobs.delete(name)
    if (job !== undefined) this.watches.record('jobs', 'DELETED', job)
  }

  // The controller of Jobs.

  #createPods(): void {
    if (!this.#isOpen) return
    for (const job of this.jobs.values()) {
      const { name } = job.metadata
      const hasPod = job.status.active !== undefined
      if (hasPod || job.status.conditions !== undefined) continue
      const running = [...this.pods.values()].filter((pod) => !pod.hasEnded).length
      if (running >= this.maxPods) {
        const reason = `exceeded quota: ${NAMESPACE}, requested: pods=1, used: pods=${running}`
        const message = `Error creating: pods "${name}-x" is forbidden: ${reason}`
        this.#warn(name, 'FailedCreate', message)
        continue
      }
      this.#setStatus(job, { active: 1, ready: 0 })
      this.#createPod(job)
    }
  }

  #createPod(job: Job): void {
    const { template } = job.spec
    const name = `${job.metadata.name}-${randomUUID().slice(0, 5)}`
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...template.metadata,
        ...newIdentity(NAMESPACE),
        name,
        ownerReferences: [{ name: job.metadata.name }],
      },
      spec: structuredClone(template.spec),
      status: { phase: 'Pending' },
    }
    const running = new PodProcess(pod, () => this.#onPod(running, job))
    this.pods.set(name, running)
    this.watches.record('pods', 'ADDED', pod)
    const path = `${this.folder}:${process.env['PATH'] ?? ''}`
    running.start({ ...process.env, ...this.podEnv, PATH: path, HOSTNAME: name })
  }

  #onPod({ pod }: PodProcess, job: Job): void {
    const { phase } = pod.status
    this.watches.record('pods', 'MODIFIED', pod)
    if (job.status.conditions !== undefined) return
    this.#setStatus(job, { active: 1, ready: phase === 'Running' ? 1 : 0 })
    if (phase === 'Succeeded') this.#finish(job, 'Complete')
    if (phase === 'Failed') this.#finish(job, 'Failed')
  }

  #finish(job: Job, type: 'Complete' | 'Failed'): void {
    if (job.status.conditions !== undefined) return
    const reason = type === 'Failed' ? { reason: 'BackoffLimitExceeded' } : {}
    this.#setStatus(job, { conditions: [{ type, status: 'True', ...reason }] })
    setImmediate(() => this.#createPods())
  }

  #setStatus(job: Job, status: Job['status']): void {
    job.status = status
    // Processes of pods end after the Job was deleted.
    if (this.jobs.get(job.metadata.name) === job) this.watches.record('jobs', 'MODIFIED', job)
  }

  #warn(job: string, reason: string, message: string): void {
    const metadata = { name: `${job}.${this.events.length}`, ...newIdentity(NAMESPACE) }
    const involvedObject = { kind: 'Job', name: job }
    this.events.push({ metadata, involvedObject, type: 'Warning', reason, message })
  }
}

/** A request as a Role names it. */
function verbOf(request: string): string {
  const [method = '', kind = ''] = request.split(' ')
  if (kind === 'log') return 'get pods/log'
  return `${{ GET: 'list', WATCH: 'watch', POST: 'create', DELETE: 'delete' }[method]} ${kind}`
}

function newIdentity(namespace: string): {
  readonly namespace: string
  readonly uid: string
  readonly creationTimestamp: string
} {
  return { namespace, uid: randomUUID(), creationTimestamp: new Date().toISOString() }
}

function ownerOf({ metadata }: Pod): string {
  return metadata.ownerReferences[0]?.name ?? ''
}

function matches(
  object: Job | Pod | Event,
  { labelSelector = '', fieldSelector = '' }: Readonly<Record<string, string>>,
): boolean {
  const own = object.metadata.labels ?? {}
  return (
    pairsOf(labelSelector).every(([name, value]) => own[name] === value) &&
    pairsOf(fieldSelector).every(([path, value]) => fieldOf(object, path) === value)
  )
}

/** `a=1,b=2`. */
function pairsOf(selector: string): readonly (readonly [string, string])[] {
  return selector
    .split(',')
    .filter(Boolean)
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)] as const)
}

function fieldOf(object: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => {
    return (value as Readonly<Record<string, unknown>> | undefined)?.[name]
  }, object)
}

function refusal(status: number, reason: string, message: string): Answer {
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    message,
    reason,
    code: status,
  }
  return { status, body }
}

function respondWithFault(response: ServerResponse, { status, headers }: Fault): void {
  if (status === undefined) {
    response.destroy()
    return
  }
  const { body } = refusal(status, status === 429 ? 'TooManyRequests' : 'InternalError', 'not now')
  response.writeHead(status, { ...headers }).end(JSON.stringify(body))
}

function newCertificate(): { readonly key: string; readonly certificate: string } {
  const folder = mkdtempSync(join(tmpdir(), 'kube-key-'))
  try {
    const key = join(folder, 'key')
    const certificate = join(folder, 'certificate')
    const subject = ['-subj', '/CN=stand-in', '-addext', 'subjectAltName=IP:127.0.0.1']
    const files = ['-keyout', key, '-out', certificate, '-days', '2', '-nodes']
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
    execFileSync('openssl', ['req', '-x509', ...kind, ...files, ...subject], { stdio: 'pipe' })
    return { key: readFileSync(key, 'utf8'), certificate: readFileSync(certificate, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

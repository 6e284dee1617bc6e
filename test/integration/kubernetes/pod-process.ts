// The node of the stand-in: runs a pod as a process of this machine, with the signals, the grace
// period and the phases of a real one.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Condition, Pod } from './objects.js'

/** An image that no registry has. */
export const MISSING_IMAGE = 'registry.example/missing:1'

const MAX_LOG = 65_536

/** A pod, and its process once it has one. */
export class PodProcess {
  readonly pod: Pod
  log = ''
  readonly #onChange: () => void
  #child: ChildProcess | undefined
  #killTimer: NodeJS.Timeout | undefined

  constructor(pod: Pod, onChange: () => void) {
    this.pod = pod
    this.#onChange = onChange
  }

  get hasEnded(): boolean {
    return ['Succeeded', 'Failed'].includes(this.pod.status.phase)
  }

  get hasStarted(): boolean {
    return this.#child !== undefined
  }

  /** Finds a node, gets the image, and runs the command of the first container. */
  start(env: NodeJS.ProcessEnv): void {
    const { spec } = this.pod
    const [container] = spec.containers
    if (container === undefined) throw new Error('the schema wants a container')
    if (Object.keys(spec.nodeSelector ?? {}).length > 0) {
      const message =
        "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
      this.#scheduled({ status: 'False', reason: 'Unschedulable', message })
      return
    }
    this.#scheduled({ status: 'True' })
    spec.nodeName = 'node-1'
    if (container.image === MISSING_IMAGE) {
      const message = `Back-off pulling image "${container.image}"`
      this.#container({ waiting: { reason: 'ImagePullBackOff', message } })
      return
    }
    const [file = '', ...args] = container.command ?? []
    const child = spawn(file, args, { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.log = (this.log + text).slice(-MAX_LOG)
      })
    }
    this.pod.status.phase = 'Running'
    this.#container({ running: { startedAt: new Date().toISOString() } })
    child.once('close', (code, signal) => this.#onExit(code ?? (signal === 'SIGKILL' ? 137 : 143)))
  }

  /** Ends it like the deletion of a pod; resolves when it has ended. */
  async terminate(): Promise<void> {
    this.pod.metadata.deletionTimestamp = new Date().toISOString()
    if (this.#child === undefined || this.hasEnded) return
    const closed = once(this.#child, 'close')
    this.#end()
    await closed
  }

  /** Ends it at once. */
  async kill(): Promise<void> {
    if (this.#child === undefined || this.hasEnded) return
    const closed = once(this.#child, 'close')
    this.#signalAll()
    await closed
  }

  #end(): void {
    const seconds = this.pod.spec.terminationGracePeriodSeconds ?? 30
    this.#child?.kill('SIGTERM')
    this.#killTimer = setTimeout(() => this.#signalAll(), seconds * 1_000)
  }

  /** With its first process, a container ends. */
  #signalAll(): void {
    try {
      process.kill(-(this.#child?.pid ?? 0), 'SIGKILL')
    } catch {
      // They have ended.
    }
  }

  #onExit(exitCode: number): void {
    clearTimeout(this.#killTimer)
    this.#signalAll()
    this.pod.status.phase = exitCode === 0 ? 'Succeeded' : 'Failed'
    const words: Readonly<Record<number, string>> = { 0: 'Completed', 137: 'OOMKilled' }
    this.#container({ terminated: { exitCode, reason: words[exitCode] ?? 'Error' } })
  }

  #scheduled(condition: Omit<Condition, 'type'>): void {
    this.pod.status.conditions = [{ type: 'PodScheduled', ...condition }]
    this.#onChange()
  }

  #container(state: object): void {
    const [{ name, image } = { name: '', image: '' }] = this.pod.spec.containers
    this.pod.status.containerStatuses = [{ name, image, state }]
    this.#onChange()
  }
}

// A cluster of the real commands, so that its processes can be measured from outside: one
// scheduler, and workers on request. It always exits with this process.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Client } from 'scaler-ts'

/** A line of a command's log. */
export type LogLine = Readonly<Record<string, unknown>>

const END_TIMEOUT_MS = 10_000

/** Processes started for one measurement. */
export class BenchCluster {
  readonly address: string
  readonly monitorAddress: string
  /** Where metrics are served, if `--metrics-address` was among the arguments. */
  readonly metricsAddress: string
  #scheduler: ChildProcess
  readonly #workers: ChildProcess[] = []

  private constructor({ scheduler, address, monitorAddress, metricsAddress }: Started) {
    this.#scheduler = scheduler
    this.address = address
    this.monitorAddress = monitorAddress
    this.metricsAddress = metricsAddress
  }

  /**
   * Starts a scheduler; resolves when it listens. `nodeOptions`: Node options for it alone; `args`:
   * further arguments.
   */
  static async start(
    nodeOptions: readonly string[] = [],
    args: readonly string[] = [],
  ): Promise<BenchCluster> {
    return new BenchCluster(await startScheduler(['tcp://127.0.0.1:0', ...args], nodeOptions))
  }

  get schedulerPid(): number {
    return this.#scheduler.pid ?? 0
  }

  /** Of the agent that was started last. */
  get agentPid(): number {
    return this.#workers.at(-1)?.pid ?? 0
  }

  /** Resolves with the next line on the scheduler's stdout that has this field. */
  schedulerTells(field: string): Promise<LogLine> {
    return lineOf(this.#scheduler, (line) => field in line)
  }

  /** Starts workers; resolves when all are ready. `address`: that of a proxy, for example. */
  async startWorkers(count: number, address: string = this.address): Promise<void> {
    const cluster = command([], 'scaler-cluster.js', '-n', String(count), address)
    this.#workers.push(cluster)
    await lineOf(cluster, (line) => / (is|are) ready$/.test(String(line['message'])))
  }

  /** Kills the agent that was started last, with its workers; resolves when it has exited. */
  async killWorkers(): Promise<void> {
    const agent = this.#workers.pop()
    if (agent !== undefined) await kill(agent)
  }

  /** Kills the scheduler and starts another at its address; resolves when that one listens. */
  async restartScheduler(): Promise<void> {
    await kill(this.#scheduler)
    const { scheduler } = await startScheduler([this.address])
    this.#scheduler = scheduler
  }

  /** Stops all processes. */
  async stop(): Promise<void> {
    for (const child of [...this.#workers, this.#scheduler]) await endCommand(child)
  }
}

/**
 * Measures with a cluster and a client of it; always stops both afterwards. `args`: further ones of
 * the scheduler.
 */
export async function withClient<R>(
  workers: number,
  measure: (client: Client, cluster: BenchCluster) => Promise<R>,
  args: readonly string[] = [],
): Promise<R> {
  const cluster = await BenchCluster.start([], args)
  try {
    await cluster.startWorkers(workers)
    const client = await Client.connect(cluster.address)
    try {
      return await measure(client, cluster)
    } finally {
      await client.close()
    }
  } finally {
    await cluster.stop()
  }
}

/** A scheduler that listens. */
interface Started {
  readonly scheduler: ChildProcess
  readonly address: string
  readonly monitorAddress: string
  readonly metricsAddress: string
}

async function startScheduler(
  args: readonly string[],
  nodeOptions: readonly string[] = [],
): Promise<Started> {
  const scheduler = command(nodeOptions, 'scaler-scheduler.js', ...args)
  const last = args.includes('--metrics-address') ? 'metricsAddress' : 'monitorAddress'
  const seen: LogLine[] = []
  await lineOf(scheduler, (line) => {
    seen.push(line)
    return last in line
  })
  const told = Object.assign({}, ...seen) as Record<string, string>
  const { address = '', monitorAddress = '', metricsAddress = '' } = told
  return { scheduler, address, monitorAddress, metricsAddress }
}

async function kill(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** The path of a command's file in `dist/cli`. */
export function commandPath(file: string): string {
  return fileURLToPath(new URL(`../../dist/cli/${file}`, import.meta.url))
}

/** Starts a command that ends with this process. */
export function command(
  nodeOptions: readonly string[],
  file: string,
  ...args: readonly string[]
): ChildProcess {
  return spawn(process.execPath, [...nodeOptions, commandPath(file), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, SCALER_LIFELINE: 'stdin' },
  })
}

/** Resolves with the first matching line; later lines are read and dropped. */
function lineOf(child: ChildProcess, isWanted: (line: LogLine) => boolean): Promise<LogLine> {
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
    lines.on('line', (text) => {
      const line = JSON.parse(text) as LogLine
      if (isWanted(line)) resolve(line)
    })
    child.once('exit', (code) => reject(new Error(`a command has exited with code ${code}`)))
  })
}

/** Ends a command that stops when its stdin closes; resolves when it has exited. */
export async function endCommand(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const killer = setTimeout(() => child.kill('SIGKILL'), END_TIMEOUT_MS)
  child.stdin?.end()
  await once(child, 'exit')
  clearTimeout(killer)
}

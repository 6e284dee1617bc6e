// The messages to a monitor at the main address of a real scheduler: docs/protocol.md#monitors.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client, Cluster, ConfigError, ProcessorDiedError, Scheduler } from 'scaler-ts'
import { OUR_FEATURES } from '#src/base/features.js'
import { identity } from '#src/base/ids.js'
import type { Logger } from '#src/base/logger.js'
import { DealerSocket } from '#src/transport/dealer.js'
import {
  decode,
  encode,
  type MonitorReport,
  PLAIN_CLIENT_HEARTBEAT,
  type TaskEvent,
  type TaskFailure,
} from '#src/wire/message.js'
import { until } from './condition.js'

let monitors = 0

/** A monitor that requests everything. */
class TestMonitor implements AsyncDisposable {
  readonly reports: MonitorReport[] = []
  readonly #socket: DealerSocket

  constructor(address: string, credit = 100) {
    this.#socket = new DealerSocket(address, identity(`1|Client|monitor-${(monitors += 1)}`), {
      onMessages: (messages) => {
        for (const frame of messages) {
          const message = decode(frame as Buffer)
          if (message.kind === 'monitorReport') this.reports.push(message)
        }
      },
      onConnect: () => this.#ask(credit),
      onDisconnect: () => {},
      onConnectFailed: () => {},
      onDrain: () => {},
    })
  }

  get events(): readonly TaskEvent[] {
    return this.reports.flatMap(({ events }) => events)
  }

  get failures(): readonly TaskFailure[] {
    return this.reports.flatMap(({ failures }) => failures)
  }

  get states(): MonitorReport['states'] {
    return this.reports.flatMap(({ states }) => states)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#socket.close()
  }

  #ask(credit: number): void {
    this.#socket.send(
      encode({
        kind: 'clientHeartbeat',
        resource: { cpu: 0, rss: 0 },
        latencyUS: 0,
        features: OUR_FEATURES,
        runtime: 'node/20.19.0',
        ...PLAIN_CLIENT_HEARTBEAT,
        wantsReport: true,
      }),
    )
    const wants = {
      wantsEvents: true,
      wantsFailures: true,
      failuresAfter: 0,
      wantsGraphs: true,
      wantsPeers: false,
    }
    this.#socket.send(encode({ kind: 'monitorRequest', credit, ...wants }))
  }
}

/** The destination of all lines of a log. */
function collector(): { readonly logger: Logger; text(): string } {
  const lines: string[] = []
  const add = (text: string, fields?: object): void => {
    lines.push(`${text} ${JSON.stringify(fields)}`)
  }
  return {
    logger: { debug: add, info: add, warn: add, error: add },
    text: () => lines.join('\n'),
  }
}

const price = (value: number): number => {
  if (value < 0) throw new RangeError(`no price for ${value}`)
  return value * 2
}

test('each finished task is reported with its history, failures with the text of their error', async () => {
  const log = collector()
  await using scheduler = await Scheduler.start({
    address: 'tcp://127.0.0.1:0',
    logger: log.logger,
  })
  await using _cluster = await Cluster.start({
    address: scheduler.address,
    workers: 1,
    logger: log.logger,
  })
  await using monitor = new TestMonitor(scheduler.address)
  await until('a first state', () => monitor.states.length > 0)
  await using client = await Client.connect(scheduler.address, { name: 'pricing' })
  assert.equal(await client.submit(price, 2), 4)
  await assert.rejects(client.with({ name: 'bad one' }).submit(price, -1), RangeError)
  const die = (): void => process.exit(3)
  await assert.rejects(client.with({ maxWorkerDeaths: 1 }).submit(die), ProcessorDiedError)
  await assert.rejects(client.with({ timeoutMs: 50 }).submit(() => new Promise(() => {})))
  await until('all is told', () => monitor.events.length >= 4 && monitor.failures.length >= 3)
  const [good, bad] = monitor.events
  assert.deepEqual([good?.function, good?.status, good?.errorName], ['price', 'success', ''])
  assert.ok((good?.queuedAgoMS ?? 0) >= (good?.startAgoMS ?? 0))
  assert.ok((good?.startAgoMS ?? 0) >= (good?.endAgoMS ?? 0))
  assert.deepEqual([bad?.name, bad?.status, bad?.errorName], ['bad one', 'failed', 'RangeError'])
  const [first, second, third] = monitor.failures
  const [error] = first?.error ?? []
  assert.deepEqual([error?.name, error?.message], ['RangeError', 'no price for -1'])
  assert.match(error?.stack ?? '', /^RangeError: no price for -1\n +at price \(.*monitor-channel/)
  assert.doesNotMatch(error?.stack ?? '', /task-runner/)
  assert.equal(second?.error[0]?.name, 'ProcessorDiedError')
  assert.equal(third?.error[0]?.name, 'TaskTimeoutError')
  assert.match(first?.worker ?? '', /^\d+\|/)
  const before = monitor.states.length
  await until('a newer state', () => monitor.states.length > before)
  const state = monitor.states.at(-1)
  assert.deepEqual(
    state?.functions.find(({ name }) => name === 'price'),
    { ...state?.functions.find(({ name }) => name === 'price'), ended: 2, failed: 1 },
  )
  assert.deepEqual([state?.workers, state?.clients], [1, 1])
  assert.equal(state?.clientReports[0]?.info[0]?.name, 'pricing')
  // Texts of errors are in no log.
  assert.doesNotMatch(log.text(), /no price for/)
})

test('an agent that does not send error texts still reports the errors', async () => {
  await using scheduler = await Scheduler.start({ address: 'tcp://127.0.0.1:0' })
  await using _cluster = await Cluster.start({
    address: scheduler.address,
    workers: 1,
    errorTexts: false,
  })
  await using monitor = new TestMonitor(scheduler.address)
  await using client = await Client.connect(scheduler.address)
  const large = (text: string): void => {
    throw new Error(text.repeat(10_000))
  }
  await assert.rejects(client.submit(price, -1), { name: 'RangeError', message: 'no price for -1' })
  await assert.rejects(client.submit(large, 'long '), { name: 'Error' })
  await assert.rejects(
    client.submit(() => process.exit(1)),
    ProcessorDiedError,
  )
  await until('the failures', () => monitor.failures.length === 3)
  assert.deepEqual(
    monitor.failures.flatMap(({ error }) => error),
    [],
  )
  assert.deepEqual(monitor.failures.map((failure) => failure.function).slice(0, 2), [
    'price',
    'large',
  ])
})

test('texts of errors are shortened, whatever was thrown', async () => {
  await using client = await Client.local({ workers: 1 })
  await using monitor = new TestMonitor(client.address)
  const large = (text: string): void => {
    throw new Error(text.repeat(10_000))
  }
  const plain = (): void => {
    const text: unknown = 'only text'
    throw text
  }
  const trap = (): void => {
    throw new Proxy(new Error('trap'), {
      get: () => {
        throw new Error('caught you')
      },
    })
  }
  await assert.rejects(client.submit(large, 'long '))
  await assert.rejects(async () => client.submit(plain))
  await assert.rejects(async () => client.submit(trap))
  await until('the failures', () => monitor.failures.length === 3)
  const [first, second, third] = monitor.failures.map(({ error }) => error[0])
  assert.deepEqual([first?.message.length, first?.stack.length], [1_024, 4_096])
  assert.deepEqual([second?.name, second?.message, second?.stack], ['', 'only text', ''])
  assert.equal(third?.message, 'an error that cannot be shown')
})

test('credit for one message allows one message', async () => {
  await using client = await Client.local({ workers: 1 })
  await using slow = new TestMonitor(client.address, 1)
  await until('it', () => slow.reports.length === 1)
  await using other = new TestMonitor(client.address, 100)
  void other
  await client.map(price, [1, 2, 3])
  await until('the other one hears more', () => other.states.length >= 2)
  assert.equal(slow.reports.length, 1)
})

test('errorTexts is true or false', async () => {
  const options = { address: 'tcp://127.0.0.1:1', workers: 1 }
  await assert.rejects(
    Cluster.start({ ...options, errorTexts: 'no' as unknown as boolean }),
    (error) => error instanceof ConfigError && /option errorTexts/.test(error.message),
  )
})

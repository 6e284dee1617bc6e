import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { test } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { silentLogger } from '../base/logger.js'
import { defaultSerializer } from '../serializer/serializer.js'
import { checkClientOptions, type ClientOptions, splitClientOptions } from './options.js'

test('every option has a default', () => {
  assert.deepEqual(checkClientOptions({}), {
    timeoutMs: 60_000,
    heartbeatIntervalMs: 2_000,
    serializer: defaultSerializer,
    profiling: false,
    inlineLimitBytes: 8_192,
    reconnect: true,
    maxUnfinishedTasks: 1_000_000,
    output: 'log',
    name: basename(process.argv[1] ?? ''),
    tls: undefined,
    logger: silentLogger,
  })
  assert.deepEqual(
    checkClientOptions({ timeoutMs: undefined, logger: undefined }),
    checkClientOptions({}),
  )
})

const GOOD: { readonly [Name in keyof ClientOptions]-?: readonly unknown[] } = {
  timeoutMs: [1, 60_000, 2 ** 31 - 1],
  heartbeatIntervalMs: [1, 59_999],
  serializer: [
    { serialize: () => new Uint8Array(0), deserialize: () => 1 },
    class {
      static serialize(): Uint8Array {
        return new Uint8Array(0)
      }
      static deserialize(): unknown {
        return undefined
      }
    },
  ],
  profiling: [true, false],
  inlineLimitBytes: [0, 16 * 1024 ** 2],
  reconnect: [true, false],
  maxUnfinishedTasks: [1, 2 ** 32 - 1],
  output: ['forward', 'log', 'off'],
  name: ['a', 'x'.repeat(128), 'Größe 1'],
  tls: [undefined],
  logger: [silentLogger],
}
const NO_NUMBERS = [NaN, Infinity, 1.5, '1', null, true, {}]
const NO_BOOLEANS = [0, 1, 'true', null, {}]
const BAD: { readonly [Name in keyof ClientOptions]-?: readonly unknown[] } = {
  timeoutMs: [0, -1, 2 ** 31, ...NO_NUMBERS],
  heartbeatIntervalMs: [0, -1, 60_000, 3_600_001, ...NO_NUMBERS],
  serializer: [null, {}, 'json', 5, JSON, { serialize() {} }, { serialize: 1, deserialize() {} }],
  profiling: NO_BOOLEANS,
  inlineLimitBytes: [-1, 16 * 1024 ** 2 + 1, ...NO_NUMBERS],
  reconnect: NO_BOOLEANS,
  maxUnfinishedTasks: [0, -1, 2 ** 32, ...NO_NUMBERS],
  output: ['', 'stdout', 'Forward', 1, true, null, {}],
  name: ['', 'x'.repeat(129), 'a\nb', 1, true, null, {}],
  tls: ['ca.pem', 1, null, [], { ca: 1 }, { key: '' }, { cert: Buffer.from([0]) }],
  logger: [null, {}, 'console', { debug() {}, info() {}, warn() {} }],
}

for (const [name, values] of Object.entries(GOOD)) {
  test(`option ${name} accepts values within its bounds`, () => {
    for (const value of values) {
      const settings: Record<string, unknown> = { ...checkClientOptions({ [name]: value }) }
      assert.equal(settings[name], value)
    }
  })
}

for (const [name, values] of Object.entries(BAD)) {
  test(`option ${name} refuses other values, by name`, () => {
    for (const value of values) {
      assert.throws(
        () => checkClientOptions({ [name]: value }),
        (error) => error instanceof ConfigError && error.message.includes(name),
        `${name} = ${String(value)}`,
      )
    }
  })
}

test('with a short timeout heartbeats are more frequent by default', () => {
  assert.equal(checkClientOptions({ timeoutMs: 400 }).heartbeatIntervalMs, 100)
  assert.equal(checkClientOptions({ timeoutMs: 1 }).heartbeatIntervalMs, 1)
})

test('a heartbeat interval not shorter than the timeout is refused', () => {
  assert.throws(() => checkClientOptions({ timeoutMs: 500, heartbeatIntervalMs: 500 }), ConfigError)
})

test('an unknown option is refused, with a hint', () => {
  const unknown = (name: string): ClientOptions => ({ [name]: 1 })
  assert.throws(() => checkClientOptions(unknown('timeout')), /is it timeoutMs\?/)
  assert.throws(() => checkClientOptions(unknown('TimeoutMS')), /is it timeoutMs\?/)
  assert.throws(() => checkClientOptions(unknown('colour')), /there are timeoutMs, /)
  assert.throws(() => checkClientOptions(unknown('toString')), ConfigError)
})

test('options must be an object', () => {
  for (const options of [null, 5, 'fast']) {
    assert.throws(() => checkClientOptions(options as ClientOptions), ConfigError)
  }
})

interface ClusterOptions {
  readonly workers?: number
  readonly inlineLimitBytes?: number | undefined
}

const count = { type: { kind: 'integer', min: 1, max: 9 }, description: 'some' } as const
const clusterTable = { workers: count, inlineLimitBytes: count }

test('an option that neither a client nor its cluster has is refused, with the nearest name', () => {
  const split = (options: object): unknown => splitClientOptions(options, clusterTable)
  assert.throws(() => split({ wrkers: 1 }), {
    code: 'ERR_SCALER_CONFIG',
    message: 'unknown client or cluster option wrkers; is it workers?',
  })
  assert.throws(() => split({ timeoutMS: 1 }), /is it timeoutMs\?/)
})

test('options are split into those of a client and those of its cluster; some are for both', () => {
  const given = {
    workers: 2,
    timeoutMs: 5,
    profiling: true,
    inlineLimitBytes: 7,
  }
  const { client, cluster } = splitClientOptions<ClusterOptions>(given, clusterTable)
  assert.deepEqual(client, { timeoutMs: 5, profiling: true, inlineLimitBytes: 7 })
  assert.deepEqual(cluster, { workers: 2, inlineLimitBytes: 7 })
})

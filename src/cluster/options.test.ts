// Code accepts every option of the commands: both use the same tables.

import assert from 'node:assert/strict'
import { availableParallelism } from 'node:os'
import { test } from 'node:test'
import fc from 'fast-check'
import { ConfigError } from '../base/errors.js'
import type { AnyOptionTable, OptionSpec } from '../base/option.js'
import { LOGGING_OPTIONS, type LoggingOptions } from '../runtime/log/log.js'
import {
  UNNECESSARY_OPTIONS,
  UNNECESSARY_WORKER_OPTIONS,
  type UnnecessaryOptions,
  type UnnecessaryWorkerOptions,
} from '../runtime/unnecessary-options.js'
import {
  SCHEDULER_OPTIONS,
  SCHEDULER_START_OPTIONS,
  type SchedulerOwnOptions,
  type SchedulerStartOptions,
} from '../scheduler/scheduler-options.js'
import { AGENT_OPTIONS, type AgentOptions } from '../worker/agent/options.js'
import {
  checkComboOptions,
  CLUSTER_START_OPTIONS,
  type ClusterStartOptions,
  COMBO_OPTIONS,
  type ComboOptions,
  type WorkerRange,
} from './options.js'

/** The tables behind `scaler scheduler`, and behind `scaler cluster`. */
const SCHEDULER_TABLES = [SCHEDULER_OPTIONS, LOGGING_OPTIONS, UNNECESSARY_OPTIONS]
const CLUSTER_TABLES = [AGENT_OPTIONS, LOGGING_OPTIONS, UNNECESSARY_WORKER_OPTIONS]

/** The options of a command that the options type for code lacks. */
type Missing<Code, Command> = Exclude<keyof Command, keyof Code>

/** Compiles only if nothing is missing. */
const nothing = <_ extends never>(): void => {}

test('the option types for code include every option of the commands', () => {
  type OfScheduler = SchedulerOwnOptions & LoggingOptions & UnnecessaryOptions
  type OfCluster = AgentOptions & LoggingOptions & UnnecessaryWorkerOptions
  nothing<Missing<SchedulerStartOptions, OfScheduler>>()
  nothing<Missing<ClusterStartOptions, OfCluster>>()
  nothing<Missing<ComboOptions, OfScheduler & OfCluster>>()
  // @ts-expect-error: `nothing` must not compile when something is missing.
  nothing<Missing<LoggingOptions, OfCluster>>()
})

/** A valid value of an option other than its default. */
function anotherValue(name: string, { type, default: usual }: OptionSpec): unknown {
  switch (type.kind) {
    case 'integer':
    case 'duration':
      return type.min === usual ? type.min + 1 : type.min
    case 'boolean':
      return usual !== true
    case 'choice':
      return type.choices.find((choice) => choice !== usual)
    case 'text':
      if (name === 'metricsAddress') return '127.0.0.1:4322'
      return name.endsWith('ddress') ? 'tcp://127.0.0.1:4321' : '/tmp'
    case 'list':
      return name.endsWith('ddresses') ? ['tcp://127.0.0.1:4321'] : ['some', 'texts']
    case 'object':
      if (name === 'tls') return { ca: '/tmp/ca.pem' }
      return name === 'env' ? { GREETING: 'hello' } : console
  }
}

/** A value other than the default for each option of a table. */
function otherValues(table: AnyOptionTable): Readonly<Record<string, unknown>> {
  const specs = Object.entries(table)
  return Object.fromEntries(specs.map(([name, spec]) => [name, anotherValue(name, spec)]))
}

test('the option tables for code include every option of the commands, with the same type', () => {
  const pairs: readonly (readonly [AnyOptionTable, readonly AnyOptionTable[]])[] = [
    [SCHEDULER_START_OPTIONS, SCHEDULER_TABLES],
    [CLUSTER_START_OPTIONS, CLUSTER_TABLES],
    [COMBO_OPTIONS, [...SCHEDULER_TABLES, ...CLUSTER_TABLES]],
  ]
  for (const [code, tables] of pairs) {
    for (const [name, spec] of tables.flatMap((table) => Object.entries(table))) {
      assert.deepEqual(code[name]?.type, spec.type, name)
      assert.equal(code[name]?.flag, spec.flag, name)
    }
  }
})

test('a local cluster passes each option only to the part that it belongs to', () => {
  const scheduler = otherValues(SCHEDULER_OPTIONS)
  const agent: Readonly<Record<string, unknown>> = {
    ...otherValues(AGENT_OPTIONS),
    workers: 2,
    workerNames: ['a', 'b'],
  }
  const others = { ...otherValues(LOGGING_OPTIONS), ...otherValues(UNNECESSARY_WORKER_OPTIONS) }
  const given = { ...others, ...scheduler, ...agent, protected: false } as ComboOptions
  const parts = checkComboOptions(given)
  const { logger: _, ...schedulerOnly } = scheduler
  const { logger: __, ...agentOnly } = agent
  assert.deepEqual(parts.scheduler, {
    ...schedulerOnly,
    protected: false,
    address: 'tcp://127.0.0.1:4321',
  })
  assert.deepEqual({ ...parts.agent, address: '' }, { ...agentOnly, address: '' })
})

test('the options of the parts survive JSON', () => {
  const given = { workers: 1, execArgv: ['--no-warnings'], env: { A: 'b', NOT: undefined } }
  const parts = checkComboOptions(given)
  const copy = JSON.parse(JSON.stringify(parts)) as typeof parts
  assert.deepEqual(copy.agent, { ...parts.agent, env: { A: 'b' } })
  assert.deepEqual(copy.scheduler, parts.scheduler)
})

test('a local cluster has defaults of its own', () => {
  const { scheduler, agent } = checkComboOptions({})
  assert.equal(scheduler.protected, true)
  assert.equal(scheduler.address, 'tcp://127.0.0.1:0')
  assert.equal(agent.killDelayMs, 500)
  assert.ok(agent.workers >= 1)
})

test('the working directory is resolved when the cluster starts', () => {
  assert.equal(checkComboOptions({ cwd: '.' }).agent.cwd, process.cwd())
})

test('property: any value of any option is accepted, or the error names the option', () => {
  const name = fc.constantFrom(...Object.keys(COMBO_OPTIONS))
  const value = fc.oneof(fc.anything(), fc.integer(), fc.string(), fc.array(fc.string()))
  fc.assert(
    fc.property(name, value, (option, given) => {
      try {
        checkComboOptions({ [option]: given })
      } catch (error) {
        assert.ok(error instanceof ConfigError, String(error))
        const isNamed = error.message.includes(option) || error.message.startsWith('address')
        assert.ok(isNamed && !error.message.includes('\n'), error.message)
      }
    }),
    { numRuns: 5_000 },
  )
})

test('a range of workers is for the agent, which starts with its minimum', () => {
  const cores = availableParallelism()
  const rangeOf = (workers: WorkerRange): unknown => checkComboOptions({ workers }).agent.range
  assert.deepEqual(rangeOf({}), { min: 0, max: cores, idleMs: 10_000 })
  assert.deepEqual(rangeOf({ min: 4_096 }), { min: 4_096, max: 4_096, idleMs: 10_000 })
  const { agent } = checkComboOptions({ workers: { min: 1, max: 8, idleMs: 2_000 } })
  assert.deepEqual(agent.range, { min: 1, max: 8, idleMs: 2_000 })
  assert.deepEqual([agent.workers, agent.heartbeatIntervalMs], [8, 500])
  const slow = checkComboOptions({ workers: {}, heartbeatIntervalMs: 3_000 })
  assert.equal(slow.agent.heartbeatIntervalMs, 3_000)
  const many = checkComboOptions({ workers: { max: 64 } })
  assert.equal(many.agent.heartbeatIntervalMs, 1_600)
  assert.equal(checkComboOptions({ workers: 2 }).agent.range, undefined)
})

test('property: any range of workers is accepted, or the error names what is wrong', () => {
  const names = fc.constantFrom('min', 'max', 'idleMs', 'most')
  const value = fc.oneof(fc.anything(), fc.integer({ min: -1, max: 5_000 }))
  fc.assert(
    fc.property(fc.dictionary(names, value, { maxKeys: 3 }), (workers: object) => {
      try {
        const { range } = checkComboOptions({ workers }).agent
        assert.ok(range !== undefined && range.min <= range.max && range.max >= 1)
      } catch (error) {
        assert.ok(error instanceof ConfigError, String(error))
        assert.match(error.message, /^(option workers\.\w+: |unknown workers option )[^\n]+$/)
      }
    }),
  )
})

test('the error for a wrong value names the option', () => {
  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ workers: 0 }, /^option workers: expected a whole number from 1 to 4096, got 0$/],
    [{ workers: -1 }, /^option workers: .*got -1$/],
    [{ workers: [] }, /^option workers: .*got an array$/],
    [{ workers: { min: 1.5 } }, /^option workers.min: .* from 0 to 4096, got 1.5$/],
    [{ workers: { max: 4_097 } }, /^option workers.max: .* from 1 to 4096, got 4097$/],
    [{ workers: { idleMs: 999 } }, /^option workers.idleMs: .* from 1000 to 86400000, got 999$/],
    [{ workers: { min: 3, max: 2 } }, /^option workers.min: .*at most workers.max \(2\), got 3$/],
    [{ workers: { mx: 2 } }, /^unknown workers option mx; is it max\?$/],
    [
      { workers: {}, workerNames: ['a'] },
      /^option workerNames: only for a fixed number of workers$/,
    ],
    [{ workers: {}, allocation: 'a' }, /^option allocation: only for a fixed number of workers$/],
    [{ workers: {}, idleTimeoutMs: 1 }, /^option idleTimeoutMs: only for a fixed number of w/],
    [{ workers: 1, workerNames: ['a', 'b'] }, /^option workerNames: .*2 names for 1 worker$/],
    [{ workers: 2, workerNames: ['a'] }, /^option workerNames: .*1 name for 2 workers$/],
    [{ workerNames: 'a,b' }, /^option workerNames: expected a list of strings, got "a,b"$/],
    [{ address: 'nonsense' }, /^address "nonsense": expected tcp/],
    [{ address: 'tcp://127.0.0.1:70000' }, /port must be a number from 0 to 65535/],
    [{ monitorAddress: 'udp://x:1' }, /^option monitorAddress: address "udp:\/\/x:1": udp/],
    [{ eventLoop: 'tokio' }, /^option eventLoop: expected builtin or uvloop, got "tokio"/],
    [{ cwd: '/no/such/folder' }, /^option cwd: "\/no\/such\/folder" is not a directory$/],
    [{ cwd: '/dev/null/x' }, /^option cwd: /],
    [{ env: { A: 1 } }, /^option env: expected text for A, got 1$/],
    [{ env: 'A=1' }, /^option env: expected an object, got "A=1"$/],
    [{ logger: {} }, /^option logger: expected an object with debug/],
    [{ workerTimeoutSeconds: 1 }, /^unknown cluster option .*; is it workerTimeoutMs\?$/],
  ]
  for (const [options, message] of wrong) {
    assert.throws(() => checkComboOptions(options), { code: 'ERR_SCALER_CONFIG', message })
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from '../base/errors.js'
import { type AllocatorOptions, checkAllocatorOptions } from './options.js'

const POD = { provider: 'kubernetes', image: 'scaler-ts' } as const
const COMMANDS = { provider: 'command', listCommand: 'qstat', cancelCommand: 'qdel {id}' } as const
const PLAIN: AllocatorOptions = { provider: 'local', address: 'tcp://127.0.0.1:1' }

test('defaults are filled in', () => {
  const checked = checkAllocatorOptions(PLAIN)
  const { name, minWorkers, maxWorkers, workersPerUnit, backlogMs, idleMs, offers } = checked
  assert.deepEqual(
    [name, minWorkers, maxWorkers, workersPerUnit, backlogMs, idleMs, [...offers]],
    ['local', 0, 200, 1, 30_000, 60_000, []],
  )
})

test('capabilities are what the workers offer', () => {
  const expected = [
    ['linux', -1],
    ['gpu', 2],
  ]
  for (const capabilities of [['linux', 'gpu=2'], { linux: -1, gpu: 2 }]) {
    assert.deepEqual([...checkAllocatorOptions({ ...PLAIN, capabilities }).offers], expected)
  }
})

test('a value that is not allowed is refused, and the error names the option', () => {
  const bad: readonly (readonly [Partial<AllocatorOptions>, RegExp])[] = [
    [
      { provider: 'cloud' as never },
      /^option provider: expected local, ssh, slurm, kubernetes or command/,
    ],
    [{ address: 'nowhere' }, /^address "nowhere": /],
    [{ workerAddress: 'tcp://h:0' }, /^option workerAddress: address "tcp:\/\/h:0": /],
    [{ name: 'a b' }, /^option name: expected 1 to 64 letters, /],
    [{ name: '' }, /^option name: /],
    [{ minWorkers: -1 }, /^option minWorkers: expected a whole number from 0 to 100000, got -1/],
    [{ minWorkers: 9, maxWorkers: 8 }, /^option minWorkers: expected at most maxWorkers \(8\)/],
    [{ workersPerUnit: 9, maxWorkers: 8 }, /^option workersPerUnit: expected at most maxWorkers/],
    [{ backlogMs: 999 }, /^option backlogMs: expected a whole number from 1000 to 86400000/],
    [{ idleMs: Infinity }, /^option idleMs: /],
    [{ maxQueuedUnits: 0 }, /^option maxQueuedUnits: expected a whole number from 1 to 10000/],
    [{ capabilities: ['a b'] }, /^option capabilities: expected names such as linux/],
    [{ provider: 'ssh' }, /^option hosts: the provider ssh needs it/],
    [{ provider: 'ssh', hosts: ['a', 'a'] }, /^option hosts: expected each name once, got "a"/],
    [{ provider: 'ssh', hosts: ['-oProxyCommand=x'] }, /^option hosts: expected names without/],
    [{ provider: 'command', submitCommand: 'x' }, /^option listCommand: the provider command/],
    [{ workerCommand: 'run {address}' }, /^option workerCommand: expected \{allocation\} or /],
    [{ workerCommand: '{names} {adress}' }, /^option workerCommand: nothing replaces \{adress\}/],
    [{ ...COMMANDS, submitCommand: 'qsub {scrpt}' }, /; is it \{script\}\?$/],
    [{ workerRuntime: 'python' }, /^option workerRuntime: workers of this package run no tasks/],
    [{ partition: 'a\n#SBATCH --x' }, /^option partition: expected one line, got /],
    [{ outputDirectory: '/a\n' }, /^option outputDirectory: expected one line, got /],
    [{ provider: 'kubernetes' }, /^option image: the provider kubernetes needs it/],
    [{ ...POD, image: 'a b' }, /^option image: expected the name of an image, such as .*"a b"$/],
    [{ ...POD, namespace: 'My_Space' }, /^option namespace: expected 1 to 63 lower-case letters/],
    [{ ...POD, namespace: 'a'.repeat(64) }, /^option namespace: /],
    [{ ...POD, serviceAccount: 'a..b' }, /^option serviceAccount: expected lower-case letters/],
    [{ ...POD, name: 'night-' }, /^option name: expected at most 63 characters, with a letter/],
    [{ ...POD, podTemplate: 1 as never }, /^option podTemplate: expected text, got 1/],
    [{ ...POD, context: true as never }, /^option context: expected text, got true/],
    [{ workerRuntime: 'ruby' as never }, /^option workerRuntime: expected javascript or python/],
    [
      { ['minWorker' as never]: 1 as never },
      /^unknown allocator option minWorker; is it minWorkers/,
    ],
  ]
  for (const [options, message] of bad) {
    assert.throws(
      () => checkAllocatorOptions({ ...PLAIN, ...options }),
      (error) => error instanceof ConfigError && message.test(error.message),
      String(message),
    )
  }
})

test('words in braces that are nothing like what is replaced are parts of the command', () => {
  const submitCommand = "N={name}; qsub -N ${N} {script} | awk '{print}'"
  const listCommand = "docker ps --format '{{.ID}} {{.Names}} {{names}}'"
  checkAllocatorOptions({ ...PLAIN, ...COMMANDS, submitCommand, listCommand })
})

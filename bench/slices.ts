// What a task of a run costs in a processor, without pipes and other processes: its loop, in this
// process, runs slices of no-ops and counts CPU time.

import { identity, taskId } from '#src/base/ids.js'
import { NO_UNITS } from '#src/core/worker/queue/units.js'
import { TaskScopes } from '#src/runtime/task-scope.js'
import { defaultCodec } from '#src/serializer/task-codec.js'
import { PackedWriter } from '#src/serializer/value/packed/writer.js'
import { MAX_RUN_TASKS } from '#src/wire/run.js'
import type { Outbox } from '#src/worker/link/outbox.js'
import { PackedArguments, type RunnableTask } from '#src/worker/processor/call.js'
import { newResultMemory, ResultBoard } from '#src/worker/processor/result-board.js'
import { TaskMeter } from '#src/worker/processor/meter.js'
import { StoredObject } from '#src/worker/processor/objects.js'
import { TaskRunner } from '#src/worker/processor/runner.js'
import {
  ClaimTable,
  newBoardCells,
  newClaimCells,
  TaskBoard,
} from '#src/worker/processor/shared-memory.js'
import type { Benchmark } from './benchmark.js'

const SLICES = 200
const WARM_UP_SLICES = 50
const FIRST = taskId('\0\0middle-bytes\0\0')

interface Case {
  readonly name: string
  readonly fn: (input: never) => unknown
  readonly inputOf: (n: number) => unknown
}

const CASES: readonly Case[] = [
  { name: 'integers', fn: (n: number) => n + 1, inputOf: (n) => n },
  {
    name: 'objects',
    fn: ({ id, name, values }: Thing) => ({ id, name, values }),
    inputOf: (n): Thing => ({ id: n, name: `thing ${n}`, values: [n, n + 1, n + 2] }),
  },
  { name: 'async, integers', fn: async (n: number) => n + 1, inputOf: (n) => n },
]

interface Thing {
  readonly id: number
  readonly name: string
  readonly values: readonly number[]
}

/** CPU time per task in the loop of a processor. */
export const slices: Benchmark = {
  name: 'slices',
  run: async () => {
    const samples = []
    for (const one of CASES) {
      await cpuNsPerTask(one, WARM_UP_SLICES)
      const value = await cpuNsPerTask(one, SLICES)
      samples.push({ name: `loop of a processor, ${one.name}`, unit: 'ns/task', value })
    }
    return samples
  },
}

async function cpuNsPerTask({ fn, inputOf }: Case, count: number): Promise<number> {
  const runner = newRunner()
  const task = taskOf(new StoredObject([defaultCodec.serializeFunction(fn).bytes]))
  const packed = packedInputs(inputOf)
  const values = { taskId: FIRST, attempt: 0, keepsResult: false, packed, count: MAX_RUN_TASKS }
  const before = process.cpuUsage()
  for (let n = 0; n < count; n += 1) runner.addSlice(task, new PackedArguments(values))
  runner.run()
  while (!runner.isIdle) await new Promise((resolve) => setImmediate(resolve))
  const { user, system } = process.cpuUsage(before)
  return ((user + system) * 1_000) / (count * MAX_RUN_TASKS)
}

/** A runner whose results go nowhere. */
function newRunner(): TaskRunner {
  let bytes = 0
  const outbox: Pick<Outbox, 'bytes' | 'hasOther' | 'add' | 'addResult' | 'send' | 'flush'> = {
    hasOther: false,
    addResult: () => void (bytes += 1),
    get bytes() {
      return bytes
    },
    add: () => void (bytes += 1),
    send: () => {},
    flush: () => void (bytes = 0),
  }
  const runner = new TaskRunner({
    outbox: outbox as Outbox,
    meter: new TaskMeter(),
    board: new TaskBoard(newBoardCells(), () => {}),
    claims: new ClaimTable(newClaimCells()),
    scopes: new TaskScopes(),
    keep: () => {},
    results: new ResultBoard(newResultMemory()),
    retire: () => {},
  })
  const worker = identity('worker')
  runner.setHost({ address: '', worker, inlineLimitBytes: 16_384, taskTimeoutMs: 0 })
  return runner
}

function packedInputs(inputOf: (n: number) => unknown): Uint8Array {
  const writer = new PackedWriter(defaultCodec)
  for (let n = 0; n < MAX_RUN_TASKS; n += 1) {
    writer.beginEntry()
    writer.value(inputOf(n), Infinity)
    writer.endEntry()
  }
  return writer.finish()
}

function taskOf(fn: StoredObject): RunnableTask {
  const client = identity('client')
  return {
    id: FIRST,
    source: client,
    name: '',
    priority: 0,
    attempt: 0,
    units: NO_UNITS,
    timeoutMs: 0,
    isWorkersLimit: false,
    isProfiled: false,
    output: 'log',
    outputClient: client,
    traceContext: '',
    keepsResult: false,
    serializer: { codec: () => defaultCodec, clientSerializer: () => defaultCodec },
    fn,
    inputs: [],
    shared: undefined,
    after: undefined,
    refusal: undefined,
    packed: undefined,
  }
}

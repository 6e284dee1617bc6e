// Runs in a worker: consecutive tasks are one entry until something happens to one of them alone.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { latin1ToBytes } from '../../base/bytes.js'
import { type TaskId, taskId } from '../../base/ids.js'
import {
  decode,
  encode,
  type Message,
  PLAIN_RESULT,
  type Task,
  type TaskResult,
} from '../../wire/message.js'
import { countOf, nthTaskId } from '../../wire/run.js'
import { pack, unpack } from '../../wire/run.kit.js'
import type { WorkerAction, WorkerCoreOptions } from './events.js'
import {
  objectsOf,
  resultOf,
  ScriptedWorker,
  SERIALIZER,
  type TaskFacts,
  taskOf,
} from './scripted-worker.test.js'

const FIRST = taskId('\0\0middle-bytes\0\0')

function nth(n: number): TaskId {
  return nthTaskId(FIRST, n)
}

function numberOf(id: TaskId): number {
  return id.charCodeAt(14) * 256 + id.charCodeAt(15)
}

/** Tasks `from` up to, not including, `to`; the argument of each is its number. */
function runOf(from: number, to: number, facts: TaskFacts = {}): Task {
  const numbers = Array.from({ length: to - from }, (_, n) => latin1ToBytes(String(from + n)))
  const task: Task = {
    ...taskOf(nth(from), facts),
    bytes: undefined,
    functionArgs: [],
    count: to - from,
    packed: pack(numbers),
  }
  return { ...task, bytes: encode(task) }
}

function resultsOf(from: number, to: number, durationMs: number = 0.01): TaskResult {
  const values = Array.from({ length: to - from }, (_, n) => latin1ToBytes(`r${from + n}`))
  const metadata = Buffer.alloc(4 * values.length)
  for (let at = 0; at < metadata.length; at += 4) metadata.writeFloatBE(durationMs / 1000, at)
  return {
    kind: 'taskResult',
    taskId: nth(from),
    status: 'success',
    metadata,
    results: [],
    ...PLAIN_RESULT,
    count: values.length,
    packed: pack(values),
  }
}

function cancelOf(from: number, to: number, force: boolean): Message {
  const flags = { force, retrieveTaskObject: false }
  return { kind: 'taskCancel', taskId: nth(from), count: to - from, flags }
}

function span(id: TaskId, count: number): string {
  const first = numberOf(id)
  return count === 1 ? `${first}` : `${first}-${first + count - 1}`
}

/** A worker, whose actions are shown with the numbers of tasks. */
class RunWorker {
  readonly worker: ScriptedWorker

  constructor(options: Partial<WorkerCoreOptions> = {}) {
    this.worker = ScriptedWorker.ready({ heartbeatIntervalMs: 3_600_000, ...options })
    // The function takes 10 microseconds.
    this.worker.run('first')
    this.worker.answer(resultOf('first'))
  }

  handle(...args: Parameters<ScriptedWorker['handle']>): string[] {
    return this.worker.handle(...args).flatMap((action) => show(action))
  }

  receive(message: Message): string[] {
    return this.handle({ type: 'messageReceived', message })
  }

  answer(result: TaskResult, processor = 1): string[] {
    return this.handle({ type: 'taskAnswered', processor, result })
  }

  /** Opens the window. */
  warm(): void {
    this.receive(runOf(1000, 1016))
    this.answer(resultsOf(1000, 1002))
    this.answer(resultsOf(1002, 1010))
    this.answer(resultsOf(1010, 1016))
  }
}

function show(action: WorkerAction): string[] {
  switch (action.type) {
    case 'dispatch': {
      const task = decode(action.bytes)
      assert.ok(task.kind === 'task')
      const count = countOf(task)
      const numbers = unpack(task.packed, count).map((entry) => Buffer.from(entry).toString())
      assert.equal(numbers[0], String(numberOf(task.taskId)))
      assert.equal(numbers.length, count)
      return [`dispatch ${span(task.taskId, count)}`]
    }
    case 'send': {
      const { message } = action
      if (message.kind === 'taskUpdate') return [`${span(message.taskId, 1)} ${message.update}`]
      if (message.kind !== 'taskResult') return [message.kind]
      const count = countOf(message)
      if (message.packed.byteLength > 0) {
        const values = unpack(message.packed, count)
        assert.equal(String(values[0]), `r${numberOf(message.taskId)}`)
        assert.ok([4 * count, 16 * count].includes(message.metadata.byteLength))
      }
      return [`${span(message.taskId, count)} ${message.status}`]
    }
    case 'stopTask':
      return [`stop ${span(action.taskId, action.count)} ${action.reason}`]
    case 'askStatus':
      return [`ask ${action.dispatchNumber}+${action.count}`]
    case 'retractTasks':
      return [`retract ${action.dispatchNumbers.join()}`]
    case 'log':
      return []
    default:
      return [action.type]
  }
}

test('a run is passed on as one, answered in any parts, and counted by task', () => {
  const run = new RunWorker()
  run.warm()
  assert.deepEqual(run.receive(runOf(0, 100)), ['dispatch 0-99'])
  assert.deepEqual(run.answer(resultsOf(10, 20)), ['10-19 success'])
  assert.deepEqual(run.answer(resultsOf(0, 10)), ['0-9 success'])
  assert.deepEqual(run.answer(resultsOf(20, 99)), ['20-98 success'])
  const [heartbeat] = run.worker.handle({ type: 'stopRequested' })
  assert.equal(heartbeat?.type === 'log' || heartbeat?.type === 'sendHeartbeat', true)
  assert.deepEqual(run.answer(resultsOf(99, 100)).slice(0, 1), ['99 success'])
})

test('an answer that arrives unchanged leaves unchanged', () => {
  const run = new RunWorker()
  run.warm()
  run.receive(runOf(0, 8))
  const result = { ...resultsOf(0, 8), bytes: encode(resultsOf(0, 8)) }
  const actions = run.worker.handle({ type: 'taskAnswered', processor: 1, result })
  const [sent] = actions.flatMap((action) => (action.type === 'send' ? [action.message] : []))
  assert.equal(sent, result)
})

test('a function that was never measured gets one task, then as the window opens', () => {
  const run = new RunWorker()
  run.worker.receive(runOf(0, 10, { fn: 'other' }))
  assert.deepEqual(run.receive(objectsOf('other')), ['sendToProcessor', 'dispatch 0'])
  assert.deepEqual(run.answer(resultsOf(0, 1)), ['0 success', 'dispatch 1-4'])
  assert.deepEqual(run.answer(resultsOf(1, 5)), ['1-4 success', 'dispatch 5-9'])
})

test('no more than some milliseconds of work are passed on', () => {
  const run = new RunWorker()
  run.warm()
  run.receive(runOf(0, 8))
  run.answer(resultsOf(0, 8, 0.9))
  assert.deepEqual(run.receive(runOf(8, 40)), ['dispatch 8-18'])
  assert.deepEqual(run.answer(resultsOf(8, 10, 0.9)), ['8-9 success'])
  assert.deepEqual(run.answer(resultsOf(10, 14, 0.9)), ['10-13 success', 'dispatch 19-24'])
})

test('a run waits for its objects as one, and fails task by task if one does not exist', () => {
  const run = new RunWorker()
  run.warm()
  assert.deepEqual(run.receive(runOf(0, 3, { objects: [] })), ['dispatch 0-2'])
  run.answer(resultsOf(0, 3))
  assert.deepEqual(run.receive(runOf(3, 6, { fn: 'gone' })), ['objectRequest'])
  assert.deepEqual(run.receive(cancelOf(4, 5, true)), ['4 canceled'])
  const objectContent = {
    ...objectsOf('gone').objectContent,
    objectTypes: [],
    objectNames: [],
    objectBytes: [],
  }
  const missing = { kind: 'objectResponse', responseType: 'objectNotExist', objectContent } as const
  assert.deepEqual(run.receive(missing), ['3 failed', '5 failed'])
})

test('tasks of a run that wait are cancelled and given back together', () => {
  const run = new RunWorker()
  run.receive(runOf(0, 2, { fn: 'other' }))
  run.receive(runOf(2, 12, { fn: 'other' }))
  assert.deepEqual(run.receive(cancelOf(4, 6, false)), ['4-5 canceled'])
  assert.deepEqual(run.receive(cancelOf(0, 14, true)), [
    '0-1 canceled',
    '2-3 canceled',
    '4-5 notFound',
    '6-11 canceled',
    '12-13 notFound',
  ])
})

test('what a processor has not begun is taken back by number, the rest stays', () => {
  const run = new RunWorker()
  run.warm()
  assert.deepEqual(run.receive(runOf(0, 6)), ['dispatch 0-5'])
  assert.deepEqual(run.receive(cancelOf(1, 5, false)), ['retract 18,19,20,21'])
  const asked = [18, 19, 20, 21]
  const event = { type: 'tasksRetracted', processor: 1, asked, retracted: [20, 21] } as const
  assert.deepEqual(run.handle(event), ['1-2 notFound', '3-4 canceled'])
  assert.deepEqual(run.answer(resultsOf(0, 3)), ['0 success', '1-2 success'])
  assert.deepEqual(run.answer(resultsOf(5, 6)), ['5 success'])
})

test('cancelled tasks of a run are stopped together, and the one that runs by itself', () => {
  const run = new RunWorker({ cancelGraceMs: 1_000 })
  run.warm()
  run.receive(runOf(0, 6))
  assert.deepEqual(run.receive(cancelOf(0, 4, true)), [
    '0-3 canceled',
    'stop 0-3 cancelled',
    'ask 17+4',
    'retract 17,18,19,20',
  ])
  const status = { dispatchNumber: 17, taskNumber: 18, isStarted: true, isListening: true }
  const more = { isAlone: true, hasGivenUp: false, runningMs: 5 }
  const told = { type: 'statusReported', processor: 1, status: { ...status, ...more } } as const
  assert.deepEqual(run.handle(told), ['ask 17+1'])
  const canceled = { ...resultsOf(2, 4), status: 'canceled', packed: PLAIN_RESULT.packed } as const
  assert.deepEqual(run.answer({ ...canceled, metadata: PLAIN_RESULT.packed }), [])
  assert.deepEqual(run.answer(resultsOf(0, 1)), [])
  assert.deepEqual(run.answer(resultsOf(1, 2)), [])
  assert.deepEqual(run.answer(resultsOf(4, 6)), ['4-5 success'])
})

test('the time limit is that of each task', () => {
  const run = new RunWorker({ cancelGraceMs: 0 })
  run.warm()
  assert.deepEqual(run.receive(runOf(0, 5, { timeoutMs: 100 })), ['dispatch 0-4'])
  run.worker.now += 100
  assert.deepEqual(run.handle({ type: 'tick' }), ['ask 17+5'])
  const flags = { isStarted: true, isListening: false, isAlone: true, hasGivenUp: false }
  const tell = (taskNumber: number, runningMs: number): string[] => {
    const status = { dispatchNumber: 17, taskNumber, runningMs, ...flags }
    return run.handle({ type: 'statusReported', processor: 1, status })
  }
  assert.deepEqual(tell(18, 30), [])
  run.worker.now += 70
  assert.deepEqual(run.handle({ type: 'tick' }), ['ask 17+5'])
  assert.deepEqual(tell(19, 100).slice(0, 2), ['2 failed', 'stop 2 timedOut'])
  assert.deepEqual(run.answer(resultsOf(0, 2)), ['0-1 success'])
})

test('a task that ends its processor fails alone; the others run again', () => {
  const run = new RunWorker()
  run.warm()
  run.receive(runOf(0, 5))
  run.answer(resultsOf(0, 1))
  const death = { exitCode: 3, signal: undefined, stderr: '' }
  const lastRun = { taskIds: [nth(2)] } as const
  const lines = run.handle({ type: 'processorExited', processor: 1, death, lastRun })
  assert.deepEqual(lines, ['2 failed', 'startProcessor', 'objectRequest'])
  run.handle({ type: 'processorReady', processor: 2, pid: 2 })
  assert.deepEqual(run.receive(objectsOf(SERIALIZER, 'fn')), ['sendToProcessor', 'dispatch 1'])
  assert.deepEqual(run.answer(resultsOf(1, 2), 2), ['1 success', 'dispatch 3-4'])
})

test('after a crash without a report, the tasks run one by one', () => {
  const run = new RunWorker()
  run.warm()
  run.receive(runOf(0, 3))
  const death = { exitCode: undefined, signal: 'SIGSEGV', stderr: '' }
  run.worker.now += 5
  run.handle({ type: 'processorExited', processor: 1, death, lastRun: 'unknown' })
  run.handle({ type: 'processorReady', processor: 2, pid: 2 })
  assert.deepEqual(run.receive(objectsOf(SERIALIZER, 'fn')), ['sendToProcessor', 'dispatch 0'])
  assert.deepEqual(run.answer(resultsOf(0, 1), 2), ['0 success', 'dispatch 1'])
  run.worker.now += 5
  const lines = run.handle({ type: 'processorExited', processor: 2, death, lastRun: 'unknown' })
  assert.equal(lines[0], '1 failed')
})

test('results that cannot be sent are kept task by task', () => {
  const run = new RunWorker()
  run.warm()
  run.receive(runOf(0, 4))
  run.handle({ type: 'disconnected', reason: '' })
  assert.deepEqual(run.answer(resultsOf(0, 2)), [])
  const connected = run.worker.handle({ type: 'connected' })
  const heartbeat = connected.find(({ type }) => type === 'sendHeartbeat')
  assert.ok(heartbeat?.type === 'sendHeartbeat')
  assert.deepEqual(heartbeat.heartbeat.tasks, [nth(0), nth(1), nth(2), nth(3)])
  assert.equal(heartbeat.heartbeat.queuedTasks, 1)
  run.receive({ kind: 'workerHeartbeatEcho', schedulerId: '' as never, features: 1023 })
  assert.deepEqual(run.receive(runOf(1, 4, { attempt: 1 })), ['1 success'])
  assert.deepEqual(run.answer(resultsOf(2, 4)), ['2 success', '3 success'])
  assert.deepEqual(run.receive(cancelOf(0, 2, true)), ['0 canceled', '1 notFound'])
})

test('a scheduler that does not know runs gets no packed results', () => {
  const run = new RunWorker()
  run.warm()
  run.receive(runOf(0, 2))
  run.handle({ type: 'disconnected', reason: '' })
  run.handle({ type: 'connected' })
  run.receive({ kind: 'workerHeartbeatEcho', schedulerId: '' as never, features: 511 })
  const alone = taskOf(nth(1), { attempt: 1 })
  assert.deepEqual(run.receive(alone).slice(0, 1), ['stop 1 cancelled'])
  assert.deepEqual(run.answer(resultsOf(0, 2)), [])
})

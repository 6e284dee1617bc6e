// How many tasks per second Node itself allows on this machine: five processes as in the engine
// (client, scheduler, agent, processors) that pass messages of the same size and do nothing else.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Link } from './link.js'

/** What is measured. The sizes are those of a Task and of a TaskResult, including the payload. */
export interface LimitOptions {
  readonly processors: number
  readonly tasks: number
  readonly taskBytes: number
  readonly resultBytes: number
}

/** The number that the engine's client sends in one turn. */
const TASKS_PER_TURN = 2_000
/** Passed before the measurement: compilers warm up. */
const WARM_UP_TASKS = 20_000

/** Measures once; returns tasks per second. */
export async function measureLimit(options: LimitOptions): Promise<number> {
  const scheduler = start('scheduler.js')
  const agents: ChildProcess[] = []
  let socket: Socket | undefined
  try {
    const [line] = (await once(scheduler.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
    const port = Number(line.toString())
    agents.push(start('agent.js', port, options.processors, options.resultBytes))
    socket = connect(port, '127.0.0.1')
    return await passTasks(socket, options)
  } finally {
    socket?.destroy()
    await Promise.all([scheduler, ...agents].map(end))
  }
}

async function passTasks(socket: Socket, options: LimitOptions): Promise<number> {
  socket.setNoDelay(true)
  const task = Buffer.alloc(options.taskBytes, 1)
  let awaited = 1
  let onAll: () => void = () => {}
  const link = new Link(socket, () => {
    awaited -= 1
    if (awaited === 0) onAll()
  })
  const allReceived = (): Promise<void> =>
    new Promise((resolve, reject) => {
      onAll = resolve
      socket.once('close', () => reject(new Error('a process of the limit has exited')))
    })
  const passAll = async (tasks: number): Promise<void> => {
    awaited = tasks
    const received = allReceived()
    for (let sent = 0; sent < tasks; sent += 1) {
      if (sent % TASKS_PER_TURN === 0 && sent > 0) await setImmediate()
      link.send(task)
    }
    await received
  }
  const ready = allReceived()
  link.send(Buffer.from('client'))
  await ready
  await passAll(WARM_UP_TASKS)
  const start = performance.now()
  await passAll(options.tasks)
  return (options.tasks / (performance.now() - start)) * 1_000
}

function start(file: string, ...args: readonly (string | number)[]): ChildProcess {
  const program = fileURLToPath(new URL(file, import.meta.url))
  return spawn(process.execPath, [program, ...args.map(String)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.stdin?.end()
  await once(child, 'exit')
}

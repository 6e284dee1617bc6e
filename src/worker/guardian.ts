// A thread beside the user's code. It holds the lifeline to the agent, so that both of these work
// while user code never returns to the event loop: when the agent dies, however it dies, the
// processor and what it has started are killed; and when the agent asks how far the processor is,
// it is told.

import { Socket } from 'node:net'
import { workerData } from 'node:worker_threads'
import { LIFELINE_FD } from './link.js'

/**
 * The processor leads a process group of its own; where there are no groups, only itself is ended.
 */
function killProcessor(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.kill(process.pid, 'SIGKILL')
  }
}

/** Watches the lifeline for as long as this process lives. */
function watch(progress: Int32Array): void {
  const lifeline = new Socket({ fd: LIFELINE_FD })
  const answer = (): void => {
    const bytes = Buffer.allocUnsafe(4)
    bytes.writeUInt32LE(Atomics.load(progress, 0) >>> 0, 0)
    lifeline.write(bytes)
  }
  lifeline.on('data', answer)
  lifeline.on('error', killProcessor)
  lifeline.on('close', killProcessor)
}

watch(workerData as Int32Array)

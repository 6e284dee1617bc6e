// Waiting for conditions with a deadline: tests never sleep for a fixed time.

import { setImmediate, setTimeout } from 'node:timers/promises'

/** Resolves when `isTrue` does; throws after `deadlineMs` with `what` in the message. */
export async function until(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  deadlineMs = 20_000,
): Promise<void> {
  const end = performance.now() + deadlineMs
  for (let round = 0; !(await isTrue()); round += 1) {
    if (performance.now() > end) throw new Error(`waited ${deadlineMs} ms in vain: ${what}`)
    await (round < 10 ? setImmediate() : setTimeout(10))
  }
}

/** Whether there is such a process; a zombie counts. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
export const collectGarbage = runInNewContext('gc') as () => void

/** Collects garbage until the condition holds, which it must within twenty seconds. */
export async function untilCollected(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 20_000
  while (!condition()) {
    assert(performance.now() < deadline, 'not collected within 20 s')
    collectGarbage()
    // V8 calls back for one registry a turn, and others in this process may be due before.
    for (let turns = 0; turns < 100 && !condition(); turns += 1) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

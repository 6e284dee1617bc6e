// A user's program for the tests of leftover processes: starts a local cluster, keeps both workers
// busy, and prints the ids of its processes. Its arguments say how it ends, and whether the number
// of its workers follows the work.

import { readdirSync, readFileSync } from 'node:fs'
import { Client, SchedulerClusterCombo } from 'scaler-ts'

/** All processes below `root`, from /proc. */
function descendants(root: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]))
    } catch {
      // It ended in the meantime.
    }
  }
  const found: number[] = []
  const queue = [root]
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    for (const [child, parent] of parents) {
      if (parent !== pid) continue
      found.push(child)
      queue.push(child)
    }
  }
  return found
}

// Tasks may take some time on a normal exit, but not on any other.
const workers = process.argv[3] === 'elastic' ? { max: 2 } : 2
const cluster = await SchedulerClusterCombo.start({ workers, drainMs: 600_000 })
const client = await Client.connect(cluster.address)
const pids = await client.map(() => process.pid, [1, 2, 3, 4])
while (descendants(process.pid).length < 4) {
  // Both workers come for tasks that take longer than a worker needs to start.
  await client.map(() => new Promise<void>((resolve) => setTimeout(resolve, 500)), [1, 2, 3, 4])
}
const loops = [1, 2].map(() =>
  client.submit(() => {
    for (;;);
  }),
)
const quick = client.submit(() => 'never, both workers are busy')
process.stdout.write(
  `${JSON.stringify({ address: cluster.address, pids: [...descendants(process.pid), ...pids] })}\n`,
)

switch (process.argv[2]) {
  case 'close':
    for (const loop of loops) loop.cancel()
    quick.cancel()
    await client.close()
    await cluster.shutdown()
    break
  case 'exit':
    process.exit(5)
  case 'throw':
    throw new Error('a mistake of the user')
  default:
    // Waits to be killed.
    await quick
}

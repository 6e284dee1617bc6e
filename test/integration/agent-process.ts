// An agent in a separate process, for tests that kill it. Its argument is the scheduler's address.

import { Agent } from '#src/worker/agent/agent.js'

const [address = ''] = process.argv.slice(2)
const agent = await Agent.start({ address, workers: 2, heartbeatIntervalMs: 50 })
await agent.ended

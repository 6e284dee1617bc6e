// A thread of the simulator: runs its part of a campaign (jobs.ts).

import { parentPort, workerData } from 'node:worker_threads'
import { runCampaign, type Campaign } from './campaign.js'
import type { JobMessage } from './jobs.js'

function tell(message: JobMessage): void {
  parentPort?.postMessage(message)
}

const tally = runCampaign(workerData as Campaign, (runs) => tell({ type: 'progress', runs }))
tell({ type: 'end', tally })

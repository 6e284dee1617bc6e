// A campaign in several threads. Each gets a part of the seeds; together they find the same as one.

import { Worker } from 'node:worker_threads'
import { addTally, newTally, type Campaign, type Tally } from './campaign.js'

/** The messages of a thread. */
export type JobMessage =
  | { readonly type: 'progress'; readonly runs: number }
  | { readonly type: 'end'; readonly tally: Tally }

/** Runs a campaign in this many threads. */
export async function runJobs(
  campaign: Campaign,
  jobs: number,
  onProgress: (runs: number) => void,
): Promise<Tally> {
  const sum = newTally()
  const share = Math.ceil(campaign.runs / jobs)
  const parts: Promise<Tally>[] = []
  for (let begin = 0; begin < campaign.runs; begin += share) {
    const runs = Math.min(share, campaign.runs - begin)
    const firstSeed = campaign.firstSeed + begin
    parts.push(runJob({ ...campaign, firstSeed, runs }, onProgress))
  }
  for (const part of await Promise.all(parts)) addTally(sum, part)
  return sum
}

function runJob(campaign: Campaign, onProgress: (runs: number) => void): Promise<Tally> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./job.js', import.meta.url), { workerData: campaign })
    worker.on('message', (message: JobMessage) => {
      if (message.type === 'progress') onProgress(message.runs)
      else resolve(message.tally)
    })
    worker.on('error', reject)
    worker.on('exit', () => reject(new Error('a thread of the simulator has ended')))
  })
}

// Loaded into a scheduler by `node --import`: how long the turns of its event loop are, in time of
// its processor, which is what they cost on a machine of its own; that it waits for something costs
// nothing. From SIGUSR2 on it counts; at the next one it tells, as a line of JSON on stdout.

import { writeSync } from 'node:fs'
import { threadMs } from './process-cost.js'

/** Turns of more than this are counted. */
const LONG_MS = 10

let isCounting = false
let last = threadMs() ?? 0
let longestTurnMs = 0
let longTurns = 0

function look(): void {
  const now = threadMs() ?? 0
  const turnMs = now - last
  last = now
  if (isCounting) {
    longestTurnMs = Math.max(longestTurnMs, turnMs)
    if (turnMs > LONG_MS) longTurns += 1
  }
  setImmediate(look).unref()
}

process.on('SIGUSR2', () => {
  if (isCounting) writeSync(1, `${JSON.stringify({ longestTurnMs, longTurns })}\n`)
  isCounting = !isCounting
})
look()

// Loaded into a scheduler by `node --import`: measures the turns of its event loop in CPU time, so
// that other processes and waiting do not count. The first SIGUSR2 starts the count; the next one
// prints it, as a line of JSON on stdout.

import { writeSync } from 'node:fs'
import { threadMs } from './process-cost.js'

/** Longer turns are counted. */
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

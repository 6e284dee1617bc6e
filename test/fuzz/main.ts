// `npm run fuzz`: sends random values and programs and compares them with the originals, starting
// from a seed.

import { Command } from 'commander'
import { shrunkValue, tryProgram, tryValue, type Outcome } from './trial.js'

const options = new Command('npm run fuzz --')
  .description('Send random values and programs to another serializer, and compare what arrives.')
  .option('--seed <number>', 'the first seed', Number, Math.floor(Math.random() * 2 ** 31))
  .option('--minutes <number>', 'how long', Number, 1)
  .option('--only <what>', 'values or programs')
  .option('--refusals', 'tell what was refused, too', false)
  .parse()
  .opts<{ seed: number; minutes: number; only?: string; refusals: boolean }>()

const MAX_FINDINGS = 20
const end = performance.now() + options.minutes * 60_000
const counts = { same: 0, refused: 0, finding: 0 }
const reasons = new Map<string, number>()

function count(seed: number, outcome: Outcome): void {
  counts[outcome.kind] += 1
  if (outcome.kind === 'refused') {
    const reason = outcome.reason.replace(/^.*?: /, '')
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
  } else if (outcome.kind === 'finding') {
    console.log(`seed ${seed}: ${outcome.what}\n  ${outcome.about}`)
  }
}

let { seed } = options
for (; performance.now() < end && counts.finding < MAX_FINDINGS; seed += 1) {
  if (options.only !== 'programs') {
    const outcome = tryValue(seed)
    count(seed, outcome.kind === 'finding' ? shrunkValue(seed, outcome) : outcome)
  }
  if (options.only !== 'values') count(seed, await tryProgram(seed))
}
if (options.refusals)
  for (const [reason, times] of reasons) console.log(`${times} times: ${reason}`)
console.log(`seeds ${options.seed} to ${seed - 1}: ${JSON.stringify(counts)}`)
process.exitCode = counts.finding > 0 ? 1 : 0

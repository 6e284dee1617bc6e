import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { quoted } from '../base/text.js'
import { type AllocatorOptions, checkAllocatorOptions } from './options.js'
import { slurmScript } from './provider/slurm.js'
import { filled } from './shell.js'
import { workerScript } from './worker-command.js'

function script(options: Partial<AllocatorOptions>): string {
  const plain = { provider: 'local', address: 'tcp://10.0.0.1:2345' } as const
  return workerScript(checkAllocatorOptions({ ...plain, ...options }), 'k1')
}

/** What a shell makes of the last command. */
function wordsOf(text: string): readonly string[] {
  const printed = text.replace(/^exec /m, 'printf "%s\\n" ')
  return execFileSync('sh', ['-c', printed], { encoding: 'utf8' }).trimEnd().split('\n')
}

test('workers are started with what ends them without their allocator', () => {
  const [node, cluster = '', ...words] = wordsOf(
    script({ workersPerUnit: 3, lifetimeMs: 90_000, capabilities: ['gpu=2', 'big'] }),
  )
  assert.equal(node, process.execPath)
  assert.match(cluster, /dist\/cli\/scaler-cluster\.js$/)
  const limits = '-n 3 --idle-timeout-seconds 90 --lifetime-seconds 90'
  const rest = '--capabilities gpu=2,big --allocation local/k1 tcp://10.0.0.1:2345'
  assert.equal(words.join(' '), `${limits} ${rest}`)
})

test('workers that are kept without work are not replaced every minute', () => {
  assert.ok(wordsOf(script({ minWorkers: 1 })).includes('3660'))
})

test('a command of the user, after a preamble', () => {
  const workerCommand = 'scaler_cluster -n {workers} -wn {names} {address} {other}'
  const workerAddress = 'tcp://head:1'
  const text = script({ preamble: 'x=1', workersPerUnit: 2, workerCommand, workerAddress })
  assert.match(text, /^x=1\nexec scaler_cluster /)
  const words = ['scaler_cluster', '-n', '2', '-wn', 'local/k1,local/k1', 'tcp://head:1', '{other}']
  assert.deepEqual(wordsOf(text), words)
})

test('at a tls:// address, workers get the paths of the certificates', () => {
  const tls = { ca: '/etc/a ca.pem', cert: '/etc/cert.pem', key: '/etc/key.pem' }
  const words = wordsOf(script({ address: 'tls://h:1', tls, workerArgs: '--drain-seconds 1' }))
  const flags = ['--tls-ca', tls.ca, '--tls-cert', tls.cert, '--tls-key', tls.key]
  const at = words.indexOf('--tls-ca')
  assert.deepEqual(words.slice(at, at + 7), [...flags, '--drain-seconds'])
  assert.ok(!script({ tls }).includes('--tls'))
  assert.ok(!script({ address: 'tls://h:1', tls, workerAddress: 'tcp://h:1' }).includes('--tls'))
})

test('what is no file cannot be passed on to workers', () => {
  assert.throws(() => script({ address: 'tls://h:1', tls: { ca: '-----BEGIN' } }), {
    message: 'option tls.ca: workers need the path of a file, not its content',
  })
})

test('words are quoted for a shell', () => {
  const word = `it's $HOME "x" \`y\` \\`
  assert.equal(wordsOf(`exec ${quoted(word)}`).join('\n'), word)
  assert.equal(filled('{a} {b} {a}', { a: '1' }), '1 {b} 1')
})

test('the directory of the output of Slurm may have an unusual name', () => {
  const options = { provider: 'slurm', address: 'tcp://h:1', name: 'n' } as const
  const outputDirectory = '/my logs/50% "a"'
  const script = slurmScript(checkAllocatorOptions({ ...options, outputDirectory }))
  const line = String.raw`#SBATCH --output="/my logs/50%% \"a\"/scaler-n-%A_%a.out"`
  assert.ok(script.split('\n').includes(line), script)
})

test('the script for Slurm', () => {
  const options = checkAllocatorOptions({
    provider: 'slurm',
    address: 'tcp://h:1',
    name: 'night',
    lifetimeMs: 3_600_000,
    partition: 'short',
    account: 'a1',
    sbatchArgs: '--mem=4G',
    outputDirectory: '/logs',
    preamble: 'module load node',
    workerCommand: 'run {allocation} {address}',
  })
  assert.equal(
    slurmScript(options),
    `#!/bin/sh
#SBATCH --job-name=scaler-night
#SBATCH --output=/logs/scaler-night-%A_%a.out
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --time=61
#SBATCH --partition=short
#SBATCH --account=a1
#SBATCH --mem=4G

if [ -z "$SLURM_JOB_END_TIME" ]; then
  end="$(SLURM_TIME_FORMAT=standard squeue --noheader --jobs="$SLURM_JOB_ID" --format=%e)"
  export SLURM_JOB_END_TIME="$(date --date="$end" +%s 2>/dev/null)"
fi
module load node
exec run "night/\${SLURM_ARRAY_JOB_ID}_\${SLURM_ARRAY_TASK_ID}" tcp://h:1
`,
  )
})

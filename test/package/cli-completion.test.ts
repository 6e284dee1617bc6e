// The completion scripts in real shells, as far as these are installed.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { runCommand } from './command.js'

/** The script of a shell in a file, with another file beside it that can be offered. */
async function scriptFile(t: TestContext, shell: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'completion-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const end = await runCommand(t, 'scaler', ['completion', shell])
  assert.deepEqual([end.code, end.stderr], [0, ''])
  writeFileSync(join(folder, '_scaler'), end.stdout)
  writeFileSync(join(folder, 'my script.mjs'), '')
  return join(folder, '_scaler')
}

/** Why the tests of a shell are skipped, if it is not installed. */
function absence(shell: string): string | false {
  const isThere = spawnSync(shell, ['-c', 'exit 0']).status === 0
  return isThere ? false : `there is no ${shell} here`
}

/** The output of a shell on stdout; stderr must be empty. */
function shellOutput(shell: string, args: readonly string[], cwd: string): string {
  const { stdout, stderr, status } = spawnSync(shell, args, { cwd, encoding: 'utf8' })
  assert.deepEqual([status, stderr], [0, ''])
  return stdout
}

/** Lines as they are typed (the last word is to be completed), and the words offered for each. */
const OFFERS: readonly (readonly [readonly string[], readonly string[]])[] = [
  [
    ['scaler', 's'],
    ['scheduler', 'stack', 'status', 'submit', 'symphony-cluster'],
  ],
  [['scaler', 'help', 'doc'], ['doctor']],
  [
    ['scaler', 'scheduler', '--worker-'],
    ['--worker-silence-seconds', '--worker-timeout-seconds'],
  ],
  [['scaler_scheduler', '--prot'], ['--protected']],
  [
    ['scaler_worker', '--event-loop', ''],
    ['builtin', 'uvloop'],
  ],
  [['scaler', 'cluster', '-el', 'u'], ['uvloop']],
  [['scaler', 'scheduler', '-wt', '5', '--logging-level', 'D'], ['DEBUG']],
  [
    ['scaler', 'completion', ''],
    ['bash', 'fish', 'zsh'],
  ],
  [['scaler', 'config', 'cluster', '--num'], ['--num-of-workers']],
  [['scaler', 'config', 'd'], ['doctor']],
  [['scaler', 'run', '-n', '2', 'my'], ['my script.mjs']],
  [['scaler_cluster', '--config', 'my'], ['my script.mjs']],
]

const PRINT_BASH = `
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=\${#COMP_LINE}
"$(complete -p "$1" | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
((\${#COMPREPLY[@]} == 0)) || printf '%s\\n' "\${COMPREPLY[@]}"
`

for (const [words, offers] of OFFERS) {
  const skip = absence('bash')
  test(`bash completes ${JSON.stringify(words.join(' '))}`, { skip }, async (t) => {
    const path = await scriptFile(t, 'bash')
    const args = ['--norc', '-c', PRINT_BASH, 'bash', path, ...words]
    const lines = shellOutput('bash', args, join(path, '..')).split('\n').slice(0, -1)
    assert.deepEqual(lines.toSorted(), offers)
  })
}

test('bash completes a value behind =', { skip: absence('bash') }, async (t) => {
  const path = await scriptFile(t, 'bash')
  const words = ['scaler', 'scheduler', '--event-loop', '=', 'u']
  const args = ['--norc', '-c', PRINT_BASH, 'bash', path, ...words]
  assert.equal(shellOutput('bash', args, join(path, '..')), 'uvloop\n')
})

for (const [words, offers] of OFFERS) {
  const skip = absence('fish')
  test(`fish completes ${JSON.stringify(words.join(' '))}`, { skip }, async (t) => {
    const path = await scriptFile(t, 'fish')
    const code = `source ${path}; complete -C ${JSON.stringify(words.join(' '))}`
    const lines = shellOutput('fish', ['--no-config', '-c', code], join(path, '..')).split('\n')
    const offered = lines.slice(0, -1).map((line) => line.replace(/\t.*/, '').replaceAll('\\', ''))
    assert.deepEqual(offered.toSorted(), offers)
  })
}

test(
  'zsh accepts its script, and calls it for all our names',
  { skip: absence('zsh') },
  async (t) => {
    const path = await scriptFile(t, 'zsh')
    const folder = join(path, '..')
    shellOutput('zsh', ['-f', '-n', path], folder)
    const load = [
      'autoload -U compinit && compinit -u -D',
      'print $_comps[scaler] $_comps[scaler_scheduler] $_comps[scaler_cluster] $_comps[scaler_worker]',
    ]
    const all = '_scaler _scaler _scaler _scaler\n'
    const fromPath = `fpath=(${folder} $fpath); ${load.join('; ')}`
    assert.equal(shellOutput('zsh', ['-f', '-c', fromPath], folder), all)
    const evaluated = `${load[0]}; eval "$(cat ${path})"; ${load[1]}`
    assert.equal(shellOutput('zsh', ['-f', '-c', evaluated], folder), all)
  },
)

// Installs Python Scaler into `.venv-interop/`, for the tests against it, if Python is available.
// To run it manually: `node scripts/python-venv.mjs`. Quick if it is already installed.

import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isCi } from './ci.mjs'
import { ROOT } from './paths.mjs'
import { run } from './process.mjs'

const PACKAGE = 'scaler==1.9.9'
const FOLDER = join(ROOT, '.venv-interop')
/**
 * Written last: what is in the folder. If it is missing or differs, everything is installed again.
 */
const STAMP = join(FOLDER, 'made-of')
const IS_NEW_ENOUGH = 'import sys; sys.exit(0 if sys.version_info >= (3, 9) else 1)'

/** Returns undefined if the folder is complete, else why it cannot be made, in a few words. */
export async function ensurePythonVenv() {
  if (isMade()) return undefined
  const python = await findPython()
  if (python === undefined) return 'Python >= 3.9 not found'
  console.log(`installing ${PACKAGE} for the tests against it`)
  rmSync(FOLDER, { recursive: true, force: true })
  const steps = [
    [python, '-m', 'venv', FOLDER],
    [pythonOf(FOLDER), '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', PACKAGE],
    [pythonOf(FOLDER), '-c', 'import scaler'],
  ]
  for (const [command, ...args] of steps) {
    const { code, output } = await run(command, args, { capture: true })
    if (code !== 0) return `${[command, ...args].join(' ')}: ${lastLine(output)}`
  }
  writeFileSync(STAMP, PACKAGE)
  return undefined
}

function isMade() {
  return (
    existsSync(STAMP) && readFileSync(STAMP, 'utf8') === PACKAGE && existsSync(pythonOf(FOLDER))
  )
}

async function findPython() {
  for (const command of ['python3', 'python']) {
    try {
      const { code } = await run(command, ['-c', IS_NEW_ENOUGH], { capture: true })
      if (code === 0) return command
    } catch {
      // The command does not exist.
    }
  }
  return undefined
}

function pythonOf(folder) {
  return process.platform === 'win32'
    ? join(folder, 'Scripts', 'python.exe')
    : join(folder, 'bin', 'python')
}

function lastLine(text) {
  return text.trimEnd().split('\n').at(-1) ?? ''
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const why = await ensurePythonVenv()
  if (why !== undefined) {
    console.log(`the tests against Python Scaler will be skipped: ${why}`)
    if (isCi()) process.exitCode = 1
  }
}

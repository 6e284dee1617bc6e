// What differs on a machine that runs the tests for everybody: nothing may be missing there, so
// what the tests need beside Node is installed first.

import { run } from './process.mjs'

/** Whether this is such a machine: the environment variable CI, which all services set. */
export function isCi() {
  const { CI } = process.env
  return CI !== undefined && CI !== '' && CI !== 'false' && CI !== '0'
}

/** Installs the `capnp` tool, the reference implementation of the encoding, where that can be. */
export async function ensureCapnp() {
  if (await hasCommand('capnp')) return
  const isRootOfDebian = process.getuid?.() === 0 && (await hasCommand('apt-get'))
  if (!isCi() || !isRootOfDebian) return
  console.log('installing capnproto (apt-get)')
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'capnproto']]) {
    const { code, output } = await run('apt-get', ['-qq', ...args], { capture: true, env })
    if (code !== 0) console.log(output)
  }
}

async function hasCommand(command) {
  try {
    return (await run(command, ['--version'], { capture: true })).code === 0
  } catch {
    return false
  }
}

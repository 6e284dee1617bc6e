// Makes `.peers/`, where the matrix of environments finds other versions of Node and the tools
// that transform code. `node scripts/peers.mjs` does it by hand. Quick once it is made. No install
// scripts are run.

import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isCi } from './ci.mjs'
import { ROOT } from './paths.mjs'
import { run } from './process.mjs'

const FOLDER = join(ROOT, '.peers')
/** What is installed for each tool: `package.json` and `package-lock.json`. */
const TOOLS = join(ROOT, 'test/matrix/peer')
/** One version of each line that is supported, and the newest. */
const NODES = { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }
const OWN_MAJOR = process.versions.node.split('.')[0]
/** Without a network this should not take minutes; where nothing may be missing, it may. */
const HASTE = isCi() ? [] : ['--fetch-retries=1', '--fetch-retry-mintimeout=1000']
const NPM = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...HASTE]

/** Installs what is missing. Returns what cannot be installed and why, a few words for each. */
export async function ensurePeers() {
  const nodes = Object.entries(NODES).filter(([major]) => major !== OWN_MAJOR)
  const peers = [
    ...['tools', 'vitest-4', 'vitest-5'].map(toolPeer),
    ...nodes.map(([major, version]) => nodePeer(major, version)),
  ].filter((peer) => !isMade(peer))
  if (peers.length === 0) return []
  console.error(`installing ${peers.map(({ what }) => what).join(', ')} for the matrix`)
  const reasons = await Promise.all(peers.map(make))
  return reasons.filter((reason) => reason !== undefined)
}

/** Tools come with the packages that they need, all in exact versions. */
function toolPeer(name) {
  const source = join(TOOLS, name)
  return {
    what: name === 'tools' ? 'tsx and esbuild' : name.replace('-', ' '),
    folder: join(FOLDER, name),
    madeOf: readFileSync(join(source, 'package-lock.json'), 'utf8'),
    async install(folder) {
      cpSync(source, folder, { recursive: true })
      await npm(['ci'], folder)
    },
  }
}

/** npm has the programs of Node as packages, one for each platform; only the program is kept. */
function nodePeer(major, version) {
  const platform = `${process.platform}-${process.arch}`
  const name = platform === 'darwin-arm64' ? `node-bin-${platform}` : `node-${platform}`
  const program = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node'
  return {
    what: `Node ${major}`,
    folder: join(FOLDER, `node-${major}`),
    madeOf: `${name}@${version}`,
    async install(folder) {
      await npm(['install', '--no-save', '--no-package-lock', `${name}@${version}`], folder)
      renameSync(join(folder, 'node_modules', name, program), join(folder, 'node'))
      copyFileSync(join(folder, 'node_modules', name, 'LICENSE'), join(folder, 'LICENSE'))
      rmSync(join(folder, 'node_modules'), { recursive: true })
      const { code, output } = await run(join(folder, 'node'), ['--version'], { capture: true })
      if (code !== 0 || output.trim() !== `v${version}`) throw new Error(`it says ${output}`)
    },
  }
}

async function npm(args, folder) {
  const { code, output } = await run('npm', [...args, ...NPM, '--prefix', folder], {
    capture: true,
  })
  if (code !== 0) throw new Error(output.trim().split('\n')[0] ?? `npm ended with ${code}`)
}

/** The stamp is written last: without it, or with another content, all is made anew. */
async function make({ what, folder, madeOf, install }) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  try {
    await install(folder)
    writeFileSync(stampOf(folder), madeOf)
    return undefined
  } catch (error) {
    return `${what} (${error.message})`
  }
}

function isMade({ folder, madeOf }) {
  return existsSync(stampOf(folder)) && readFileSync(stampOf(folder), 'utf8') === madeOf
}

function stampOf(folder) {
  return join(folder, 'made-of')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const missing = await ensurePeers()
  if (missing.length > 0) {
    console.log(`environments of the matrix will be left out: ${missing.join('; ')}`)
    if (isCi()) process.exitCode = 1
  }
}

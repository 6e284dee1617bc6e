// A project that has the package as it is published, with only its run-time dependencies.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { ROOT } from './command.js'
import { readManifest } from './local-registry.kit.js'
import { unpackInto } from './unpacked-package.kit.js'

/** The outcome of a program. */
export interface Outcome {
  readonly code: number | null
  /** Of stdout and stderr, as it arrived. */
  readonly output: string
}

/** A folder that is removed with the test. */
export class PackedProject {
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Creates it, with files by their paths. */
  static async make(
    t: TestContext,
    files: Readonly<Record<string, string>>,
  ): Promise<PackedProject> {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'pp-')))
    t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
    const project = new PackedProject(folder)
    await unpackInto(join(folder, 'node_modules/scaler-ts'))
    const { dependencies = {} } = await readManifest()
    for (const name of Object.keys(dependencies))
      await project.link(name, join(ROOT, 'node_modules', name))
    await project.write(files)
    return project
  }

  /** Writes files by their paths. */
  async write(files: Readonly<Record<string, string>>): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      const target = join(this.folder, path)
      await mkdir(dirname(target), { recursive: true })
      await writeFile(target, text)
    }
  }

  /** Links a package from another folder into the project. */
  async link(name: string, from: string): Promise<void> {
    const place = join(this.folder, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(from, place, 'junction')
  }

  /** Runs Node to its end. */
  async node(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...inherited } = process.env
    const child = spawn(process.execPath, args, {
      cwd: this.folder,
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    }
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, output }
  }
}

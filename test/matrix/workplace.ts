// The folder of a run of the matrix: the package as if it were installed, the packages of the
// cases, and the program's files in every requested form.

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Tree } from './environment.js'
import { makeTree } from './tree.js'

/** The root of the repository. */
export const ROOT: string = findRoot(dirname(fileURLToPath(import.meta.url)))

function findRoot(folder: string): string {
  try {
    const { name } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly name?: string
    }
    if (name === 'scaler-ts') return folder
  } catch {
    // Further up.
  }
  return findRoot(dirname(folder))
}

/** One run's folder. */
export class Workplace {
  /** Packages of the program cannot be found here: the far side runs here. */
  readonly farFolder: string
  /** For temporary files of all processes. */
  readonly tmpFolder: string
  readonly #root: string
  readonly #app: string
  readonly #trees = new Map<string, Promise<string>>()
  #reports = 0

  /** `dist` is the compiled package under test. */
  constructor(dist: string) {
    // Short, because the path of a unix socket has a limit of some 100 bytes.
    this.#root = mkdtempSync(join(realpathSync(tmpdir()), 'mx-'))
    this.#app = join(this.#root, 'app')
    this.farFolder = join(this.#root, 'far')
    this.tmpFolder = join(this.#root, 'tmp')
    for (const folder of [this.farFolder, this.tmpFolder]) mkdirSync(folder)
    this.#installPackages(dist)
  }

  /** The folder with the program's files; created on first use. */
  folderOf(tree: Tree): Promise<string> {
    const known = this.#trees.get(tree.name)
    if (known !== undefined) return known
    const folder = join(this.#app, tree.name)
    const made = makeTree(tree, join(ROOT, 'test/matrix/program'), folder).then(() => folder)
    this.#trees.set(tree.name, made)
    return made
  }

  /** A path for a report. */
  newReport(): string {
    this.#reports += 1
    return join(this.#root, `report-${this.#reports}.json`)
  }

  /** Removes everything. */
  remove(): void {
    rmSync(this.#root, { recursive: true, force: true })
  }

  #installPackages(dist: string): void {
    const modules = join(this.#app, 'node_modules')
    // Copies, not links: for some tools it makes a difference whether something is inside
    // node_modules.
    const own = join(modules, 'scaler-ts')
    const isForUse = (path: string): boolean => !/\.(test|kit)\.|\.map$|\.tsbuildinfo$/.test(path)
    cpSync(dist, join(own, 'dist'), { recursive: true, filter: isForUse })
    // The parts that the package does not export.
    cpSync(join(ROOT, 'lib'), join(own, 'lib'), { recursive: true, filter: isForUse })
    cpSync(join(ROOT, 'package.json'), join(own, 'package.json'))
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      readonly dependencies: Readonly<Record<string, string>>
    }
    for (const name of Object.keys(dependencies)) {
      const place = join(own, 'node_modules', name)
      mkdirSync(dirname(place), { recursive: true })
      symlinkSync(join(ROOT, 'node_modules', name), place, 'junction')
    }
    for (const name of readdirSync(join(ROOT, 'test/matrix/package'))) {
      const place = join(modules, `matrix-${name}`)
      cpSync(join(ROOT, 'test/matrix/package', name), place, { recursive: true })
    }
    const kit = join(modules, 'matrix-kit')
    cpSync(fileURLToPath(new URL('./kit/', import.meta.url)), kit, { recursive: true })
    const description = { name: 'matrix-kit', type: 'module', exports: './run-cases.js' }
    writeFileSync(join(kit, 'package.json'), JSON.stringify(description))
  }
}

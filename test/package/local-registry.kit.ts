// An npm registry on this machine with this package, its dependencies, and packages that tests
// create: the installers of a user get everything in their ordinary way, and need no network.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from './command.js'

const execute = promisify(execFile)

/** The parts of a package.json that are used. */
export interface Manifest {
  readonly name: string
  readonly version: string
  readonly main: string
  readonly types: string
  readonly bin: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | ExportConditions>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly scripts?: Readonly<Record<string, string>>
}

/** The targets of an entry point, by condition. */
export interface ExportConditions {
  readonly [condition: string]: string | ExportConditions
}

/** The package.json of a folder. */
export async function readManifest(folder: string = ROOT): Promise<Manifest> {
  return JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** npm's report about a package that it has packed. */
export interface PackedPackage {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string; readonly size: number }[]
}

/** Packs the packages in some folders. No scripts are run. */
export async function pack(
  folders: readonly string[],
  ...args: readonly string[]
): Promise<PackedPackage[]> {
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { stdout } = await execute(
    npm,
    ['pack', '--json', '--ignore-scripts', ...args, ...folders],
    {
      cwd: ROOT,
      shell: process.platform === 'win32',
      maxBuffer: 64 * 1024 ** 2,
    },
  )
  return JSON.parse(stdout) as PackedPackage[]
}

/** The folders of this package and all its direct and indirect dependencies. */
export async function installedFolders(): Promise<string[]> {
  const folders = [ROOT]
  for (const folder of folders) {
    for (const name of Object.keys((await readManifest(folder)).dependencies ?? {})) {
      const path = join(ROOT, 'node_modules', name)
      if (!folders.includes(path)) folders.push(path)
    }
  }
  return folders
}

/** A package that a test creates: its files by path. */
export interface MadePackage {
  readonly name: string
  readonly manifest?: Readonly<Record<string, unknown>>
  readonly files: Readonly<Record<string, string>>
}

/** Serves packages; a folder of temporary files is its own. */
export class LocalRegistry {
  readonly #server: Server
  readonly #folder: string
  /** The tarballs by name of the package. */
  readonly #packages = new Map<string, { readonly manifest: Manifest; readonly tarball: Buffer }>()

  private constructor(server: Server, folder: string) {
    this.#server = server
    this.#folder = folder
  }

  /** Starts with this package, its dependencies, and `made`. */
  static async start(made: readonly MadePackage[] = []): Promise<LocalRegistry> {
    const folder = await mkdtemp(join(tmpdir(), 'registry-'))
    const server = createServer()
    const registry = new LocalRegistry(server, folder)
    server.on('request', ({ url }, response) => registry.#answer(url ?? '/', response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const folders = await installedFolders()
    for (const each of made) folders.push(await registry.#write(each))
    await registry.#add(folders)
    return registry
  }

  /** Its URL, without a slash at the end. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Ends it, and removes its files. */
  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    await rm(this.#folder, { recursive: true })
  }

  async #write({ name, manifest, files }: MadePackage): Promise<string> {
    const folder = join(this.#folder, 'made', name)
    await mkdir(folder, { recursive: true })
    const text = JSON.stringify({ name, version: '1.0.0', ...manifest })
    for (const [path, content] of Object.entries({ ...files, 'package.json': text })) {
      await writeFile(join(folder, path), content)
    }
    return folder
  }

  async #add(folders: readonly string[]): Promise<void> {
    const packed = await pack(folders, '--pack-destination', this.#folder)
    for (const [index, { filename }] of packed.entries()) {
      const tarball = await readFile(join(this.#folder, filename))
      const manifest = await readManifest(folders[index])
      this.#packages.set(manifest.name, { manifest, tarball })
    }
  }

  #answer(url: string, response: ServerResponse): void {
    const path = decodeURIComponent(new URL(url, this.url).pathname).slice(1)
    const [name = '', file] = path.split('/-/')
    const found = this.#packages.get(name)
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}')
      return
    }
    if (file !== undefined) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(found.tarball)
      return
    }
    const { version } = found.manifest
    const integrity = createHash('sha512').update(found.tarball).digest('base64')
    const dist = {
      tarball: `${this.url}/${name}/-/${name.split('/').at(-1)}-${version}.tgz`,
      integrity: `sha512-${integrity}`,
      shasum: createHash('sha1').update(found.tarball).digest('hex'),
    }
    const versions = { [version]: { ...found.manifest, dist } }
    const time = { created: LONG_AGO, modified: LONG_AGO, [version]: LONG_AGO }
    const document = { name, 'dist-tags': { latest: version }, versions, time }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  }
}

/** Installers may refuse recent packages. */
const LONG_AGO = '2025-01-01T00:00:00.000Z'

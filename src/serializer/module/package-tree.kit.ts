// For tests: a folder with an application and the packages that it has installed.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'

/** Files that exist until the end of a test. */
export class PackageTree {
  readonly folder: string

  constructor(test: TestContext, files: Readonly<Record<string, string>> = {}) {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), 'scaler-modules-')))
    test.after(() => rmSync(this.folder, { recursive: true, force: true }))
    this.write(files)
  }

  write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(this.path(path)), { recursive: true })
      writeFileSync(this.path(path), text)
    }
  }

  /** Installs a package in `node_modules` of a folder. */
  install(
    name: string,
    json: Readonly<Record<string, unknown>>,
    files: Readonly<Record<string, string>>,
    folder = 'app',
  ): void {
    const place = `${folder}/node_modules/${name}`
    this.write({ [`${place}/package.json`]: JSON.stringify({ name, version: '1.0.0', ...json }) })
    for (const [file, text] of Object.entries(files)) this.write({ [`${place}/${file}`]: text })
  }

  link(path: string, target: string): void {
    mkdirSync(dirname(this.path(path)), { recursive: true })
    symlinkSync(this.path(target), this.path(path), 'dir')
  }

  path(path: string): string {
    return join(this.folder, path)
  }

  url(path: string): string {
    return pathToFileURL(this.path(path)).href
  }
}

// Measures what installing the package adds: the number of packages and bytes. To print it:
// `node scripts/size.mjs`, with `--json` as JSON, with `--no-build` for what is already compiled.
// README.md has the figures.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './paths.mjs'
import { build } from './prepare.mjs'
import { runOrExit } from './process.mjs'

/** Bytes in a megabyte, as npm counts. */
const MEGABYTE = 1e6

/** This package and all its dependencies: `{ name, files, packedBytes, unpackedBytes }` each. */
export async function measureSizes() {
  const folders = [ROOT]
  for (const folder of folders) {
    const { dependencies = {} } = manifestOf(folder)
    for (const name of Object.keys(dependencies)) {
      const path = join(ROOT, 'node_modules', name)
      if (!folders.includes(path)) folders.push(path)
    }
  }
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts', '--loglevel=silent']
  const packed = JSON.parse(await runOrExit('npm', [...args, ...folders], { capture: true }))
  return packed.map(({ name, entryCount, size, unpackedSize }) => ({
    name,
    files: entryCount,
    packedBytes: size,
    unpackedBytes: unpackedSize,
  }))
}

function manifestOf(folder) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}

function lineOf({ name, files, packedBytes, unpackedBytes }) {
  const [packed, unpacked] = [packedBytes, unpackedBytes].map((bytes) =>
    (bytes / MEGABYTE).toFixed(2).padStart(6),
  )
  const count = `${String(files).padStart(5)} files`
  return `${name.padEnd(20)} ${count} ${unpacked} MB (packed ${packed} MB)`
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  if (!process.argv.includes('--no-build')) await build()
  const sizes = await measureSizes()
  if (process.argv.includes('--json')) {
    console.log(JSON.stringify(sizes))
  } else {
    for (const size of sizes) console.log(lineOf(size))
    const sum = (key) => sizes.reduce((total, size) => total + size[key], 0)
    const keys = ['files', 'packedBytes', 'unpackedBytes']
    const total = Object.fromEntries(keys.map((key) => [key, sum(key)]))
    console.log(lineOf({ name: `${sizes.length - 1} dependencies`, ...total }))
  }
}

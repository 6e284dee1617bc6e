// Writes the entry points in `dist/`: of the library for `import` and `require`, of the commands,
// and of the processes that the library starts. Each only names what `dist/load.cjs` loads.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { ROOT } from './paths.mjs'

const DIST = join(ROOT, 'dist')

/** `exportsOf`: the names that the library exports, by entry point. Returns the files' names. */
export function writeEntries(exportsOf) {
  const files = new Map()
  for (const [name, { file, names }] of Object.entries(exportsOf)) {
    files.set(`${name}.cjs`, requireText(file, names))
    files.set(`${name}.js`, importText(name, names))
  }
  // Their names end in `.js`, as those of commands usually do.
  files.set('cli/package.json', '{ "type": "commonjs" }\n')
  for (const path of commands()) files.set(path, commandText(basename(path, '.js')))
  files.set('worker/processor-main.cjs', PROCESSOR)
  files.set('cluster/embedded-main.cjs', PART)
  for (const [name, text] of files) {
    mkdirSync(dirname(join(DIST, name)), { recursive: true })
    writeFileSync(join(DIST, name), text)
  }
  return files.keys()
}

function commands() {
  const { bin } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return new Set(Object.values(bin).map((path) => path.replace(/^dist\//, '')))
}

/** The `require` that Node does not call shows other tools which files belong to this one. */
function requireText(file, names) {
  return `'use strict'
const { load } = require('./load.cjs')
const {
  ${names.join(',\n  ')},
} = load(module, './${file}', 'client') ?? require('./${file}')
module.exports = {
  ${names.join(',\n  ')},
}
`
}

function importText(name, names) {
  const list = names.join(',\n  ')
  return `import library from './${name}.cjs'
export const {
  ${list},
} = library
`
}

function commandText(name) {
  const called = name.replaceAll('-', '_')
  return `#!/usr/bin/env node
'use strict'
const { load } = require('../load.cjs')
const { runExecutable } = load(module, '../cli.cjs', '${name}') ?? require('../cli.cjs')
void runExecutable('${called}')
`
}

const PROCESSOR = `'use strict'
const { load } = require('../load.cjs')
void (load(module, '../processor.cjs', 'processor') ?? require('../processor.cjs'))
`

const PART = `'use strict'
const [, , role] = process.argv
const { load } = require('../load.cjs')
const { runPart } = load(module, '../base.cjs', role) ?? require('../base.cjs')
void runPart(role)
`

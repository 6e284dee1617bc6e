// Generates code and tables from the schemas in protocol/: the readers and writers in
// src/wire/generated, and the tables in docs/protocol.md. With --check it only checks that the
// committed files are up to date (exit code 1 if not). Needs the `capnp` tool.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format, resolveConfig } from 'prettier'
import { updateDocument } from './generate-wire/document.mjs'
import { emitFile } from './generate-wire/emit-file.mjs'
import { hasCapnpTool, readSchemas } from './generate-wire/schema.mjs'

const DOCUMENT = 'docs/protocol.md'
const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** All files that this script generates, with their text. */
async function outputs() {
  const model = readSchemas(join(ROOT, 'protocol'))
  const files = model.files.map((file) => [
    `src/wire/generated/${file.name}.ts`,
    emitFile(file, model),
  ])
  files.push([DOCUMENT, updateDocument(readFileSync(join(ROOT, DOCUMENT), 'utf8'), model)])
  return Promise.all(
    files.map(async ([name, text]) => {
      const path = join(ROOT, name)
      const config = await resolveConfig(path)
      return { name, path, text: await format(text, { ...config, filepath: path }) }
    }),
  )
}

function textOf(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

const isCheck = process.argv.includes('--check')
if (!hasCapnpTool()) {
  console.log('generate-wire: skipped, the capnp tool is not installed')
  process.exitCode = isCheck ? 0 : 1
} else {
  const stale = (await outputs()).filter(({ path, text }) => textOf(path) !== text)
  for (const { name, path, text } of stale) {
    if (isCheck) console.error(`generate-wire: ${name} is out of date; run \`npm run generate\``)
    else writeFileSync(path, text)
  }
  if (isCheck && stale.length > 0) process.exitCode = 1
}

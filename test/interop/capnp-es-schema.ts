// Our schemas compiled by capnp-es, an implementation that is independent of ours: done in a
// temporary folder at test time, so that nothing of it is kept.

import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript'
import { repositoryPath, type Schema } from './capnp-tool.js'

/** A struct, list or byte string of capnp-es; its properties depend on the schema. */
export interface EsObject {
  readonly [name: string]: unknown
}

/** A class of capnp-es for a struct. */
export type EsClass = new (...args: never[]) => EsObject

/** The classes that capnp-es has generated for the structs in `message.capnp`, by name. */
export type EsSchema = Readonly<Record<string, EsClass>>

const FILES = ['annotation', 'common', 'status', 'message']

/** Compiles the schemas and loads them. Nothing of it stays on the disk. */
export async function loadEsSchema(schema: Schema): Promise<EsSchema> {
  const folder = mkdtempSync(join(tmpdir(), 'scaler-capnp-es-'))
  try {
    compile(schema, folder)
    return (await import(pathToFileURL(join(folder, 'message.js')).href)) as EsSchema
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function compile(schema: Schema, folder: string): void {
  cpSync(schema.folder, folder, { recursive: true })
  symlinkSync(repositoryPath('node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  const plugin = './node_modules/capnp-es/dist/compiler/capnpc-ts.mjs'
  const sources = FILES.map((file) => `${file}.capnp`)
  const result = spawnSync('capnp', ['compile', `-o${plugin}`, ...sources], {
    cwd: folder,
    env: { ...process.env, PWD: folder },
    encoding: 'utf8',
  })
  if (result.status !== 0) throw new Error(`capnp-es: ${result.stderr}`)
  for (const file of FILES) {
    const source = readFileSync(join(folder, `${file}.ts`), 'utf8')
    const compilerOptions = { target: ScriptTarget.ES2022, module: ModuleKind.ESNext }
    writeFileSync(
      join(folder, `${file}.js`),
      transpileModule(source, { compilerOptions }).outputText,
    )
  }
}

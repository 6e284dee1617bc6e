// Runs the programs of the pages in docs/. What stands in comments behind `console.log`, and in
// lines of comments after it, is what they must print.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import ts from 'typescript'

const HERE = dirname(fileURLToPath(import.meta.url))
const DEADLINE_MS = 60_000

interface Program {
  readonly heading: string
  readonly text: string
}

/** All pages but that of the protocol, which has no programs. */
function readDocuments(): string[] {
  for (let folder = HERE; folder !== dirname(folder); folder = dirname(folder)) {
    const docs = join(folder, 'docs')
    if (!existsSync(join(docs, 'protocol.md'))) continue
    const names = readdirSync(docs).filter((name) => name.endsWith('.md') && name !== 'protocol.md')
    return names.map((name) => readFileSync(join(docs, name), 'utf8'))
  }
  return assert.fail('there is no folder docs')
}

function programsOf(document: string): Program[] {
  const programs: Program[] = []
  for (const section of document.split(/^## /m).slice(1)) {
    const heading = section.slice(0, section.indexOf('\n'))
    for (const [, text = ''] of section.matchAll(/^```ts\n(.*?)^```$/gms)) {
      programs.push({ heading, text })
    }
  }
  return programs
}

/** The comments behind `console.log`, and lines of comments that follow one. */
function expectedOutput(text: string): string[] {
  const lines: string[] = []
  for (const line of text.split('\n')) {
    const comment = /^\s*\/\/ (.*)$/.exec(line)?.[1] ?? /console\.log\(.*\/\/ (.*)$/.exec(line)?.[1]
    if (comment !== undefined) lines.push(comment)
  }
  return lines
}

const PROGRAMS = readDocuments().flatMap(programsOf)

test('the documents have programs', () => {
  assert(PROGRAMS.length >= 12)
})

for (const { heading, text } of PROGRAMS) {
  test(`the program under "${heading}" prints what it says`, async () => {
    const { ES2022 } = ts.ScriptTarget
    const compilerOptions = { target: ES2022, module: ts.ModuleKind.ESNext }
    const folder = mkdtempSync(join(HERE, 'docs-'))
    try {
      const path = join(folder, 'program.mjs')
      writeFileSync(path, ts.transpileModule(text, { compilerOptions }).outputText)
      const options = { timeout: DEADLINE_MS, killSignal: 'SIGKILL' } as const
      const { stdout } = await promisify(execFile)(process.execPath, [path], options)
      assert.deepEqual(stdout.trimEnd().split('\n'), expectedOutput(text))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

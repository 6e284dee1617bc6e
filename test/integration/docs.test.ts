// Runs the programs of docs/client.md and docs/functions.md. What stands in comments behind `console.log`, and in lines of
// comments after it, is what they must print.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
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

function readDocument(name: string): string {
  for (let folder = HERE; folder !== dirname(folder); folder = dirname(folder)) {
    const path = join(folder, 'docs', name)
    if (existsSync(path)) return readFileSync(path, 'utf8')
  }
  return assert.fail(`docs/${name} is not there`)
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

const PROGRAMS = ['client.md', 'functions.md'].flatMap((name) => programsOf(readDocument(name)))

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

// Runs the blocks of a page, each step as a separate test.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import type { TestContext } from 'node:test'
import ts from 'typescript'
import { expectedOutput, mismatch } from './expectation.js'
import type { Page } from './pages.js'
import { stepsOf, type Exchange, type Foreign, type Step } from './steps.js'
import { Workshop } from './workshop.js'

const COMPILER_OPTIONS = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext }

/** Runs a page in a separate folder. Returns the number of its steps. */
export async function runPage(t: TestContext, page: Page): Promise<number> {
  const steps = stepsOf(page.blocks)
  const workshop = await Workshop.open()
  try {
    for (const [index, step] of steps.entries()) {
      await t.test(`${page.path}: ${step.title}: ${titleOf(step)}`, () =>
        runStep(workshop, step, index),
      )
    }
  } finally {
    await workshop.close()
  }
  return steps.length
}

function titleOf(step: Step): string {
  switch (step.kind) {
    case 'program':
      return 'the program prints what it says'
    case 'transcript':
      return 'the commands write what it says'
    case 'script':
      return 'the commands work'
    case 'file':
      return `${step.name} is put in place`
    case 'settings':
      return 'the settings are right'
    case 'foreign':
      return `the ${step.language} is well formed`
  }
}

async function runStep(workshop: Workshop, step: Step, index: number): Promise<void> {
  switch (step.kind) {
    case 'program':
      return runProgram(workshop, step.text, `program-${index}.mjs`)
    case 'transcript':
      for (const exchange of step.exchanges) await runExchange(workshop, exchange)
      return
    case 'script': {
      const { code, output } = await workshop.run(`set -e\n${step.text}`)
      return assert.equal(code, 0, output)
    }
    case 'file':
      workshop.write(step.name, step.text)
      return
    case 'settings':
      return checkSettings(workshop, step.text, `settings-${index}.toml`)
    case 'foreign':
      return checkForeign(step.language, step.text)
  }
}

async function runProgram(workshop: Workshop, text: string, name: string): Promise<void> {
  workshop.write(name, ts.transpileModule(text, { compilerOptions: COMPILER_OPTIONS }).outputText)
  const { code, output } = await workshop.run(`node ${name}`)
  assert.equal(code, 0, output)
  const { lines, loose } = expectedOutput(text)
  const written = output.trimEnd().split('\n')
  const ordered = written.filter((line) => !loose.includes(line))
  assert.deepEqual(written.filter((line) => loose.includes(line)).sort(), loose.sort())
  expectOutput(
    lines.map((line) => workshop.localize(line)),
    ordered.join('\n'),
    name,
  )
}

async function runExchange(workshop: Workshop, exchange: Exchange): Promise<void> {
  const { command, staysOpen, mayFail } = exchange
  const expected = exchange.expected.map((line) => workshop.localize(line))
  if (staysOpen) return workshop.keepRunning(command, expected)
  const { code, output } = await workshop.run(command)
  expectOutput(expected, output, command)
  if (!mayFail) assert.equal(code, 0, `${command}: ${output}`)
}

function expectOutput(expected: readonly string[], output: string, what: string): void {
  const difference = mismatch(expected, output)
  if (difference !== undefined) assert.fail(`${what}\n${difference}`)
}

/** Settings are correct if the command that they are for accepts them. */
async function checkSettings(workshop: Workshop, text: string, name: string): Promise<void> {
  workshop.write(name, text)
  const isLog = /^\[\[output\]\]/m.test(text)
  const how = isLog ? `scheduler --logging-config-file` : '--config'
  const { code, output } = await workshop.run(`scaler config ${how} ${name}`)
  assert.equal(code, 0, output)
}

function checkForeign(language: Foreign, text: string): void {
  switch (language) {
    case 'json':
      JSON.parse(text)
      return
    case 'bullmq': {
      const { diagnostics = [] } = ts.transpileModule(text, { reportDiagnostics: true })
      return assert.deepEqual(diagnostics, [])
    }
    case 'python': {
      const program = 'import ast, sys; ast.parse(sys.stdin.read())'
      const { error, status, stderr } = spawnSync('python3', ['-c', program], { input: text })
      if (error === undefined) assert.equal(status, 0, stderr.toString())
    }
  }
}

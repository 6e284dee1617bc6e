// The types of the programs in the pages are correct in a strict project.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import ts from 'typescript'
import { ROOT, userPages } from './pages.js'
import { stepsOf } from './steps.js'

/** The programs in TypeScript by paths inside of the package, which finds itself by its name. */
function programs(): Map<string, string> {
  const found = userPages().flatMap(({ path, blocks }) =>
    stepsOf(blocks.filter(({ language }) => language === 'ts')).map((step) => ({ path, step })),
  )
  const entries = found.map(({ path, step: { title, ...step } }): [string, string] => {
    const [, line = ''] = /line (\d+)/.exec(title) ?? []
    const text = 'text' in step ? step.text : ''
    return [join(ROOT, 'build', `${path.replaceAll('/', '-')}-${line}.ts`), text]
  })
  return new Map(entries)
}

function compilerOptions(): ts.CompilerOptions {
  const path = join(ROOT, 'tsconfig.base.json')
  const { config } = ts.readConfigFile(path, (file) => ts.sys.readFile(file)) as {
    config: { compilerOptions: object }
  }
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT)
  const loose = {
    erasableSyntaxOnly: false,
    noUnusedLocals: false,
    isolatedDeclarations: false,
    declaration: false,
  }
  return { ...options, ...loose, noEmit: true, composite: false, incremental: false }
}

test('the programs of the pages pass the strict type check', () => {
  const texts = programs()
  assert(texts.size > 30)
  const options = compilerOptions()
  const files = ts.createCompilerHost(options)
  const host: ts.CompilerHost = {
    ...files,
    fileExists: (path) => texts.has(path) || files.fileExists(path),
    readFile: (path) => texts.get(path) ?? files.readFile(path),
    getSourceFile: (path, target, ...rest) => {
      const text = texts.get(path)
      if (text === undefined) return files.getSourceFile(path, target, ...rest)
      return ts.createSourceFile(path, text, target)
    },
  }
  const program = ts.createProgram([...texts.keys()], options, host)
  const offences = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line + 1
    const text = ts.flattenDiagnosticMessageText(messageText, '\n')
    return `${file?.fileName ?? ''}, line ${line} of the program: ${text}`
  })
  assert.deepEqual(offences, [])
})

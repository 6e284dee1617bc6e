// The rules of the house style that neither formatter, linter nor compiler checks: names, opening
// comments, doc comments, long lines, and what entry points contain.
// Run by `npm run check`; prints one line per offence.

import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import ts from 'typescript'
import { ROOT, filesUnder } from './paths.mjs'

const MAX_COLUMNS = 100
const EMPTY_WORDS = new Set(['manager', 'controller', 'helper', 'util', 'utils', 'common', 'mixin'])

/**
 * The offences of one file, as lines `path:line: what`. `schemaNames` are the names of the wire
 * protocol, which are always allowed.
 */
export function textOffences(path, text, schemaNames = new Set()) {
  const offences = []
  const report = (line, what) => offences.push(`${path}:${line}: ${what}`)
  const isTest = /\.(test|kit)\./.test(path) || path.startsWith('test/')
  const emptyWord = emptyWordOf(basename(path))
  if (emptyWord !== undefined) report(1, `a meaningless word in the file name: ${emptyWord}`)
  if (!isTest) {
    if (!/^(#!.*\n)?\s*(\/\/|\/\*)/.test(text)) report(1, 'no opening comment')
    for (const [index, line] of text.split('\n').entries()) {
      if (line.length > MAX_COLUMNS) report(index + 1, `${line.length} columns`)
    }
  }
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const lineOf = (node) => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
  for (const statement of file.statements) {
    const what = exportOffence(statement, isTest) ?? entryPointOffence(path, statement)
    if (what !== undefined) report(lineOf(statement), what)
  }
  const walk = (node) => {
    const what = nameOffence(node, schemaNames)
    if (what !== undefined) report(lineOf(node), what)
    ts.forEachChild(node, walk)
  }
  walk(file)
  return offences
}

function exportOffence(statement, isTest) {
  if (ts.isExportAssignment(statement)) return 'default export'
  if (ts.isExportDeclaration(statement)) {
    const isStar = statement.exportClause === undefined
    return isStar ? 'export * hides what is exported' : undefined
  }
  const words = statement.modifiers?.map((modifier) => modifier.kind) ?? []
  if (!words.includes(ts.SyntaxKind.ExportKeyword)) return undefined
  if (words.includes(ts.SyntaxKind.DefaultKeyword)) return 'default export'
  if (isTest || isLaterOverload(statement)) return undefined
  return ts.getJSDocCommentsAndTags(statement).length === 0 ? 'export without comment' : undefined
}

/** The comment of an overloaded function belongs to its first signature. */
function isLaterOverload(statement) {
  if (!ts.isFunctionDeclaration(statement)) return false
  const { statements } = statement.parent
  const before = statements[statements.indexOf(statement) - 1]
  return (
    before !== undefined &&
    ts.isFunctionDeclaration(before) &&
    before.body === undefined &&
    before.name?.text === statement.name?.text
  )
}

/** Entry points are the files directly in src/: lists of public exports. */
function entryPointOffence(path, statement) {
  if (!/^src\/[^/]+\.ts$/.test(path)) return undefined
  const isReExport = ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined
  return isReExport ? undefined : 'an entry point only re-exports'
}

function nameOffence(node, schemaNames) {
  const { name } = node
  if (name === undefined || !ts.isIdentifier(name)) return undefined
  if (ts.isPropertyAccessExpression(node)) return undefined
  const isVariable = ts.isVariableDeclaration(node) || ts.isParameter(node)
  if (isVariable && name.text === 'data') return `\`data\` is a meaningless name`
  if (schemaNames.has(name.text)) return undefined
  const word = emptyWordOf(name.text)
  return word === undefined ? undefined : `${name.text}: \`${word}\` is a meaningless word`
}

/** The first meaningless word of a name: `fileUtil`, `http-helper.ts`, `TASK_MANAGER`. */
function emptyWordOf(name) {
  const words = name
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .split(/[^A-Za-z0-9]+/)
  return words.find((word) => EMPTY_WORDS.has(word.toLowerCase()))
}

function schemaNamesOf(paths) {
  const text = paths.map((path) => readFileSync(join(ROOT, path), 'utf8')).join('\n')
  return new Set(text.match(/[A-Za-z][A-Za-z0-9]*/g))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const schemaNames = schemaNamesOf(filesUnder('protocol', (path) => path.endsWith('.capnp')))
  const folders = ['src', 'page', 'test', 'bench', 'examples', 'scripts']
  const paths = folders
    .flatMap((folder) => filesUnder(folder, (path) => /\.(ts|mjs)$/.test(path)))
    .filter((path) => !path.startsWith('src/wire/generated'))
  const offences = paths.flatMap((path) =>
    textOffences(path, readFileSync(join(ROOT, path), 'utf8'), schemaNames),
  )
  for (const offence of offences) console.log(offence)
  process.exitCode = offences.length === 0 ? 0 : 1
}

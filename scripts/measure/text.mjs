// What `npm run measure` counts in texts: source files and their sizes, interfaces of callbacks,
// and phrases.

import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'
import { ROOT, filesUnder } from '../paths.mjs'

/** A file with fewer lines than this is seldom one whole idea. */
const SMALL_FILE_LINES = 50

/**
 * Phrases that a native technical writer would not use. `who` and `whose` are counted only after
 * the name of a process; `there is no` and `is no longer` are not counted.
 */
const PHRASES = [
  /\bso (many|much|long|often|few)\b/gi,
  /(?<!\bthere )\bis no\b(?! longer\b| more\b)/gi,
  /\b(is|are|was|were|be|been|being) told\b/gi,
  /\bnobody\b/gi,
  /\bwants\b/gi,
  /\bthe like\b/gi,
  /\b(that|which) (is|are) none\b/gi,
  /\b(process(es)?|(scheduler|worker|agent|client|processor|monitor|peer|program)s?) whos?e?\b/gi,
]

/** The source files, as `{ path, text }`: without tests, their kits, and generated code. */
export function sourceFiles() {
  const isSource = (path) => path.endsWith('.ts') && !/\.(test|kit)\.ts$|\/generated\//.test(path)
  return readAll(filesUnder('src', isSource))
}

/** The pages written by hand, as `{ path, text }`. */
export function pages() {
  const isPage = (path) => /^docs\/(internals\/)?[^/]+\.md$/.test(path)
  const names = ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md']
  return readAll([...names, ...filesUnder('docs', isPage)])
}

function readAll(paths) {
  return paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }))
}

/** Sizes of source files: `{ files, lines, largestFolder, smallFiles }`. */
export function sizesOf(sources) {
  const folders = new Map()
  let lines = 0
  let smallFiles = 0
  for (const { path, text } of sources) {
    const count = text.split('\n').length - 1
    lines += count
    if (count < SMALL_FILE_LINES) smallFiles += 1
    const folder = posix.dirname(path)
    folders.set(folder, (folders.get(folder) ?? 0) + 1)
  }
  return {
    files: sources.length,
    lines,
    largestFolder: Math.max(0, ...folders.values()),
    smallFiles,
  }
}

/** How often any of the phrases occurs in a text, also across the end of a line of comment. */
export function phrasesIn(text) {
  const flat = text.replace(/\s*\n\s*(\/\/|\*(?!\/))?\s*/g, ' ')
  return PHRASES.reduce((sum, phrase) => sum + (flat.match(phrase)?.length ?? 0), 0)
}

/**
 * The names of the interfaces in a text through which one part calls back into another: those that
 * have at least two members, all of them functions, most of which return nothing. (A function that
 * returns something is a question or a service.)
 */
export function callbackInterfacesIn(text) {
  const { statements } = ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true)
  return statements.filter(isOfCallbacks).map(({ name }) => name.text)
}

function isOfCallbacks(statement) {
  if (!ts.isInterfaceDeclaration(statement)) return false
  const { members } = statement
  const results = members.map(resultOf)
  const silent = results.filter((result) => /^(void|Promise<void>)$/.test(result ?? ''))
  return members.length > 1 && !results.includes(undefined) && silent.length > members.length / 2
}

/** The type that a function returns; undefined for a member that is not a function. */
function resultOf(member) {
  if (ts.isMethodSignature(member)) return member.type?.getText() ?? ''
  if (!ts.isPropertySignature(member) || member.type === undefined) return undefined
  return ts.isFunctionTypeNode(member.type) ? member.type.type.getText() : undefined
}

/** The number of getters named `deadline`: parts of machines that are polled for their time. */
export function deadlineGettersIn(text) {
  return text.match(/^ *get deadline\(\)/gm)?.length ?? 0
}

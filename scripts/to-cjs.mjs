// Converts an ES module, as Rollup writes it, to CommonJS. Values that it imports become constants,
// which are as fast as imports; other bundlers look each of them up in an object at each use. So
// files must not import each other in a circle, and nothing that is exported may change.

import { parse } from 'acorn'

/**
 * Returns the text of the file, whose relative imports end in `.cjs`. `importer`: the file that
 * imports other modules for this one. Without it, the file is loaded by Node itself, or was put
 * into a bundle, where it must be able to say so: some bundles have no `require`.
 */
export function toCjs(code, importer) {
  const { body } = parse(code, { ecmaVersion: 'latest', sourceType: 'module' })
  const edits = []
  const exported = []
  for (const statement of body) {
    const { start, end } = statement
    if (statement.type === 'ImportDeclaration') {
      edits.push({ start, end, text: requireText(statement, importer === undefined) })
    } else if (statement.type === 'ExportNamedDeclaration') {
      exported.push(...exportsOf(statement))
      edits.push({ start, end, text: '' })
    } else if (statement.type.startsWith('Export')) {
      throw new Error(`cannot convert: ${code.slice(start, end)}`)
    }
  }
  checkConstant(body, new Set(exported.map(({ value }) => value)))
  visit(body, (node) => {
    if (node.type !== 'ImportExpression') return
    const { start, end, source } = node
    if (isOwn(source.value)) {
      edits.push({ start, end, text: `Promise.resolve().then(() => ${required(source.value)})` })
    } else if (importer !== undefined) {
      const text = `require(${JSON.stringify(importer)}).importModule`
      edits.push({ start, end: start + 'import'.length, text })
    }
  })
  const list = exported.map(({ name, value }) => `${name}: ${value}`)
  const tail = list.length === 0 ? '' : `\nmodule.exports = { ${list.join(', ')} };\n`
  return `'use strict';\n${edited(code, edits)}${tail}`
}

function requireText({ specifiers, source }, isAlone) {
  const value = isAlone ? builtIn(source.value) : required(source.value)
  if (specifiers.length === 0) return `${value};`
  const names = []
  const texts = []
  for (const { type, imported, local } of specifiers) {
    // Of modules of Node and of packages in CommonJS, the default export is all of them.
    if (type === 'ImportSpecifier') names.push(`${imported.name}: ${local.name}`)
    else texts.push(`const ${local.name} = ${value};`)
  }
  if (names.length > 0) texts.push(`const { ${names.join(', ')} } = ${value};`)
  return texts.join(' ')
}

/** The files of the bundle are CommonJS. */
function required(source) {
  return `require(${JSON.stringify(isOwn(source) ? source.replace(/\.js$/, '.cjs') : source)})`
}

function builtIn(name) {
  return `process.getBuiltinModule(${JSON.stringify(name)})`
}

function isOwn(source) {
  return typeof source === 'string' && source.startsWith('.')
}

function exportsOf({ declaration, source, specifiers }) {
  if (declaration) throw new Error('cannot convert an export that is not of a list')
  const from = source ? `${required(source.value)}.` : ''
  return specifiers.map(({ local, exported }) => {
    return { name: exported.name, value: `${from}${local.name}` }
  })
}

/** Whoever requires a file gets the values that its exports have then. */
function checkConstant(body, names) {
  for (const { type, kind, declarations = [] } of body) {
    if (type !== 'VariableDeclaration' || kind === 'const') continue
    for (const { id } of declarations) {
      if (names.has(id.name)) throw new Error(`${id.name} is exported and could change`)
    }
  }
}

function visit(node, see) {
  if (Array.isArray(node)) for (const each of node) visit(each, see)
  if (typeof node?.type !== 'string') return
  see(node)
  for (const value of Object.values(node)) visit(value, see)
}

function edited(code, edits) {
  let text = ''
  let at = 0
  for (const { start, end, text: replacement } of edits.sort((a, b) => a.start - b.start)) {
    text += code.slice(at, start) + replacement
    at = end
  }
  return text + code.slice(at)
}

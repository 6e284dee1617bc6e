// Writes the types of the entry points for `require`, beside those for `import`. Compilers refuse
// types declared as an ES module in a file that they treat as CommonJS; these types refer to those
// of `*.d.ts`, so that each type exists once.

import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import ts from 'typescript'
import { ROOT } from './paths.mjs'

/** Writes the files that are missing or older than their sources. */
export function writeRequireTypes() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  for (const { require: target, types } of Object.values(exports)) {
    if (target === undefined) continue
    const source = join(ROOT, types)
    if (isNewer(join(ROOT, target.types), source)) continue
    const name = `./${basename(source, '.d.ts')}.js`
    writeFileSync(join(ROOT, target.types), typesText(source, name))
  }
}

/** Whether a file is newer than its source and this script. */
function isNewer(path, source) {
  if (!existsSync(path)) return false
  const { mtimeMs } = statSync(path)
  const own = join(ROOT, 'scripts/require-types.mjs')
  return [source, own].every((other) => statSync(other).mtimeMs <= mtimeMs)
}

/** Declarations equivalent to those of the ES module `name`, which has its types in `source`. */
export function typesText(source, name) {
  const program = ts.createProgram([source], {
    module: ts.ModuleKind.NodeNext,
    noLib: true,
    types: [],
  })
  const checker = program.getTypeChecker()
  const file = program.getSourceFile(source)
  const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(file))
  const from = `'${name}' with { 'resolution-mode': 'import' }`
  const types = []
  const lines = []
  for (const symbol of symbols) {
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
    const isValue = (target.flags & ts.SymbolFlags.Value) !== 0 && !isTypeOnly(symbol)
    if (isValue) lines.push(...valueLines(symbol.name, target))
    else types.push(symbol.name)
  }
  return [
    '// Written by scripts/require-types.mjs: the types for `require`.',
    `import type * as module from ${from}`,
    ...(types.length === 0 ? [] : [`export type { ${types.join(', ')} } from ${from}`]),
    ...lines,
    '',
  ].join('\n')
}

function isTypeOnly({ declarations }) {
  const [specifier] = declarations ?? []
  if (specifier === undefined || !ts.isExportSpecifier(specifier)) return false
  return specifier.isTypeOnly || specifier.parent.parent.isTypeOnly
}

function valueLines(name, target) {
  const value = `export declare const ${name}: typeof module.${name}`
  if ((target.flags & ts.SymbolFlags.Type) === 0) return [value]
  const parameters = target.declarations.flatMap(({ typeParameters }) => typeParameters ?? [])
  const names = parameters.map((parameter) => parameter.name.text)
  if (
    new Set(names).size < names.length ||
    parameters.some((parameter) => namesMore(parameter, names))
  ) {
    throw new Error(`${name}: its type parameters cannot be repeated in the types for \`require\``)
  }
  const list = (words) => (words.length === 0 ? '' : `<${words.join(', ')}>`)
  const declared = list(parameters.map((parameter) => parameter.getText()))
  return [value, `export type ${name}${declared} = module.${name}${list(names)}`]
}

/** Whether a constraint or a default refers to types that are not in scope there. */
function namesMore({ constraint, default: standard }, names) {
  const isForeign = (node) => ts.isIdentifier(node) && !names.includes(node.text)
  const has = (node) => isForeign(node) || (ts.forEachChild(node, has) ?? false)
  return [constraint, standard].some((node) => node !== undefined && has(node))
}

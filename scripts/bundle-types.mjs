// Writes the types of the package into `dist/`: one file for each entry point, made of what the
// compiler has written for each source.

import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT, filesUnder } from './paths.mjs'

const ENTRIES = ['index', 'protocol']

/** Writes the types if they are missing or older than their sources. */
export async function writeTypes() {
  const sources = [join(ROOT, 'lib/tsconfig.tsbuildinfo'), join(ROOT, 'scripts/bundle-types.mjs')]
  const targets = ENTRIES.map((name) => join(ROOT, `dist/${name}.d.ts`))
  if (targets.every((path) => isNewer(path, sources))) return
  removeTypes()
  // Not at the top: `npm ci` may still have to install them.
  const [{ rollup }, { dts }] = await Promise.all([import('rollup'), import('rollup-plugin-dts')])
  for (const name of ENTRIES) {
    const bundle = await rollup({
      input: join(ROOT, `lib/${name}.d.ts`),
      plugins: [dts({ tsconfig: join(ROOT, 'src/tsconfig.json') })],
      external: (id) => !/^[./]/.test(id),
    })
    const { output } = await bundle.generate({})
    await bundle.close()
    const types = typeOnlyExports(readFileSync(join(ROOT, `lib/${name}.d.ts`), 'utf8'))
    mkdirSync(join(ROOT, 'dist'), { recursive: true })
    writeFileSync(join(ROOT, `dist/${name}.d.ts`), withTypeExports(output[0].code, types))
  }
}

/** The names that an entry point exports as types only, although some of them are classes. */
export function typeOnlyExports(text) {
  const names = new Set()
  for (const [, isType, list] of text.matchAll(/^export( type)? \{([^}]*)\} from/gm)) {
    for (const item of list.split(',').map((part) => part.trim())) {
      const isOnlyType = isType !== undefined || item.startsWith('type ')
      if (isOnlyType && item !== '') names.add(item.split(' ').at(-1))
    }
  }
  return names
}

/** Exports these names as types in the bundled declarations, where classes have become values. */
export function withTypeExports(text, types) {
  const written = /^export \{ ([^}]*) \};$/m.exec(text)
  if (written === null) return text
  const items = written[1].split(', ')
  const isType = (item) => types.has(item.split(' ').at(-1))
  const values = items.filter((item) => !isType(item))
  const lines = [
    `export { ${values.join(', ')} };`,
    ...(values.length < items.length
      ? [`export type { ${items.filter(isType).join(', ')} };`]
      : []),
  ]
  return text.replace(written[0], lines.join('\n'))
}

function isNewer(path, sources) {
  if (!existsSync(path)) return false
  const { mtimeMs } = statSync(path)
  return sources.every((source) => statSync(source).mtimeMs <= mtimeMs)
}

/** Also those left by an earlier build. */
function removeTypes() {
  for (const path of filesUnder('dist', (name) => name.endsWith('.d.ts'))) rmSync(join(ROOT, path))
}

// The ways to run JavaScript in the matrix: how the files of the program are built, and what runs
// them.

import type { Feature } from './kit/case.js'

/** A Node by its major version. */
export type NodeMajor = 20 | 22 | 24 | 26

/** How the files are built from the sources; environments with the same name share them. */
export interface Tree {
  /** Also the name of their folder. */
  readonly name: string
  readonly format: 'esm' | 'cjs'
  readonly make:
    /** The sources as they are; with `hasTsImports`, imports name the `.ts` files. */
    | { readonly kind: 'source'; readonly hasTsImports?: true }
    | {
        readonly kind: 'tsc'
        readonly target: 'ES2015' | 'ES2022' | 'ESNext'
        readonly hasMaps: boolean
      }
    | {
        readonly kind: 'esbuild'
        /** Options of its command line, without dashes. */
        readonly options: readonly string[]
        /** Whether packages are part of the bundle, too. */
        readonly hasPackages?: true
      }
}

/** One way to run JavaScript. */
export interface Environment {
  readonly name: string
  readonly node: NodeMajor
  readonly tree: Tree
  /** The runner, if it is not Node alone. */
  readonly runner?: 'tsx' | 'vitest-4' | 'vitest-5'
  readonly flags?: readonly string[]
}

const tree = (name: string, format: Tree['format'], make: Tree['make']): Tree => ({
  name,
  format,
  make,
})

const plainEsm = tree('esm', 'esm', { kind: 'tsc', target: 'ESNext', hasMaps: false })
const plainCjs = tree('cjs', 'cjs', { kind: 'tsc', target: 'ESNext', hasMaps: false })
const sourceEsm = tree('ts-esm', 'esm', { kind: 'source' })
const sourceCjs = tree('ts-cjs', 'cjs', { kind: 'source' })
const sourceStrip = tree('ts-strip', 'esm', { kind: 'source', hasTsImports: true })

const PLAIN: readonly Environment[] = ([20, 22, 24, 26] as const).flatMap((node) => [
  { name: `ES modules, Node ${node}`, node, tree: plainEsm },
  { name: `CommonJS, Node ${node}`, node, tree: plainCjs },
])

const TSX: readonly Environment[] = [
  { name: 'tsx, ES modules, Node 20', node: 20, tree: sourceEsm, runner: 'tsx' },
  { name: 'tsx, CommonJS, Node 20', node: 20, tree: sourceCjs, runner: 'tsx' },
  { name: 'tsx, ES modules, Node 26', node: 26, tree: sourceEsm, runner: 'tsx' },
  { name: 'tsx, CommonJS, Node 26', node: 26, tree: sourceCjs, runner: 'tsx' },
]

const STRIPPED: readonly Environment[] = ([22, 24, 26] as const).map((node) => ({
  name: `type stripping, Node ${node}`,
  node,
  tree: sourceStrip,
  flags: node === 22 ? ['--experimental-strip-types'] : [],
}))

const TSC: readonly Environment[] = (['ES2015', 'ES2022'] as const).flatMap((target) =>
  (['esm', 'cjs'] as const).map((format) => ({
    name: `tsc to ${target}, ${format === 'esm' ? 'ES modules' : 'CommonJS'}`,
    node: 20 as const,
    tree: tree(`${target.toLowerCase()}-${format}`, format, { kind: 'tsc', target, hasMaps: true }),
  })),
)

const bundle = (
  name: string,
  format: Tree['format'],
  options: readonly string[],
  hasPackages?: true,
): Environment => ({
  name: `esbuild, ${name}`,
  node: 20,
  tree: tree(`bundle-${name.replaceAll(/[^a-z0-9]+/gi, '-')}`, format, {
    kind: 'esbuild',
    options,
    ...(hasPackages && { hasPackages }),
  }),
})

const BUNDLED: readonly Environment[] = [
  bundle('ES module', 'esm', ['sourcemap']),
  bundle('CommonJS with packages', 'cjs', [], true),
  bundle('ES module, keep-names', 'esm', ['keep-names']),
  bundle('ES module, minified', 'esm', ['minify']),
  bundle('CommonJS with packages, minified', 'cjs', ['minify'], true),
  bundle('CommonJS, minified, keep-names', 'cjs', ['minify', 'keep-names']),
  bundle('CommonJS, target es2020', 'cjs', ['target=es2020', 'sourcemap=inline']),
  bundle('CommonJS, target es2020, minified', 'cjs', ['target=es2020', 'minify']),
]

const VITEST: readonly Environment[] = [
  { name: 'vitest 4, Node 20', node: 20, tree: sourceEsm, runner: 'vitest-4' },
  { name: 'vitest 5, Node 24', node: 24, tree: sourceEsm, runner: 'vitest-5' },
]

/** All of them, in the order of the table. */
export const ENVIRONMENTS: readonly Environment[] = [
  ...PLAIN,
  ...TSX,
  ...STRIPPED,
  ...TSC,
  ...BUNDLED,
  ...VITEST,
]

/** Features that a program of the tree cannot have. */
export function lacksOf({ format, make }: Tree): readonly Feature[] {
  const isBundle = make.kind === 'esbuild'
  const lacks: Feature[] = []
  if (format === 'cjs') lacks.push('modules')
  if (isBundle) lacks.push('files')
  if (make.kind === 'source' && make.hasTsImports !== true) lacks.push('names')
  if (isBundle && make.hasPackages) lacks.push('packages')
  // An ES module is strict, whatever was bundled into it; and esbuild, which is inside tsx too,
  // makes sloppy CommonJS from modules.
  if (isBundle && format === 'esm') lacks.push('sloppy')
  if (make.kind !== 'tsc' && format === 'cjs') lacks.push('strict')
  return lacks
}

// The client library of Kubernetes where tests have it, and what the Role in deploy/kubernetes lets
// an allocator do.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ROOT } from '../../interop/program.js'

const PEER = join(ROOT, '.peers/kubernetes')

/** The folder of packages with the library, for NODE_PATH. */
export const LIBRARY: string = join(PEER, 'node_modules')

/** Why there is no library, or false. For `skip` of tests. */
export const NO_LIBRARY: string | false = existsSync(join(PEER, 'made-of'))
  ? false
  : 'no client of Kubernetes: node scripts/peers.mjs'

/** Any object of Kubernetes. */
export type Fields = Readonly<Record<string, unknown>>

interface Rule {
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** The documents of a YAML text, by the parser of the library. */
export function readYaml(text: string): readonly Fields[] {
  const yaml = createRequire(join(PEER, 'package.json'))('js-yaml') as {
    loadAll(text: string): Fields[]
  }
  return yaml.loadAll(text)
}

/** `create jobs`, `get pods/log`, … */
export function allocatorRights(): ReadonlySet<string> {
  const documents = readYaml(readFileSync(join(ROOT, 'deploy/kubernetes/rbac.yaml'), 'utf8'))
  const rules = documents.flatMap(({ rules: own = [] }) => own as readonly Rule[])
  return new Set(
    rules.flatMap(({ resources, verbs }) => {
      return resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`))
    }),
  )
}

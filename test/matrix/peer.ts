// The programs that scripts/peers.mjs has installed for the matrix, and the missing ones.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Environment, NodeMajor } from './environment.js'
import { ROOT } from './workplace.js'

const OWN_MAJOR = Number.parseInt(process.versions.node, 10)

/** A file of a peer. */
export function peerFile(peer: string, path: string): string {
  return join(ROOT, '.peers', peer, path)
}

/** The program `node` of a version: the running one, or a peer. */
export function nodeOf(major: NodeMajor): string {
  return major === OWN_MAJOR ? process.execPath : peerFile(`node-${major}`, 'node')
}

/** The option that makes Node run TypeScript through tsx. */
export function tsxFlags(): readonly string[] {
  const loader = peerFile('tools', 'node_modules/tsx/dist/loader.mjs')
  return ['--import', pathToFileURL(loader).href]
}

/** The peers that an environment needs. */
export function neededPeers({ node, tree, runner }: Environment): readonly string[] {
  const needed: string[] = []
  if (node !== OWN_MAJOR) needed.push(`node-${node}`)
  if (runner?.startsWith('vitest')) needed.push(runner)
  if (runner === 'tsx' || tree.make.kind === 'esbuild') needed.push('tools')
  return needed
}

/** Those of them that are missing. */
export function missingPeers(environment: Environment): readonly string[] {
  return neededPeers(environment).filter((name) => !existsSync(peerFile(name, 'made-of')))
}

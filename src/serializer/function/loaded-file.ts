// CommonJS files that Node has loaded: V8 forgets the text of one that has left no function.

import { readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** An entry of Node's. */
export interface LoadedModule {
  readonly exports: unknown
  readonly loaded: boolean
}

type RequireCache = Readonly<Record<string, LoadedModule | undefined>>

let known: RequireCache | undefined

/** All of them, by path. */
export function requireCache(): RequireCache {
  // Not when this file is loaded: in some bundles there is no `require`, and others say so.
  return (known ??= createRequire(import.meta.url).cache)
}

/** What such a file exports, if that is an object. */
export function exportsOf(url: string): object | undefined {
  const exports = requireCache()[pathOf(url)]?.exports
  return typeof exports === 'object' && exports !== null ? exports : undefined
}

/** Its text, as long as it must be the one that was loaded. */
export function textOfFile(url: string): string | undefined {
  const path = pathOf(url)
  if (requireCache()[path] === undefined || !/\.c?js$/.test(path)) return undefined
  try {
    return statSync(path).mtimeMs < performance.timeOrigin ? readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}

function pathOf(url: string): string {
  return url.startsWith('file:') ? fileURLToPath(url) : url
}

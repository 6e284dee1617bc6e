// Objects that stand for modules. A program that uses one means some of its properties: to send all
// would send the whole module.

import { types } from 'node:util'
import { createRequire } from 'node:module'
import { ownValue } from '../native-names.js'

/**
 * The properties that travel, if the value stands for a module: those that are used, or all where
 * that is not known. Undefined for every other value.
 */
export function moduleKeys(
  value: unknown,
  used: readonly string[] | undefined,
  isDeclaredModule: boolean,
): readonly string[] | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  // Some loaders put a proxy before a module to unite its exports with its default export.
  if (types.isProxy(value)) return isDeclaredModule ? used : undefined
  if (types.isModuleNamespaceObject(value)) return used ?? Object.keys(value)
  if (used === undefined) return undefined
  return isDeclaredModule || looksLikeModule(value) || isLoadedExports(value) ? used : undefined
}

/** What compilers make of a module. */
function looksLikeModule(value: object): boolean {
  if (ownValue(value, '__esModule') === true) return true
  return Object.getOwnPropertyDescriptor(value, Symbol.toStringTag)?.value === 'Module'
}

/** The exports of a CommonJS file. */
function isLoadedExports(value: object): boolean {
  const { cache } = createRequire(import.meta.url)
  return Object.values(cache).some((loaded) => loaded?.exports === value)
}

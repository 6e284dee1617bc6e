// Features that only modules have.

import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import type { Case } from '../kit/case.js'

const awaited = await Promise.resolve({ answer: 42 })
const loaded = await import('./sibling/pong.js')
const here = import.meta.url
const requireHere = createRequire(import.meta.url)

/** Features that only modules have. */
export const cases: readonly Case[] = [
  {
    name: 'a value of top-level await',
    fn: () => awaited.answer,
    want: 42,
    needs: ['modules'],
    isSmoke: true,
  },
  {
    name: 'a module of top-level import()',
    fn: () => loaded.pong(0),
    want: 'pong',
    needs: ['modules'],
  },
  { name: 'import.meta.url', fn: () => import.meta.url, want: here, needs: ['modules'] },
  {
    name: 'import.meta.dirname and filename',
    async scenario(ship) {
      const { dirname, filename } = import.meta
      const found = await ship(() => [import.meta.dirname, import.meta.filename])
      assert.deepEqual(found, [dirname, filename])
    },
    needs: ['modules'],
  },
  {
    name: 'import.meta.resolve',
    async scenario(ship) {
      const specifiers = ['node:fs', './sibling/pong.js', 'matrix-modern']
      const resolve = (specifier: string): string => import.meta.resolve(specifier)
      assert.deepEqual(
        await ship((all: string[]) => all.map((one) => import.meta.resolve(one)), specifiers),
        specifiers.map(resolve),
      )
    },
    needs: ['modules', 'names'],
  },
  {
    name: 'import.meta as a value',
    async scenario(ship) {
      const meta = (): unknown => {
        const { url } = import.meta
        return new URL('.', url).href
      }
      assert.equal(await ship(meta), meta())
    },
    needs: ['modules'],
  },
  {
    name: 'a require made by createRequire',
    fn: () => (requireHere('node:path') as { readonly sep: string }).sep.length,
    want: 1,
    needs: ['modules'],
    mayBeRefused: /./,
  },
]

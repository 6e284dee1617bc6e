// The cases in CommonJS, for those who import them.

import type { Case } from '../../kit/case.js'

declare const old: { readonly cases: readonly Case[] }
export = old

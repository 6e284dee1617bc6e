// The cases that every environment can run.

import type { Case } from '../kit/case.js'
import { cases as captures } from './captures.js'
import { cases as classes } from './classes.js'
import { cases as errors } from './errors.js'
import { cases as functions } from './functions.js'
import { cases as imports } from './imports.js'
import { cases as values } from './values.js'

/** All of them. */
export const cases: readonly Case[] = [
  ...functions,
  ...classes,
  ...values,
  ...captures,
  ...imports,
  ...errors,
]

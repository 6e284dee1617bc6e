// Objects that programs have at the top of their modules and use in tasks: objects of the platform,
// and those that popular packages create.

/** Imports, for a module. */
export const MODULE_SCOPE_IMPORTS = `
import pino from 'pino'
import { z } from 'zod'
`

/** The same for a CommonJS file. */
export const MODULE_SCOPE_REQUIRES = `
const pino = require('pino')
const { z } = require('zod')
`

/** The top of the module, with \`inTasks(client)\`, which returns \`MODULE_SCOPE_ANSWERS\`. */
export const MODULE_SCOPE = `
const encoder = new TextEncoder()
const decoder = new TextDecoder()
const home = new URL('https://example.org/a?b=1')
const money = new Intl.NumberFormat('en', { minimumFractionDigits: 2 })
const day = new Intl.DateTimeFormat('en', { timeZone: 'UTC' })
const User = z.object({ name: z.string(), tags: z.array(z.string()).default([]) })
const Users = z.array(User.extend({ age: z.number().int() }))
const log = pino()
const childLog = log.child({ part: 'child' })

async function inTasks(client) {
  return [
    await client.submit(() => decoder.decode(encoder.encode('é')) + encoder.encode('é').length),
    await client.submit(() => home.searchParams.get('b') + home.host),
    await client.submit(() => money.format(1234.5) + ' ' + day.format(new Date(0))),
    await client.submit((input) => User.parse(input), { name: 'ann' }),
    await client.submit((input) => Users.parse(input), [{ name: 'bob', age: 3 }]),
    await client.submit((input) => {
      const { success, error } = User.safeParse(input)
      return [success, error.issues[0].path]
    }, { name: 3 }),
    await client.submit((input) => User.parse(input), {}).result().catch((error) => error.name),
    await client.submit(() => {
      log.info('from a task')
      childLog.warn('from another')
      return log.level
    }),
  ]
}
`

/** The expected result of all of them. */
export const MODULE_SCOPE_ANSWERS: readonly unknown[] = [
  'é2',
  '1example.org',
  '1,234.50 1/1/1970',
  { name: 'ann', tags: [] },
  [{ name: 'bob', tags: [], age: 3 }],
  [false, ['name']],
  'ZodError',
  'info',
]

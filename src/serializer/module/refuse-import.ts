// What is said of a function of a package that no other process could import.

import { Refusal } from '../refusal.js'
import { packageFileOf, pathOf } from './file-location.js'
import { OWN_NAME, ownFileOf } from './own-package.js'

/** A function or class for which there is no reference. `fileUrl` is where it is defined. */
export function refuseUnexported(fnName: string, fileUrl: string): Refusal {
  const what = fnName === '' ? 'a function without a name' : `${fnName}`
  const path = pathOf(fileUrl)
  const packageName = path === undefined ? undefined : packageFileOf(path)?.packageName
  const isOwn = ownFileOf(fileUrl) !== undefined
  const owner = isOwn ? OWN_NAME : (packageName ?? fileUrl)
  const ways = ['create it inside the function']
  if (!isOwn && packageName !== undefined) {
    ways.push('in a constant at the top of a module, whose initializer calls nothing but packages')
    ways.push("in a module that exports it, after registerByReference('./that-module.js')")
  } else ways.push('wrap it in a function of your own')
  return new Refusal(
    `${what} of ${packageName === undefined && !isOwn ? owner : `package ${owner}`}`,
    'it is not exported, so that nobody else can import it',
    `${ways.slice(0, -1).join(', ')}${ways.length > 2 ? ',' : ''} or ${ways.at(-1) ?? ''}`,
  )
}

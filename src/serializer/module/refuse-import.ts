// What is said of a function of a package that no other process could import.

import { Refusal } from '../refusal.js'
import { packageFileOf, pathOf } from './file-location.js'
import { OWN_NAME, ownFileOf } from './own-package.js'

/** For what a package's own accessors show, such as `error` of a result of zod. */
const READ_FIRST =
  'read it first, and pass or return what it gives, instead of the object that has it'

/** Packages whose functions note how they are called. */
const MOCKS = /^(?:jest-mock|vitest|@vitest\/spy|tinyspy|sinon)$/

/** A function or class for which there is no reference. `fileUrl` is where it is defined. */
export function refuseUnexported(fnName: string, fileUrl: string): Refusal {
  const path = pathOf(fileUrl)
  const packageName = path === undefined ? undefined : packageFileOf(path)?.packageName
  if (packageName !== undefined && MOCKS.test(packageName)) return refuseMock(packageName)
  const isOwn = ownFileOf(fileUrl) !== undefined
  const ownerName = isOwn ? OWN_NAME : packageName
  const owner = ownerName === undefined ? fileUrl : `package ${ownerName}`
  return new Refusal(
    `${fnName === '' ? 'a function without a name' : fnName} of ${owner}`,
    'there is no export by which another process could import it',
    wayOut(fnName, !isOwn && packageName !== undefined),
  )
}

function wayOut(fnName: string, isOfPackage: boolean): string {
  if (/^[gs]et /.test(fnName)) return READ_FIRST
  if (!isOfPackage) return 'create it inside the function or wrap it in a function of your own'
  return (
    'create it inside the function, in a constant at the top of a module, whose initializer ' +
    'uses nothing but packages and constants, or in a module that exports it, after ' +
    "registerByReference('./that-module.js')"
  )
}

function refuseMock(packageName: string): Refusal {
  return new Refusal(
    `a mock function of package ${packageName}`,
    'it notes its calls in this process only',
    'pass a plain function, and look at what the task returns',
  )
}

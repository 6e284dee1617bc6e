// The error in place of an object that was not stored. docs/protocol.md#storage

import { StorageFullError, type StorageOwner } from '../base/errors.js'
import { idToHex, type ObjectId } from '../base/ids.js'
import { refusalFrom } from '../wire/storage-refusal.js'

const MIB = 1024 ** 2

/** `chunks`: the content of type `refused`. */
export function refusedObjectError(id: ObjectId, chunks: readonly Uint8Array[]): StorageFullError {
  const { limit, diskError, ...sizes } = refusalFrom(chunks)
  const { sizeBytes, storedBytes, limitBytes, owners } = sizes
  const whose =
    limit === 'quota' ? "this client's share of the object storage" : 'the object storage'
  const amount = `${inMib(storedBytes)} of ${inMib(limitBytes)} in use`
  const what = `an object of ${inMib(sizeBytes)} was not stored: ${whose} is full (${amount}`
  const users = limit === 'quota' ? '' : mostOf(owners)
  const disk = diskError === '' ? '' : `; the disk cannot be used: ${diskError}`
  return new StorageFullError(`${what}${users}${disk})`, { ...sizes, objectId: idToHex(id) })
}

/** Who uses most, if anybody stands out. */
function mostOf([first]: readonly StorageOwner[]): string {
  if (first === undefined) return ''
  const client = first.name === '' ? first.client : first.name
  return `, ${inMib(first.bytes)} of it by the client ${client}`
}

function inMib(bytes: number): string {
  return `${(bytes / MIB).toFixed(1)} MiB`
}

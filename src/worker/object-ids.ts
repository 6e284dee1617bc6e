// The ids that agents and processors compute from the identity of a client:
// docs/protocol.md#object-ids.

import { createHash, randomBytes } from 'node:crypto'
import { bytesToLatin1 } from '../base/bytes.js'
import type { Identity, ObjectId } from '../base/ids.js'
import { objectIdFrom, SERIALIZER_SUFFIX } from '../wire/object-content.js'

const PREFIX_BYTES = 8
const DIGEST_BYTES = 16

/** The id of the serializer object of a client. */
export function serializerIdOf(source: Identity): ObjectId {
  return objectIdFrom(prefixOf(source), SERIALIZER_SUFFIX)
}

/** A new random id for a result that belongs to a client. */
export function newResultId(source: Identity): ObjectId {
  return objectIdFrom(prefixOf(source), bytesToLatin1(randomBytes(DIGEST_BYTES)))
}

function prefixOf(source: Identity): string {
  const digest = createHash('md5').update(source, 'latin1').digest()
  return bytesToLatin1(digest.subarray(0, PREFIX_BYTES))
}

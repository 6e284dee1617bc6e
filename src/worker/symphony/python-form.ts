// Tasks of Python clients as inputs of the services that users of Python Scaler have: the pickled
// tuple of function and arguments. The output is the pickled result.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { joinBytes, totalBytes } from '../../base/bytes.js'
import { MissingObjectError, SerializeError } from '../../base/errors.js'
import { idToHex, type ObjectId, objectIdOf } from '../../base/ids.js'
import { serializerIdOf } from '../object-ids.js'
import { isDefaultSerializer, pickledCall, pickledError } from './pickle.js'
import type { ServiceAnswer, ServiceCall, ServiceForm } from './processor.js'

const SOURCE = new URL('../../../service/symphony_call.py', import.meta.url)

/** The exception of a client that cannot be served. */
const OWN_SERIALIZER =
  'this client has a serializer of its own, but services of Symphony read only what ' +
  'cloudpickle has written: use the default serializer, or workers of Python Scaler'

/** Tasks of Python clients. */
export class PythonForm implements ServiceForm {
  readonly #source = readFileSync(SOURCE, 'utf8')
  readonly #module = `scaler_ts_${digestOf(this.#source)}`

  inputOf(call: ServiceCall): readonly Uint8Array[] {
    const { task } = call
    const serializer = contentOf(call, serializerIdOf(task.source))
    if (!isDefaultSerializer(serializer)) {
      throw new SerializeError(OWN_SERIALIZER)
    }
    return pickledCall({
      source: this.#source,
      module: this.#module,
      fn: contentOf(call, task.funcObjectId),
      args: task.functionArgs.map(({ type, data }) =>
        type === 'objectID' ? contentOf(call, objectIdOf(data)) : data,
      ),
      flags: task.metadata,
    })
  }

  answerIn(_call: ServiceCall, output: Buffer): ServiceAnswer {
    return { status: 'success', content: [output] }
  }

  failureIn(pickled: Buffer): Uint8Array | undefined {
    return pickled.byteLength > 0 ? pickled : undefined
  }

  encodeError(error: Error): Uint8Array {
    return pickledError(error)
  }
}

function contentOf({ objects }: ServiceCall, id: ObjectId): Uint8Array {
  const object = objects.get(id)
  const isThere = object?.type === 'object' || object?.type === 'serializer'
  if (!isThere || totalBytes(object.chunks) === 0) throw new MissingObjectError(idToHex(id))
  return joinBytes(object.chunks)
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

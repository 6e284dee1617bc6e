// References to what modules export, as bytes.

import { DeserializeError } from '../base/errors.js'
import type { ByteReader } from './byte-reader.js'
import type { ByteWriter } from './byte-writer.js'
import type { ExportReference, ModuleReference } from './module/reference.js'

// Append only.
const MODULE_BUILTIN = 0
const MODULE_SPECIFIER = 1
const MODULE_PACKAGE_FILE = 2
const MODULE_OWN = 3

/** Appends the reference. */
export function writeReference(writer: ByteWriter, reference: ExportReference): void {
  writeModule(writer, reference.module)
  writer.byte(reference.form === 'require' ? 1 : 0)
  writer.varint(reference.path.length)
  for (const step of reference.path) writer.text(step)
}

function writeModule(writer: ByteWriter, module: ModuleReference): void {
  switch (module.kind) {
    case 'builtin':
      writer.byte(MODULE_BUILTIN)
      writer.text(module.id)
      break
    case 'specifier':
      writer.byte(MODULE_SPECIFIER)
      writer.text(module.specifier)
      writer.text(module.parent)
      break
    case 'packageFile':
      writer.byte(MODULE_PACKAGE_FILE)
      writer.text(module.packageName)
      writer.text(module.file)
      writer.text(module.parent)
      break
    default:
      writer.byte(MODULE_OWN)
      writer.text(module.file)
  }
}

/** The reference. Throws `DeserializeError`. */
export function readReference(reader: ByteReader): ExportReference {
  const module = readModule(reader)
  const form = reader.byte() === 1 ? 'require' : 'import'
  const path: string[] = []
  for (let left = reader.count(1); left > 0; left -= 1) path.push(reader.text())
  return { module, form, path }
}

function readModule(reader: ByteReader): ModuleReference {
  const kind = reader.byte()
  const text = reader.text()
  switch (kind) {
    case MODULE_BUILTIN:
      return { kind: 'builtin', id: text }
    case MODULE_SPECIFIER:
      return { kind: 'specifier', specifier: text, parent: reader.text() }
    case MODULE_PACKAGE_FILE:
      return {
        kind: 'packageFile',
        packageName: text,
        file: reader.text(),
        parent: reader.text(),
      }
    case MODULE_OWN:
      return { kind: 'own', file: text }
    default:
      throw new DeserializeError('a module is named in a way that this version does not know')
  }
}

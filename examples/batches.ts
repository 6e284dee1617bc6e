// Divides the files into tasks of similar size: small files together, large files in pieces. A
// task then takes at most a few hundred milliseconds, and the load on workers is even.

import { lstat, open, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** A part of a file. */
export interface Piece {
  readonly path: string
  readonly start: number
  readonly bytes: number
}

/** The work of one task. */
export interface Batch {
  readonly pieces: readonly Piece[]
  readonly bytes: number
}

/** A file and its size. */
export interface SizedFile {
  readonly path: string
  readonly bytes: number
}

/** Paths that could not be read, and why. Filled while the work continues. */
export type Unreadable = Map<string, string>

/** All files below a folder, in a stable order. Symbolic links are not followed. */
export async function listFiles(folder: string, unreadable: Unreadable): Promise<SizedFile[]> {
  const files: SizedFile[] = []
  const visit = async (path: string): Promise<void> => {
    const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
      unreadable.set(path, codeOf(error))
      return []
    })
    entries.sort((one, other) => (one.name < other.name ? -1 : 1))
    for (const entry of entries) {
      const inner = join(path, entry.name)
      if (entry.isDirectory()) await visit(inner)
      else if (entry.isFile()) await addFile(inner)
    }
  }
  const addFile = async (path: string): Promise<void> => {
    try {
      files.push({ path, bytes: (await lstat(path)).size })
    } catch (error) {
      unreadable.set(path, codeOf(error))
    }
  }
  await visit(folder)
  return files
}

/** The files as batches of at most `maxBytes` and `maxPieces`. */
export function toBatches(files: readonly SizedFile[], maxBytes: number, maxPieces = 256): Batch[] {
  const batches: Batch[] = []
  let pieces: Piece[] = []
  let bytes = 0
  const finish = (): void => {
    if (pieces.length > 0) batches.push({ pieces, bytes })
    pieces = []
    bytes = 0
  }
  for (const file of files) {
    let start = 0
    do {
      const size = Math.min(file.bytes - start, maxBytes)
      if (bytes + size > maxBytes || pieces.length === maxPieces) finish()
      pieces.push({ path: file.path, start, bytes: size })
      bytes += size
      start += size
    } while (start < file.bytes)
  }
  finish()
  return batches
}

/** Reads the contents of a batch; unreadable files are recorded and skipped. */
export async function readBatch(batch: Batch, unreadable: Unreadable): Promise<Uint8Array[]> {
  const contents: Uint8Array[] = []
  for (const piece of batch.pieces) {
    if (unreadable.has(piece.path)) continue
    try {
      contents.push(await readPiece(piece))
    } catch (error) {
      unreadable.set(piece.path, codeOf(error))
    }
  }
  return contents
}

/** The result is shorter than planned if the file has shrunk meanwhile. */
async function readPiece({ path, start, bytes }: Piece): Promise<Uint8Array> {
  const file = await open(path)
  try {
    const content = new Uint8Array(bytes)
    let filled = 0
    while (filled < bytes) {
      const { bytesRead } = await file.read(content, filled, bytes - filled, start + filled)
      if (bytesRead === 0) break
      filled += bytesRead
    }
    return content.subarray(0, filled)
  } finally {
    await file.close()
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error)
}

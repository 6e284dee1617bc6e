// The official `capnp` tool as the reference for our bytes. If it is not installed, the tests that
// need it are skipped with that reason; if CI is set, they fail instead.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** A schema file and the folder that it is in. */
export interface Schema {
  readonly folder: string
  readonly file: string
}

/** For the `skip` option of a test: why it cannot run, or false. */
export function skipWithoutCapnp(): string | false {
  if (hasCapnp() || process.env['CI'] !== undefined) return false
  return 'the capnp tool is not installed'
}

function hasCapnp(): boolean {
  try {
    execFileSync('capnp', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Runs `capnp` with some arguments in a folder; returns its output. */
export function capnp(folder: string, args: readonly string[], input: Uint8Array): Buffer {
  return execFileSync('capnp', args, {
    cwd: folder,
    // The tool compares it with its own current folder.
    env: { ...process.env, PWD: folder },
    input,
    maxBuffer: 2 ** 28,
  })
}

/** A file or folder of the repository, from any location of the compiled test. */
export function repositoryPath(...parts: readonly string[]): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, 'protocol', 'message.capnp'))) {
    if (dirname(folder) === folder) throw new Error('not inside of the repository')
    folder = dirname(folder)
  }
  return join(folder, ...parts)
}

/** The schemas of this repository. */
export function ourSchema(): Schema {
  return { folder: repositoryPath('protocol'), file: 'message.capnp' }
}

/** The schemas of 1.9.9, without our extensions. */
export function baseSchema(): Schema {
  return { folder: repositoryPath('test', 'interop', 'schema-1.9.9'), file: 'message.capnp' }
}

/** The tool's reading of some frames, as one value of JSON each. */
export function toJson(schema: Schema, frames: readonly Uint8Array[]): readonly unknown[] {
  const args = ['convert', '--short', 'binary:json', schema.file, 'Message']
  const output = capnp(schema.folder, args, Buffer.concat(frames)).toString('utf8')
  return output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown)
}

/**
 * The tool's encoding of some values of JSON, as one frame each. It looks for the end of a value by
 * brackets, quotes and comments in the wrong way, so that texts must not contain these.
 */
export function fromJson(schema: Schema, values: readonly unknown[]): readonly Uint8Array[] {
  const args = ['convert', 'json:binary', schema.file, 'Message']
  const input = values.map((value) => JSON.stringify(value)).join('\n')
  return splitFrames(capnp(schema.folder, args, Buffer.from(input)))
}

/** Copies of frames in segments of this many words: with as many far pointers as possible. */
export function segmented(
  frames: readonly Uint8Array[],
  segmentWords: number,
): readonly Uint8Array[] {
  const args = ['convert', `--segment-size=${segmentWords}`, 'binary:binary']
  return splitFrames(capnp(repositoryPath(), args, Buffer.concat(frames)))
}

/** Splits consecutive messages. */
export function splitFrames(stream: Buffer): readonly Buffer[] {
  const frames: Buffer[] = []
  let at = 0
  while (at < stream.length) {
    const segments = stream.readUInt32LE(at) + 1
    let words = Math.ceil((4 + segments * 4) / 8)
    for (let index = 0; index < segments; index += 1) {
      words += stream.readUInt32LE(at + 4 + index * 4)
    }
    frames.push(stream.subarray(at, at + words * 8))
    at += words * 8
  }
  return frames
}

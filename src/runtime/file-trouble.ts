// Why a file cannot be read or written, as people say it: the messages of Node repeat system calls
// and paths.

const REASONS: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'permission denied'],
  ['EPERM', 'operation not permitted'],
  ['ENOENT', 'there is no such file or directory'],
  ['ENOTDIR', 'a part of the path is not a directory'],
  ['EISDIR', 'it is a directory'],
  ['ELOOP', 'too many symbolic links'],
  ['ENAMETOOLONG', 'the name is too long'],
  ['EROFS', 'the file system is read-only'],
  ['ETXTBSY', 'it is a program that runs'],
  ['ENOSPC', 'no space left on the device'],
  ['EDQUOT', 'the disk quota is used up'],
  ['EFBIG', 'the file may not grow further'],
  ['EIO', 'the device failed'],
  ['EMFILE', 'too many open files'],
  ['ENFILE', 'too many open files'],
  ['ENXIO', 'nobody reads the pipe'],
  ['EAGAIN', 'its reader does not keep up'],
  ['EPIPE', 'its reader has gone'],
])

/** The reason in an error of `node:fs`, without the path: `permission denied`. */
export function fileTrouble(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return REASONS.get(code ?? '') ?? message
}

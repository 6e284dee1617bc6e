// How a processor ends itself with all that it has started, when there is nobody left to do that.

/**
 * Never returns. The processor leads a process group of its own; where there are no groups, only
 * itself is ended.
 */
export function killOwnGroup(): void {
  try {
    process.kill(-process.pid, 'SIGKILL')
  } catch {
    process.kill(process.pid, 'SIGKILL')
  }
}

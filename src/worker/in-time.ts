// A wait that has an end.

/** Resolves with `done`, or after this time. Rejects with `done`. */
export async function inTime(done: Promise<unknown>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs)
  })
  await Promise.race([done, late])
  clearTimeout(timer)
}

// A program that waits, and reports its process warnings on stdout. Arguments: the scenario, and
// the scheduler's address.

import { Client, TimeoutError } from 'scaler-ts'

const [what = '', address = ''] = process.argv.slice(2)

process.on('warning', (warning: Error & { readonly code?: string; readonly detail?: string }) => {
  const { code, detail, message } = warning
  console.log(JSON.stringify({ code, detail, message }))
})

const PROGRAMS: Readonly<Record<string, () => Promise<void>>> = {
  /** Has one task, and no timer. */
  async submit() {
    const client = new Client(address)
    console.log(`got ${await client.submit((x: number) => 2 * x, 21)}`)
    await client.close()
  },
  async connect() {
    const client = await Client.connect(address)
    await client.close()
  },
  /** Two tasks, one after the other, for longer than the time after which a reason is reported. */
  async long() {
    const client = new Client(address)
    const nap = async (x: number): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, 3_500))
      return x
    }
    const futures = [client.submit(nap, 1), client.submit(nap, 2)]
    for (const future of futures) console.log(`got ${await future}`)
    await client.close()
  },
  /** Nothing is unfinished. */
  async idle() {
    await new Client(address).close()
    const client = new Client(address)
    console.log(client.identity.length > 0)
  },
  /** One task keeps the only worker busy, two are not even sent. */
  async full() {
    const client = new Client(address)
    const forever = (x: number): Promise<number> => new Promise(() => x)
    const first = client.submit(forever, 0)
    while (first.state !== 'running') await new Promise((resolve) => setTimeout(resolve, 10))
    const second = client.submit(forever, 1)
    for (let reason: string | undefined; reason !== 'limit';) {
      const error: unknown = await second
        .result({ timeoutMs: 100 })
        .catch((cause: unknown) => cause)
      if (error instanceof TimeoutError) reason = error.reason
    }
    console.log(`limit ${second.state}`)
    let shown = ''
    const progress = ({ waiting }: { readonly waiting: string | undefined }): void => {
      if (waiting === undefined || waiting === shown) return
      shown = waiting
      console.log(`progress ${waiting}`)
    }
    await client.map(forever, [2], { progress })
  },
}

await PROGRAMS[what]?.()

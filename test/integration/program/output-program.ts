// A program whose tasks print; its first argument is the scenario.

import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync, writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, currentClient } from 'scaler-ts'

const [what = '', address = '', place] = process.argv.slice(2)

/** Prints immediately, whatever Node does with its streams. */
function say(text: string): void {
  writeSync(1, `${text}\n`)
}

async function printOrders(): Promise<void> {
  await using client = await Client.local({ workers: 1 })
  await client.submit(() => {
    console.log('to stdout')
    console.error('to stderr')
  })
  say('after the first')
  await client.submit(() => process.stdout.write('no end of line'))
  say(', after it')
  await client.submit(() => {
    writeSync(1, 'past the stream\n')
    spawnSync('echo', ['from a child'], { stdio: 'inherit' })
  })
  // Waits until text has passed the stream.
  for (const number of [1, 2, 3]) {
    await client.submit((n: number) => writeSync(1, `past the stream ${n}\n`), number)
    say(`after ${number}`)
  }
  const child = (): void => console.log('the child')
  await client.submit(async () => {
    console.log('the parent')
    await currentClient().submit(child)
    console.log('the parent again')
  })
  const error = await client
    .submit(() => {
      console.error('last words')
      process.exit(3)
    })
    .catch((thrown: unknown) => thrown)
  say((error as { stderr: string }).stderr.includes('last words') ? 'died' : 'no last words')
  const quiet = new Client(client.address, { output: 'off' })
  await quiet.submit(() => console.log('nobody reads this'))
  await quiet.close()
  await client.map((n: number) => console.log(`input ${n}`), [1, 2, 3])
  // Like loggers that write later: at the latest when their process exits.
  await client.submit(() => void process.on('exit', () => writeSync(1, 'from a buffer\n')))
  say('end')
}

/** Two that print at the same time: each continues when its file exists. */
async function printTogether(): Promise<void> {
  await using client = await Client.local({ workers: 2 })
  const folder = address
  const talk = async (me: string): Promise<void> => {
    for (const step of [1, 2]) {
      console.log(`${me} ${step}`)
      for (const end = Date.now() + 60_000; !existsSync(`${folder}/${step}`) && Date.now() < end;) {
        await sleep(5)
      }
    }
  }
  const tasks = ['one', 'two'].map((me) => client.submit(talk, me))
  await Promise.all(tasks)
  say(`ids ${tasks.map(({ id }) => id.slice(0, 8)).join(' ')}`)
}

async function printThere(): Promise<void> {
  const output = place as 'forward' | 'log' | 'off' | undefined
  await using client = await Client.connect(address, { output })
  await client.submit(() => console.log('from afar'))
  say('end')
}

/** Its reader exits after the first line. */
async function printToNobody(): Promise<void> {
  await using client = await Client.local({ workers: 1 })
  await client.submit(() => console.log('first line'))
  for await (const _ of process.stdin);
  await client.map((n: number) => console.log(`input ${n}`), [1, 2, 3])
  writeSync(2, 'alive\n')
}

/** Does not read while a task prints far more than can be queued. */
async function printTooMuch(): Promise<void> {
  await using client = await Client.local({ workers: 1 })
  let droppedBytes = 0
  process.on('warning', (warning) => {
    const count = /^([\d,]+) bytes/.exec(warning.message)?.[1] ?? '0'
    if ((warning as { code?: string }).code !== 'SCALER_OUTPUT_DROPPED') return
    droppedBytes += Number(count.replaceAll(',', ''))
  })
  let printedBytes = 0
  const write = process.stdout.write.bind(process.stdout)
  const count = (chunk: string | Uint8Array, onWritten: () => void): boolean => {
    printedBytes += chunk.length
    queueMicrotask(onWritten)
    return true
  }
  process.stdout.write = count as typeof write
  const flood = client.submit((path: string) => {
    const line = `${'x'.repeat(999)}\n`
    for (let number = 0; number < 40_000; number += 1) process.stdout.write(line)
    writeFileSync(path, '')
  }, address)
  // What is submitted in a turn is packed at its end, and sent at the end of the next.
  for (const _ of [1, 2]) await new Promise((resolve) => setImmediate(resolve))
  for (const end = Date.now() + 60_000; !existsSync(address) && Date.now() < end;);
  await flood
  await client.close()
  await new Promise((resolve) => setImmediate(resolve))
  say(JSON.stringify({ printedBytes, droppedBytes }))
}

const PROGRAMS: Readonly<Record<string, () => Promise<void>>> = {
  printOrders,
  printTogether,
  printThere,
  printToNobody,
  printTooMuch,
}
await PROGRAMS[what]?.()

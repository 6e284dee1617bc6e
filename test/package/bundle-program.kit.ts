// The program that tests of bundles bundle.

/** Its output. */
export const EXTERNAL_ANSWER = '42 3 true\n'

const BODY = `
const rate = 2
class Point {
  constructor(x) { this.x = x }
  get twice() { return this.x * rate }
}
async function main() {
  const client = await Client.local({ workers: 1 })
  const product = await client.submit((n) => n * rate, 21)
  const inner = await client.submit(() => currentClient().submit(() => 3))
  const made = await client.submit(() => new Point(4))
  console.log(product, inner, made instanceof Point && made.twice === 8)
  await client.close()
}
main()
`

/** Its text, as an ES module or with `require`. */
export function programFor(form: 'import' | 'require'): string {
  const names = '{ Client, currentClient }'
  const head =
    form === 'import' ? `import ${names} from 'scaler-ts'` : `const ${names} = require('scaler-ts')`
  return head + BODY
}

// The packages of ../package, which the program imports.

declare module 'matrix-plain' {
  export function add(a: number, b: number): number
  const plain: { add: typeof add; multiply(a: number, b: number): number }
  export { plain as default }
}

declare module 'matrix-modern' {
  export function makeAdder(a: number): (b: number) => number
  export function whereAmI(): string
  export class Account {
    constructor(balance: number)
    readonly balance: number
    deposit(amount: number): void
  }
  function modern(x: number): string
  export { modern as default }
}

declare module 'matrix-modern/deep' {
  export function deep(): string
}

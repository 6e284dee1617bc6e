// A package of ES modules.

/** A class whose instances have plain fields. */
export class Account {
  constructor(balance) {
    this.balance = balance
  }
  deposit(amount) {
    this.balance += amount
  }
}

export function makeAdder(a) {
  return (b) => a + b
}

/** Where this file is: the same wherever it was imported from. */
export function whereAmI() {
  return import.meta.url
}

function modern(x) {
  return `modern ${x}`
}
export { modern as default }

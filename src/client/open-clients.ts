// The clients of this process that nobody has closed: a program that ends without having done so is
// told. One list for the process, so that there is one listener and one warning.

/** A client that is open. */
export interface OpenClient {
  readonly address: string
}

/** Clients that are open. */
export class OpenClients {
  readonly #clients = new Set<OpenClient>()
  readonly #onBeforeExit = (): void => this.#warn()

  /** It has been opened. */
  add(client: OpenClient): void {
    this.#clients.add(client)
    if (this.#clients.size === 1) process.on('beforeExit', this.#onBeforeExit)
  }

  /** It has been closed. */
  delete(client: OpenClient): void {
    if (!this.#clients.delete(client) || this.#clients.size > 0) return
    process.off('beforeExit', this.#onBeforeExit)
  }

  /** The program has nothing more to do. Says so once. */
  #warn(): void {
    const addresses = Array.from(this.#clients, ({ address }) => address)
    this.#clients.clear()
    process.off('beforeExit', this.#onBeforeExit)
    const [first] = addresses
    const text =
      addresses.length === 1
        ? `the client of ${first} was not closed`
        : `${addresses.length} clients were not closed: ${addresses.join(', ')}`
    process.emitWarning(`${text}; call close() or use "await using"`, {
      type: 'ScalerWarning',
      code: 'SCALER_UNCLOSED_CLIENT',
    })
  }
}

/** Those of this process. */
export const openClients: OpenClients = new OpenClients()

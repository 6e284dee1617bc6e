// The client inside of tasks: one per process and serializer, for all tasks that run there.

import { Client } from './client.js'
import { clientOfTask } from './client-travel.js'

/**
 * Inside of a task: a client of the scheduler that the task came from, with the serializer of its
 * client. What it submits are children of the task. It need not be closed, and does not keep the
 * process alive; once it was closed this gives a new one. Throws `TaskNotFoundError` outside of
 * tasks.
 */
export function currentClient(): Client {
  return clientOfTask<Client>(Client)
}

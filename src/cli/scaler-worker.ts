#!/usr/bin/env node
// The executable scaler_worker: an alias of scaler_cluster.

import { CLUSTER } from './command/cluster.js'
import { runCommand } from './run-command.js'

await runCommand(CLUSTER, process.argv.slice(2), 'scaler_worker')

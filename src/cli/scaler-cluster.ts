#!/usr/bin/env node
// The executable scaler_cluster: the workers of one machine.

import { CLUSTER } from './command/cluster.js'
import { runCommand } from './run-command.js'

await runCommand(CLUSTER, process.argv.slice(2), 'scaler_cluster')

#!/usr/bin/env node
// The executable scaler_status: shows the state of a cluster.

import { STATUS } from './command/status.js'
import { runCommand } from './run-command.js'

await runCommand(STATUS, process.argv.slice(2), 'scaler_status')

#!/usr/bin/env node
// The executable scaler_run: a script with a cluster of its own.

import { RUN } from './command/run.js'
import { runCommand } from './run-command.js'

await runCommand(RUN, process.argv.slice(2), 'scaler_run')

#!/usr/bin/env node
// The executable scaler_scheduler: one scheduler.

import { SCHEDULER } from './command/scheduler.js'
import { runCommand } from './run-command.js'

await runCommand(SCHEDULER, process.argv.slice(2), 'scaler_scheduler')

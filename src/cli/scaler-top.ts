#!/usr/bin/env node
// The executable scaler_top: follows a cluster on the terminal.

import { TOP } from './command/top.js'
import { runCommand } from './run-command.js'

await runCommand(TOP, process.argv.slice(2), 'scaler_top')

#!/usr/bin/env node
// The executable scaler_submit: runs one function, for shells.

import { SUBMIT } from './command/submit.js'
import { runCommand } from './run-command.js'

await runCommand(SUBMIT, process.argv.slice(2), 'scaler_submit')

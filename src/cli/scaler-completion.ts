#!/usr/bin/env node
// The executable scaler_completion: completion scripts for shells.

import { COMPLETION } from './completion/completion.js'
import { runCommand } from './run-command.js'

await runCommand(COMPLETION, process.argv.slice(2), 'scaler_completion')

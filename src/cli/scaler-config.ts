#!/usr/bin/env node
// The executable scaler_config: the settings of commands.

import { CONFIG } from './command/config.js'
import { runCommand } from './run-command.js'

await runCommand(CONFIG, process.argv.slice(2), 'scaler_config')

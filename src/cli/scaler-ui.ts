#!/usr/bin/env node
// The executable scaler_ui: serves a web page that shows a cluster.

import { UI } from './command/ui.js'
import { runCommand } from './run-command.js'

await runCommand(UI, process.argv.slice(2), 'scaler_ui')

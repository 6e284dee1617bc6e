#!/usr/bin/env node
// The executable scaler_doctor: checks a cluster.

import { DOCTOR } from './command/doctor.js'
import { runCommand } from './run-command.js'

await runCommand(DOCTOR, process.argv.slice(2), 'scaler_doctor')

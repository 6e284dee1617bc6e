#!/usr/bin/env node
// The executable scaler: all commands under one name.

import { runScaler } from './main.js'

await runScaler(process.argv.slice(2))

// The program of workerpool's threads, which registers their functions.

import workerpool from 'workerpool'
import { noop } from './pool-worker.js'

workerpool.worker({ noop })

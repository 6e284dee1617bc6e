// The program of workerpool's threads: they register what they can do.

import workerpool from 'workerpool'
import { noop } from './pool-worker.js'

workerpool.worker({ noop })

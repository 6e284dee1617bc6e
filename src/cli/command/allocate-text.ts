// What `scaler allocate list` prints.

import type { AllocatorInfo } from '../../client/monitor/cluster-info.js'
import type { CommandInput } from '../command.js'
import { printWidth, tableLines } from '../table.js'
import { ALLOCATOR_COLUMNS } from './cluster-columns.js'

/** A table, or a line that says that there are none. */
export function allocatorTable(
  allocators: readonly AllocatorInfo[],
  { color }: Pick<CommandInput, 'color'>,
): string {
  if (allocators.length === 0) return 'no allocators\n'
  const style = { width: printWidth(process.stdout), color }
  return `${tableLines({ columns: ALLOCATOR_COLUMNS, rows: allocators }, style).join('\n')}\n`
}

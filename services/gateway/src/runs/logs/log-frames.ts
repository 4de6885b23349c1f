import type { RunLogEnd, RunLogItem } from '@runledger/contracts/http/runs/run-logs';
import { positionId, type LogPosition } from './core/log-position.ts';
import type { ShownItem } from './core/log-items.ts';

/** A line, a cut or a notice as a server-sent event. */
export const itemFrame = ({ item, next }: ShownItem): string =>
  // A notice has no place of its own.
  'notice' in item
    ? eventFrame('notice', item)
    : `id: ${positionId(next)}\n${eventFrame(kindOf(item), item)}`;

export const logEndFrame = (position: LogPosition, end: RunLogEnd): string =>
  `id: ${positionId(position)}\n${eventFrame('end', end)}`;

const kindOf = (item: RunLogItem): 'line' | 'cut' => ('line' in item ? 'line' : 'cut');

const eventFrame = (event: string, data: object): string =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Logger } from '@runledger/event-log/connect/logger';
import { countLogSlots, dropOldLogs, logsFill } from '@runledger/event-log/streams/logs';
import { whileProjecting } from '../projection/while-projecting.ts';
import { fairPart } from './core/fair-part.ts';

export interface LogSharesOptions {
  readonly log: EventLog;
  readonly isProjecting: () => boolean;
  readonly logger: Logger;
}

const EVERY_MS = 2_000;
/** The broker drops the oldest logs of anybody when LOGS is full. What is written until the next look must fit. */
const FULL = 0.75;
const ROOM = 0.625;

/** Whose logs go when LOGS gets full: of the organisations that have most, the oldest. */
export const openLogShares = ({ log, isProjecting, logger }: LogSharesOptions): AsyncDisposable =>
  whileProjecting({
    failure: 'the logs of attempts could not be counted',
    everyMs: EVERY_MS,
    isProjecting,
    logger,
    work: () => shareLogs(log, logger),
  });

/** @throws {LogUnavailable} */
const shareLogs = async (log: EventLog, logger: Logger): Promise<void> => {
  const fill = await logsFill(log);
  if (fill < FULL) return;
  const slots = await countLogSlots(log);
  const all = [...slots.values()];
  const sum = all.reduce((total, each) => total + each, 0);
  // Slots are of about the same size, except the last one of each attempt.
  const part = fairPart(all, (sum * ROOM) / fill);
  if (part === undefined) return;
  for (const [org_id, used] of slots) {
    if (used <= part) continue;
    logger.warn({ org_id, dropped: used - part, kept: part }, 'LOGS is nearly full; old logs are dropped');
    await dropOldLogs(log, org_id, part);
  }
};

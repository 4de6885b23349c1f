import { createdAt } from '@runledger/event-log/messages/stream-identity';
import { waitFor } from '@runledger/testing/time/wait-for';
import { archiveRecords, positionKey } from '../../src/archive/store/archive-records.ts';
import type { TestBed } from '../fixtures/gateway/test-bed.ts';

/** Facts are archived some milliseconds after they were stored. */
export const ARCHIVES_AT_ONCE = { RUNLEDGER_ARCHIVE_AFTER_HOURS: '0.000001' };

/** Waits until everything that the log has now is archived. */
export const archivedUpTo = async ({ log }: Pick<TestBed, 'log'>): Promise<void> => {
  const { state } = await log.jsm.streams.info('RUNS');
  const key = positionKey(await createdAt(log, 'RUNS'));
  const { positions } = archiveRecords(log);
  await waitFor('the archive', async () => {
    const position = (await positions.get(key))?.value;
    return position !== undefined && position.sealing === null && position.sequence >= state.last_seq;
  });
};

import { EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import type { RunEvent } from '@runledger/contracts/events/run-event';
import { newUuid, orgId } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  aRun,
  assigned,
  cancelRequested,
  queued,
  started,
  succeeded,
  uploading,
} from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { FINAL_STATUSES, OPEN_STATUSES, type RunView } from '../../../src/views/run-view.ts';
import type { RunViews } from '../../../src/views/run-views.ts';
import { anOutput } from '../../fixtures/runs/an-output.ts';
import { folded } from '../../fixtures/runs/folded-runs.ts';

const day = (number: number): string => `2000-01-0${number}T00:00:00.000Z`;

/** What the gateway itself does to old runs, in every adapter. */
export const oldRunsConformance = (views: () => RunViews): void => {
  const createdAt = (time: string, ...events: readonly RunEvent[]): RunView => ({
    head: 1,
    run: { ...folded(...events), created_at: time },
    webhook: EMPTY_HISTORY,
  });

  describe('old runs', () => {
    it('of all organisations that have not ended are listed, the oldest first', async () => {
      const [one, two, three, four, over, late] = Array.from({ length: 6 }, () => aRun());
      if (!one || !two || !three || !four || !over || !late) throw new Error('there is none');
      await views().save([
        createdAt(day(3), queued(three), assigned(three)),
        createdAt(day(1), queued(one)),
        createdAt(day(2), queued(over), cancelRequested(over)),
        createdAt(day(4), queued(four), assigned(four), started(four), uploading(four)),
        createdAt(day(2), queued(two), assigned(two), started(two)),
        createdAt(day(5), queued(late)),
      ]);
      const createdBefore = new Date(day(5));
      const statuses = OPEN_STATUSES;
      expect(await views().listOldest({ statuses, createdBefore, limit: 10 })).toEqual({
        items: [one, two, three, four],
        end: undefined,
      });
      const { items, end } = await views().listOldest({ statuses, createdBefore, limit: 3 });
      expect(items).toEqual([one, two, three]);
      expect(await views().listOldest({ statuses, createdBefore, after: end, limit: 3 })).toEqual({
        items: [four],
        end: undefined,
      });
    });

    it('of all organisations that have ended and are not notified are listed, the oldest first', async () => {
      const [one, two, told, open, silent, late] = Array.from({ length: 6 }, () => aRun());
      if (!one || !two || !told || !open || !silent || !late) throw new Error('there is none');
      const request = { webhook: 'https://hooks.example/done' };
      const ended = (key: RunKey, number: number): RunView =>
        createdAt(day(number), queued(key, request), cancelRequested(key));
      const [running, success] = [
        { status: 'running', round: 1, updated_at: day(6) },
        { status: 'success', round: 1, updated_at: day(6), tries: 1 },
      ] as const;
      await views().save([
        { ...ended(two, 2), webhook: { head: 2, state: running } },
        ended(one, 1),
        { ...ended(told, 3), webhook: { head: 2, state: success } },
        createdAt(day(3), queued(open, request)),
        createdAt(day(3), queued(silent), cancelRequested(silent)),
        ended(late, 5),
      ]);
      const createdBefore = new Date(day(5));
      const { items, end } = await views().listUnsettled({ createdBefore, limit: 1 });
      expect(items).toEqual([one]);
      expect(await views().listUnsettled({ createdBefore, after: end, limit: 10 })).toEqual({
        items: [two],
        end: undefined,
      });
    });

    it('of one organisation that have ended are listed, the oldest first', async () => {
      const org = orgId(newUuid());
      const [one, two, three, open, late] = Array.from({ length: 5 }, () => aRun(org));
      if (!one || !two || !three || !open || !late) throw new Error('there is none');
      const cancelled = (key: RunKey) => [queued(key), cancelRequested(key)];
      const success = (key: RunKey) => [queued(key), assigned(key), started(key), succeeded(key)];
      await views().save([
        createdAt(day(3), ...success(three)),
        createdAt(day(1), ...success(one)),
        createdAt(day(2), ...cancelled(two)),
        createdAt(day(2), queued(open)),
        createdAt(day(2), ...success(aRun())),
        createdAt(day(5), ...success(late)),
      ]);
      const query = { org_id: org, statuses: FINAL_STATUSES, createdBefore: new Date(day(5)) };
      const { items, end } = await views().listOldest({ ...query, limit: 2 });
      expect(items).toEqual([one, two]);
      expect(await views().listOldest({ ...query, after: end, limit: 2 })).toEqual({
        items: [three],
        end: undefined,
      });
    });

    it('with files are listed from their end on, until the view says that the files are gone', async () => {
      const org = orgId(newUuid());
      const [first, second, late, uploads, bare] = Array.from({ length: 5 }, () => aRun(org));
      if (!first || !second || !late || !uploads || !bare) throw new Error('there is none');
      const ended = (key: RunKey, time: string, files = true): RunView => {
        const events = [queued(key), assigned(key), started(key), succeeded(key, files ? [anOutput] : [])];
        return { head: 4, run: { ...folded(...events), updated_at: time }, webhook: EMPTY_HISTORY };
      };
      const one = ended(first, day(1));
      const two = ended(second, day(2));
      const unfinished = createdAt(
        day(1),
        queued(uploads),
        assigned(uploads),
        started(uploads),
        uploading(uploads),
      );
      await views().save([
        two,
        one,
        ended(late, day(5)),
        ended(bare, day(1), false),
        ended(aRun(), day(1)),
        { ...unfinished, run: { ...unfinished.run, updated_at: day(1) } },
      ]);
      const query = { org_id: org, endedBefore: new Date(day(5)) };
      expect(await views().listWithFiles({ ...query, limit: 10 })).toEqual([one, two]);
      expect(await views().listWithFiles({ ...query, limit: 1 })).toEqual([one]);
      await views().save([{ ...one, run: { ...one.run, output_bytes: 0 } }]);
      expect(await views().listWithFiles({ ...query, limit: 10 })).toEqual([two]);
    });
  });
};

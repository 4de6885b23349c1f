import { newUuid, orgId } from '@runledger/contracts/ids';
import { isEnded, type Run } from '@runledger/contracts/fold/run';
import {
  aRun,
  assigned,
  cancelRequested,
  deleted,
  failed,
  queued,
  requeued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { isImpossible } from '@runledger/contracts/fold/chain';
import { evolveRun } from '@runledger/contracts/fold/evolve-run';
import { beforeAll, describe, expect, it } from 'vitest';
import type { RunActivity } from '../../../src/views/counts.decide.ts';
import type { RunViews } from '../../../src/views/run-views.ts';
import { aView, folded } from '../../fixtures/runs/folded-runs.ts';

const BEGIN = Date.UTC(2026, 0, 1);
const timeAt = (ms: number): string => new Date(BEGIN + ms).toISOString();
const at = (ms: number): Date => new Date(BEGIN + ms);

type Times = readonly [created: number, started: number | undefined, ended: number | undefined];

/** Runs at every combination of places: before, at the ends of, in and after the intervals of some queries. */
const TIMES: readonly Times[] = (() => {
  const moments = [-5, 0, 9, 10, 25, 30, 99];
  return moments.flatMap((created) =>
    [...moments, undefined].flatMap((start) =>
      [...moments, undefined]
        .filter((end) => (start ?? created) >= created && (end ?? Infinity) >= (start ?? created))
        .map((end): Times => [created, start, end]),
    ),
  );
})();

const runAt = (org: ReturnType<typeof orgId>, [created, start, end]: Times, index: number): Run => {
  const key = aRun(org);
  const begun = start === undefined ? [] : [assigned(key), started(key)];
  const ends =
    start === undefined ? [cancelRequested(key)] : [index % 2 === 0 ? succeeded(key) : failed(key)];
  const run = folded(queued(key), ...begun, ...(end === undefined ? [] : ends));
  return {
    ...run,
    number: index + 1,
    created_at: timeAt(created),
    ...('started_at' in run && run.started_at !== null && { started_at: timeAt(start ?? 0) }),
    ...('ended_at' in run && { ended_at: timeAt(end ?? 0) }),
  };
};

/** What each run did, looked at one by one. */
const expected = (runs: readonly Run[], from: number, to: number, step: number): RunActivity => {
  const times = Array.from({ length: (to - from) / step }, (_, place) => from + place * step);
  const ms = (time: string | null | undefined): number => (time ? Date.parse(time) - BEGIN : Infinity);
  const startOf = (run: Run): number => ms('started_at' in run ? run.started_at : null);
  const endOf = (run: Run): number => ms(isEnded(run) ? run.ended_at : null);
  const countBy = (isIt: (run: Run, begin: number, end: number) => boolean): number[] =>
    times.map((begin) => runs.filter((run) => isIt(run, begin, begin + step)).length);
  const within = (time: number, begin: number, end: number): boolean => time >= begin && time < end;
  const ended = (status: string): number[] =>
    countBy((run, begin, end) => run.status === status && within(endOf(run), begin, end));
  return {
    queued: countBy((run, begin, end) => within(ms(run.created_at), begin, end)),
    started: countBy((run, begin, end) => within(startOf(run), begin, end)),
    ended: {
      success: ended('success'),
      failed: ended('failed'),
      timeout: ended('timeout'),
      cancelled: ended('cancelled'),
    },
    waiting: countBy((run, _, end) => ms(run.created_at) < end && startOf(run) >= end && endOf(run) >= end),
    running: countBy((run, _, end) => startOf(run) < end && endOf(run) >= end),
  };
};

/** What runs did over time, in every adapter. */
export const runActivityConformance = (views: () => RunViews): void => {
  describe('the activity of runs', () => {
    const org = orgId(newUuid());
    const runs = TIMES.map((times, index) => runAt(org, times, index));
    const activity = (from: number, to: number, stepMs: number, org_id = org) =>
      views().runActivity({ org_id, from: at(from), to: at(to), stepMs });
    beforeAll(async () => {
      await views().save(runs.map((run) => aView(1, run)));
      await views().save([aView(1, runAt(orgId(newUuid()), [0, 9, 25], 0))]);
    });

    it.each([
      [0, 30, 10],
      [0, 30, 30],
      [-10, 120, 5],
      [10, 25, 5],
      [9, 10, 1],
      [100, 200, 50],
      [-200, -100, 50],
    ])('from %d to %d in steps of %d is what each run did', async (from, to, step) => {
      expect(await activity(from, to, step)).toEqual(expected(runs, from, to, step));
    });

    it('of an organisation without runs is nothing', async () => {
      expect(await activity(0, 20, 10, orgId(newUuid()))).toEqual(expected([], 0, 20, 10));
    });

    it('has the first start of a run that was queued again, and follows the run to its end and deletion', async () => {
      const key = aRun(orgId(newUuid()));
      const begun = [queued(key), assigned(key), started(key)];
      const start = folded(...begun);
      const again = folded(...begun, requeued(key), assigned(key, { attempt: 2 }), started(key, 2));
      const from = Date.parse(start.created_at) - BEGIN;
      const read = () => activity(from, from + 15_000, 1500, key.org_id);
      await views().save([aView(1, start)]);
      const first = await read();
      expect(first?.started.indexOf(1)).toBe(2);
      await views().save([aView(2, again)]);
      expect(await read()).toEqual(first);
      const gone = evolveRun(folded(queued(key), cancelRequested(key)), {
        event: deleted(key),
        sequence: 9,
        time: timeAt(99_000),
      });
      if (isImpossible(gone)) throw new Error(gone.impossible);
      await views().save([{ head: 9, run: gone, webhook: { head: 0, state: undefined } }]);
      expect((await read())?.queued).toEqual(Array.from({ length: 10 }, () => 0));
    });
  });
};

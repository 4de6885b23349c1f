import { CancelRunsResponse } from '@runledger/contracts/http/runs/runs';
import type { Client } from '../api-client/client.ts';
import { counted } from '@runledger/contracts/counted';
import { EXIT } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { ANSWER_WITHIN_MS, doWithMany } from './bulk-runs.ts';
import type { BulkOptions } from './bulk-runs.ts';

interface Counts {
  readonly matched: number;
  readonly cancelled: number;
  readonly requested: number;
  readonly failed: number;
}

/** Cancels the runs that match the filter and have not ended, after a person has agreed. */
export const cancelRuns = (client: Client, options: BulkOptions): Promise<ExitCode> =>
  doWithMany(client, options, {
    verb: 'cancel',
    concerned: 'have not ended',
    request: (body) =>
      client.call(CancelRunsResponse, {
        method: 'POST',
        path: '/runs/cancel',
        body,
        answerWithinMs: ANSWER_WITHIN_MS,
      }),
    none: { matched: 0, cancelled: 0, requested: 0, failed: 0 },
    add: (counts: Counts, page) => ({
      matched: counts.matched + page.matched,
      cancelled: counts.cancelled + page.cancelled,
      requested: counts.requested + page.requested,
      failed: counts.failed + page.failed,
    }),
    isStopped: () => false,
    outcome,
    mayHaveChanged: ({ cancelled, requested }) => cancelled + requested > 0,
    conclude: (counts) => conclude(client, options, counts),
  });

const outcome = ({ cancelled, requested }: Counts): string => {
  const stopping =
    requested === 0
      ? ''
      : ` ${requested === 1 ? '1 running run ends' : `${requested} running runs end`} within the grace period.`;
  return `${counted(cancelled, 'run')} cancelled.${stopping}`;
};

const conclude = ({ screen }: Client, { json = false }: BulkOptions, counts: Counts): ExitCode => {
  const { matched, cancelled, requested, failed } = counts;
  const before = matched - cancelled - requested;
  if (before > 0 && !json)
    screen.hint(`${counted(before, 'run')} had a cancel request before, and will end.`);
  if (failed === 0) return EXIT.done;
  screen.hint(
    `${counted(failed, 'run')} could not be cancelled now: they changed too often, or could not be read. Try again in a moment.`,
  );
  return EXIT.notDone;
};

import { CancelRunsResponse } from '@runledger/contracts/http/runs/runs';
import type { Client } from '../api-client/client.ts';
import { counted } from '../output/counted.ts';
import { EXIT, CommandError } from '../output/command-error.ts';
import type { ExitCode } from '../output/command-error.ts';
import { MAX_PAGES_COUNTED, pages } from '../api-client/pages.ts';
import { retryForAMinute } from '../api-client/retry-for-a-minute.ts';
import type { Json } from '../command/command-context.ts';
import { runFilterOf } from './run-filter.ts';
import type { RunFilterOptions } from './run-filter.ts';

/** A page has up to 1,000 runs, and the service decides about each. */
const ANSWER_WITHIN_MS = 120_000;

export interface CancelRunsOptions extends RunFilterOptions, Json {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** Cancels the runs that match the filter and have not ended, after a person has agreed. */
export const cancelRuns = async (client: Client, options: CancelRunsOptions): Promise<ExitCode> => {
  const { screen } = client;
  const { all, dryRun = false, yes = false, json = false } = options;
  const filter = await runFilterOf(client.call, options);
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  if (isFiltered === (all ?? false)) throw new CommandError(isFiltered ? BOTH : NEITHER);

  if (yes && !dryRun) return cancelAll(client, filter, json);
  const { done: found, createdBefore } = await throughPages(client, filter, true);
  const many = `${found.complete ? '' : 'at least '}${counted(found.matched, 'run')}`;
  if (dryRun) {
    if (json) screen.printJson({ ...found, dry_run: true });
    else screen.print(`This would cancel ${many}. Nothing was changed.`);
    return EXIT.done;
  }
  if (createdBefore === null) return printOutcome(client, found, json);
  await agree(client, many);
  // The person has not agreed to cancel runs that were queued after the count.
  return cancelAll(client, { ...filter, created_before: createdBefore }, json);
};

const cancelAll = async (client: Client, filter: object, json: boolean): Promise<ExitCode> =>
  printOutcome(client, (await throughPages(client, filter, false)).done, json);

const NEITHER =
  'No filter was given. Choose runs with --deployment, --status and so on, or use --all for all runs that have not ended.';
const BOTH = 'A filter and --all exclude each other. Use one of them.';

const agree = async ({ screen }: Client, many: string): Promise<void> => {
  const answer = await screen.ask(`Cancel ${many}? [y/N] `);
  if (answer === undefined)
    throw new CommandError(
      `This would cancel ${many}, and there is no terminal to ask. Nothing was changed. Use --yes.`,
    );
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandError('Nothing was changed.');
};

interface Done {
  readonly matched: number;
  readonly cancelled: number;
  readonly requested: number;
  readonly failed: number;
  readonly complete: boolean;
}

interface Through {
  readonly done: Done;
  /** A time just after the newest run that was found; null without one. */
  readonly createdBefore: string | null;
}

/** A repeated request does no harm, so that a lost answer is requested again. */
const throughPages = async ({ call, screen }: Client, filter: object, dry_run: boolean): Promise<Through> => {
  const cancelPage = (cursor: string | undefined) =>
    call(CancelRunsResponse, {
      method: 'POST',
      path: '/runs/cancel',
      body: { filter, dry_run, cursor },
      answerWithinMs: ANSWER_WITHIN_MS,
    });
  const readPage = (cursor: string | undefined) => retryForAMinute(() => cancelPage(cursor), screen);
  let createdBefore: string | null = null;
  let done: Done = { matched: 0, cancelled: 0, requested: 0, failed: 0, complete: false };
  let pagesWithRuns = 0;
  try {
    for await (const page of pages(readPage)) {
      createdBefore ??= page.created_before;
      done = {
        matched: done.matched + page.matched,
        cancelled: done.cancelled + page.cancelled,
        requested: done.requested + page.requested,
        failed: done.failed + page.failed,
        complete: page.next_cursor === null,
      };
      screen.redraw(`${done.matched} so far`);
      if (page.matched > 0) pagesWithRuns += 1;
      if (dry_run && pagesWithRuns === MAX_PAGES_COUNTED) break;
    }
  } catch (error) {
    if (done.cancelled + done.requested > 0) screen.hint(`${outcome(done)} Then the command failed:`);
    throw error;
  }
  return { done, createdBefore };
};

const printOutcome = ({ screen }: Client, done: Done, json: boolean): ExitCode => {
  if (json) screen.printJson({ ...done, dry_run: false });
  else screen.print(outcome(done));
  const before = done.matched - done.cancelled - done.requested;
  if (before > 0 && !json)
    screen.hint(`${counted(before, 'run')} had a cancel request before, and will end.`);
  if (done.failed === 0) return EXIT.done;
  screen.hint(
    `${counted(done.failed, 'run')} could not be cancelled now: they changed too often, or could not be read. Try again in a moment.`,
  );
  return EXIT.notDone;
};

const outcome = ({ cancelled, requested }: Pick<Done, 'cancelled' | 'requested'>): string => {
  const stopping =
    requested === 0
      ? ''
      : ` ${requested === 1 ? '1 running run ends' : `${requested} running runs end`} within the grace period.`;
  return `${counted(cancelled, 'run')} cancelled.${stopping}`;
};

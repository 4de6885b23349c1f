import { counted } from '@runledger/contracts/events/fact-sentence';
import { CancelRunsResponse } from '@runledger/contracts/http/runs/runs';
import type { Client } from '../command/command-context.ts';
import { MAX_PAGES_COUNTED, pages, retryForAMinute } from '../api/api-call.ts';
import { EXIT, CommandError, type ExitCode } from '../command/command-error.ts';
import { runFilterOf, type RunFilterOptions } from './run-options.ts';

/** A page has up to 1,000 runs, and the service decides about each. */
export const ANSWER_WITHIN_MS = 120_000;

export interface BulkOptions extends RunFilterOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

interface BulkRequest {
  readonly filter: object;
  readonly dry_run: boolean;
  readonly cursor: string | undefined;
}

interface BulkPage {
  readonly matched: number;
  readonly created_before: string | null;
  readonly next_cursor: string | null;
}

interface BulkCounts {
  readonly matched: number;
}

/** What a command does with all runs that match. */
interface BulkCommand<Page extends BulkPage, Counts extends BulkCounts> {
  /** `Cancel 3 runs?` */
  readonly verb: string;
  /** Of runs, such as "have not ended". */
  readonly concerned: string;
  /** A repeated request does no harm, so that a lost answer is requested again. */
  readonly request: (request: BulkRequest) => Promise<Page>;
  readonly none: Counts;
  readonly add: (counts: Counts, page: Page) => Counts;
  /** Whether no further page can be done now. */
  readonly isStopped: (counts: Counts) => boolean;
  /** What was done, in a sentence. */
  readonly outcome: (counts: Counts) => string;
  /** Whether a person should know of it although the command failed then. */
  readonly mayHaveChanged: (counts: Counts) => boolean;
  /** Says what was not done, and what to do about it. */
  readonly conclude: (counts: Counts) => ExitCode;
}

/** Shows how many runs match, and does it after a person has agreed. */
export const doWithMany = async <Page extends BulkPage, Counts extends BulkCounts>(
  client: Client,
  options: BulkOptions,
  command: BulkCommand<Page, Counts>,
): Promise<ExitCode> => {
  const { screen } = client;
  const { all, dryRun = false, yes = false } = options;
  const filter = await runFilterOf(client.call, options);
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  if (isFiltered === (all ?? false)) throw new CommandError(isFiltered ? BOTH : neither(command.concerned));

  const conclude = ({ done, complete }: Through<Counts>): ExitCode => {
    screen.result({ ...done, complete, dry_run: false }, () => command.outcome(done));
    return command.conclude(done);
  };
  if (yes && !dryRun) return conclude(await throughPages(client, command, filter, false));
  const found = await throughPages(client, command, filter, true);
  const { done, complete, createdBefore } = found;
  const would = `This would ${command.verb} ${complete ? '' : 'at least '}${counted(done.matched, 'run')}`;
  if (dryRun) {
    screen.result({ ...done, complete, dry_run: true }, () => `${would}. Nothing was changed.`);
    return EXIT.done;
  }
  if (createdBefore === null) return conclude(found);
  await agree(client, command.verb, would);
  // The person has not agreed to more than was counted: runs that were queued after it do not match.
  const agreed = { ...filter, created_before: createdBefore };
  return conclude(await throughPages(client, command, agreed, false));
};

const neither = (concerned: string): string =>
  `No filter was given. Choose runs with --deployment, --status and so on, or use --all for all runs that ${concerned}.`;
const BOTH = 'A filter and --all exclude each other. Use one of them.';

const agree = async ({ screen }: Client, verb: string, would: string): Promise<void> => {
  const many = would.slice(`This would ${verb} `.length);
  const answer = await screen.ask(`${verb.charAt(0).toUpperCase()}${verb.slice(1)} ${many}? [y/N] `);
  if (answer === undefined)
    throw new CommandError(`${would}, and there is no terminal to ask. Nothing was changed. Use --yes.`);
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandError('Nothing was changed.');
};

interface Through<Counts> {
  readonly done: Counts;
  /** There is no further page. */
  readonly complete: boolean;
  /** A time just after the newest run that was found; null without one. */
  readonly createdBefore: string | null;
}

const throughPages = async <Page extends BulkPage, Counts extends BulkCounts>(
  { screen }: Client,
  { request, none, add, isStopped, outcome, mayHaveChanged }: BulkCommand<Page, Counts>,
  filter: object,
  dry_run: boolean,
): Promise<Through<Counts>> => {
  const readPage = (cursor: string | undefined) =>
    retryForAMinute(() => request({ filter, dry_run, cursor }), screen);
  let createdBefore: string | null = null;
  let [done, complete] = [none, false];
  let pagesWithRuns = 0;
  try {
    for await (const page of pages(readPage)) {
      createdBefore ??= page.created_before;
      [done, complete] = [add(done, page), page.next_cursor === null];
      screen.redraw(`${done.matched} so far`);
      if (page.matched > 0) pagesWithRuns += 1;
      if (isStopped(done) || (dry_run && pagesWithRuns === MAX_PAGES_COUNTED)) break;
    }
  } catch (error) {
    if (!dry_run && mayHaveChanged(done)) screen.hint(`${outcome(done)} Then the command failed:`);
    throw error;
  }
  return { done, complete, createdBefore };
};

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
    conclude: (counts) => conclude(client, counts),
  });

const outcome = ({ cancelled, requested }: Counts): string => {
  const stopping =
    requested === 0
      ? ''
      : ` ${requested === 1 ? '1 running run ends' : `${requested} running runs end`} within the grace period.`;
  return `${counted(cancelled, 'run')} cancelled.${stopping}`;
};

const conclude = ({ screen }: Client, counts: Counts): ExitCode => {
  const { matched, cancelled, requested, failed } = counts;
  const before = matched - cancelled - requested;
  if (before > 0 && !screen.isJson())
    screen.hint(`${counted(before, 'run')} had a cancel request before, and will end.`);
  if (failed === 0) return EXIT.done;
  screen.hint(
    `${counted(failed, 'run')} could not be cancelled now: they changed too often, or could not be read. Try again in a moment.`,
  );
  return EXIT.notDone;
};

import { RedeliverResponse, RunRedelivery } from '@runledger/contracts/http/webhooks';
import { counted } from '@runledger/contracts/events/fact-sentence';
import { nullable } from '@runledger/contracts/schemas';
import { Type, type Static } from 'typebox';
import { ANSWER_WITHIN_MS, at, MAX_PAGES_COUNTED, pages } from '../api/api-call.ts';
import type { Client } from '../command/command-context.ts';
import { plain, shorten } from '../command/command-error.ts';
import { listPages, type ListOptions } from '../command/list-pages.ts';
import { inColumns, printTable, type Column } from '../command/table.ts';
import { runIdOf } from '../runs/run-reference.ts';
import { checkOneOrFailed } from '../command/option-values.ts';

/** More lines than one delivery has. Many redeliveries may have more. */
const MAX_LINES = 100;

/** Shows the delivery attempts of a run, and the state of the delivery. */
export const showDeliveries = async ({ call, screen }: Client, run: string): Promise<void> => {
  const read = await call(RunDeliveries, { method: 'GET', path: at`/run/${run}/deliveries` });
  if (screen.isJson()) return screen.printJson(read);
  if (read.webhook !== null) screen.print(`webhook  ${plain(read.webhook)}`);
  const shown = read.tries.slice(-MAX_LINES);
  const hidden = read.tries.length - shown.length;
  if (hidden > 0) screen.hint(`${hidden} earlier delivery attempts are left out; --json shows all.`);
  const intermediate = read.intermediate === null ? [] : [{ ...read.intermediate, intermediate: true }];
  printTable(screen, attemptColumns, [...intermediate, ...shown]);
  screen.print(deliveryStateSentence(read));
};

interface FilterOptions {
  readonly host?: string;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
}

const filterOf = (
  { host, createdAfter, createdBefore }: FilterOptions,
  status: string | undefined,
): Readonly<Record<string, string | undefined>> => ({
  status,
  host,
  created_after: createdAfter,
  created_before: createdBefore,
});

interface DeliveryListOptions extends FilterOptions, ListOptions {
  readonly status?: string;
}

/** Lists runs with a webhook, newest first. */
export const listDeliveries = ({ call, screen }: Client, options: DeliveryListOptions): Promise<void> =>
  listPages(screen, options, {
    readPage: async (span) => {
      const page = await call(DeliveriesPage, {
        method: 'GET',
        path: '/webhooks/deliveries',
        query: { ...filterOf(options, options.status), ...span },
        answerWithinMs: ANSWER_WITHIN_MS,
      });
      return { items: page.deliveries, next_cursor: page.next_cursor };
    },
    ...inColumns(screen, listedColumns),
    none: 'No run with a webhook matches.',
    further: 'Use --created-before to continue.',
  });

interface RedeliverOptions extends FilterOptions {
  readonly failed?: boolean;
  readonly dryRun?: boolean;
}

/** Sends one final notification again, or all failed ones. */
export const redeliver = async (
  client: Client,
  run: string | undefined,
  options: RedeliverOptions,
): Promise<void> => {
  const { failed = false, dryRun, host, createdAfter, createdBefore } = options;
  const filter = [dryRun, host, createdAfter, createdBefore];
  checkOneOrFailed({ command: 'redeliver', what: 'deliveries' }, { run, failed, filter });
  if (run === undefined) return redeliverFailed(client, options);
  const id = await runIdOf(client.call, run);
  client.screen.result(
    await client.call(RunRedelivery, { method: 'POST', path: at`/run/${id}/redeliver` }),
    ({ run_id }) =>
      `The notification of run ${plain(run_id)} is sent again. See it with: runledger deliveries ${plain(run_id)}`,
  );
};

/** Goes through all pages once, so that each run is requested at most once, even if its receiver refuses again at once. */
const redeliverFailed = async ({ call, screen }: Client, options: RedeliverOptions): Promise<void> => {
  const dryRun = options.dryRun ?? false;
  const filter = filterOf(options, 'failed');
  const requestPage = (cursor: string | undefined) =>
    call(RedeliverResponse, {
      method: 'POST',
      path: '/webhooks/redeliver',
      body: { filter, dry_run: dryRun, cursor },
    });
  let complete = false;
  let [matched, requested] = [0, 0];
  try {
    for await (const page of pages(requestPage, dryRun ? MAX_PAGES_COUNTED : undefined)) {
      matched += page.matched;
      requested += page.requested;
      complete = page.next_cursor === null;
      screen.redraw(`${dryRun ? matched : requested} so far`);
    }
  } catch (error) {
    if (requested > 0)
      screen.hint(`${counted(requested, 'notification')} will be sent again. Then the command failed:`);
    throw error;
  }
  screen.result({ matched, requested, complete, dry_run: dryRun }, () =>
    dryRun
      ? `${complete ? '' : 'At least '}${counted(matched, 'notification')} would be sent again. Nothing was changed.`
      : `${counted(requested, 'notification')} will be sent again.`,
  );
  if (!dryRun && matched > requested)
    screen.hint(
      `${matched - requested} of them could not be sent again, or need not be: see runledger webhooks --status failed.`,
    );
};

const LONGEST = 160;
const LONGEST_WHY = 400;

/** An attempt to deliver the final notification, or the last intermediate one. */
type Attempt = AttemptResponse & { readonly intermediate?: boolean };

/** One delivery attempt: its time, number, result, the time of each phase, and the answer. */
const attemptColumns: readonly Column<Attempt>[] = [
  { title: 'STARTED', width: 24, is: 'time', of: ({ started_at }) => started_at },
  { title: 'ATTEMPT', width: 12, of: (made) => (made.intermediate ? 'intermediate' : attemptName(made)) },
  {
    title: 'RESULT',
    width: 17,
    of: ({ status, reason }) => (status === null ? reason : `${status} ${reason}`),
  },
  {
    title: 'PHASES, ANSWER',
    width: 0,
    of: (made) => wordsOf([phaseWords(made), messageOf(made), answerWords(made)]),
  },
];

const messageOf = ({ message }: AttemptResponse): string => shorten(plain(message), LONGEST);

const wordsOf = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('  ');

const attemptName = ({ round, try: number }: AttemptResponse): string =>
  round === 1 ? `attempt ${number}` : `round ${round}, attempt ${number}`;

/** The phases that happened, such as `dns 2 ms, connect 1 ms, wait 15.0 s`. */
const phaseWords = ({ phases }: AttemptResponse): string =>
  (['dns', 'connect', 'tls', 'wait', 'body'] as const)
    .flatMap((phase) => {
      const seconds = phases[phase];
      return seconds === null ? [] : [`${phase} ${duration(seconds)}`];
    })
    .join(', ');

const duration = (seconds: number): string =>
  seconds < 1 ? `${Math.round(seconds * 1_000)} ms` : `${seconds.toFixed(1)} s`;

/** Empty for an accepted attempt, whose answer explains nothing. */
const answerWords = ({ reason, answer }: AttemptResponse): string => {
  const text = plain(answer ?? '');
  return reason === 'accepted' || text === '' ? '' : `answered "${shorten(text, LONGEST)}"`;
};

/** The state of the delivery, and what to do about it. */
const deliveryStateSentence = (run: RunDeliveries): string => {
  const why = run.message === null ? '' : `: ${shorten(plain(run.message).replace(/\.$/, ''), LONGEST_WHY)}`;
  switch (run.webhook_status) {
    case null:
      return 'The run was queued without a webhook.';
    case 'not-started':
      return 'Nothing was sent yet. The final notification follows the end of the run.';
    case 'success':
      return 'Delivered: the receiver accepted the final notification.';
    case 'failed':
      return run.given_up_reason === 'log_expired'
        ? `Failed${why}.`
        : `Failed${why}. Send it again with: runledger redeliver ${plain(run.run_id)}`;
    default:
      return runningSentence(run, why);
  }
};

const runningSentence = (run: RunDeliveries, why: string): string => {
  if (run.state === 'deferred')
    return `Deferred${why}. One notification is sent as a probe after a while, and the others follow when the receiver accepts it.`;
  if (run.state === null) return `The webhook is ${plain(run.webhook_status ?? '')}${why}.`;
  return run.next_try_at === null
    ? `The next attempt is running${why}.`
    : `The next attempt follows at ${plain(run.next_try_at)}${why}.`;
};

/** A run with a webhook. */
const listedColumns: readonly Column<ListedDelivery>[] = [
  { title: 'CHANGED', width: 24, is: 'time', of: ({ updated_at }) => updated_at },
  { title: 'RUN', width: 36, of: ({ run_id }) => run_id },
  { title: 'STATE', width: 11, is: 'status', of: (listed) => stateWords(listed) },
  { title: 'ATTEMPTS', width: 8, of: ({ tries }) => String(tries) },
  {
    title: 'WHY',
    width: 17,
    of: ({ given_up_reason, last_reason }) => given_up_reason ?? last_reason ?? null,
  },
  { title: 'NEXT ATTEMPT', width: 24, is: 'time', of: ({ next_try_at }) => next_try_at },
  { title: 'WEBHOOK', width: 0, of: ({ url }) => url },
];

const stateWords = ({ webhook_status, state }: ListedDelivery): string =>
  webhook_status === 'running' && state !== null ? state : (webhook_status ?? '');

/** Seconds; null for a phase that did not happen. */
const Phases = Type.Object({
  dns: nullable(Type.Number()),
  connect: nullable(Type.Number()),
  tls: nullable(Type.Number()),
  wait: nullable(Type.Number()),
  body: nullable(Type.Number()),
});

/** One request to the receiver. */
const AttemptResponse = Type.Object({
  webhook_id: Type.String(),
  round: Type.Integer(),
  try: Type.Integer(),
  url: Type.String(),
  started_at: Type.String(),
  phases: Phases,
  reason: Type.String(),
  message: Type.String(),
  status: nullable(Type.Integer()),
  answer: nullable(Type.String()),
});
type AttemptResponse = Static<typeof AttemptResponse>;

const deliveryState = {
  webhook_status: nullable(Type.String()),
  round: Type.Integer(),
  state: nullable(Type.String()),
  next_try_at: nullable(Type.String()),
  given_up_reason: nullable(Type.String()),
  message: nullable(Type.String()),
};

/** The members that commands show of a run's notifications. `--json` prints all members of the answer. */
const RunDeliveries = Type.Object({
  run_id: Type.String(),
  webhook: nullable(Type.String()),
  ...deliveryState,
  tries: Type.Array(AttemptResponse),
  /** The latest intermediate notification. */
  intermediate: nullable(AttemptResponse),
});
type RunDeliveries = Static<typeof RunDeliveries>;

/** A run with a webhook, in a list. */
const ListedDelivery = Type.Object({
  run_id: Type.String(),
  url: Type.String(),
  ...deliveryState,
  tries: Type.Integer(),
  last_reason: nullable(Type.String()),
  updated_at: Type.String(),
});
type ListedDelivery = Static<typeof ListedDelivery>;

const DeliveriesPage = Type.Object({
  deliveries: Type.Array(ListedDelivery),
  next_cursor: nullable(Type.String()),
});
type DeliveriesPage = Static<typeof DeliveriesPage>;

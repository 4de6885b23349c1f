import { plain, shorten } from '../output/plain-text.ts';
import type { Column } from '../output/table.ts';
import type { ListedDelivery, RunDeliveries, ShownAttempt } from '../api-client/delivery-responses.ts';

const LONGEST = 160;
const LONGEST_WHY = 400;

/** An attempt to deliver the final notification, or the last intermediate one. */
type Attempt = ShownAttempt & { readonly intermediate?: boolean };

/** One delivery attempt: its time, number, result, the time of each phase, and the answer. */
export const attemptColumns: readonly Column<Attempt>[] = [
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

const messageOf = ({ message }: ShownAttempt): string => shorten(plain(message), LONGEST);

const wordsOf = (texts: readonly string[]): string => texts.filter((text) => text !== '').join('  ');

const attemptName = ({ round, try: number }: ShownAttempt): string =>
  round === 1 ? `attempt ${number}` : `round ${round}, attempt ${number}`;

/** The phases that happened, such as `dns 2 ms, connect 1 ms, wait 15.0 s`. */
const phaseWords = ({ phases }: ShownAttempt): string =>
  (['dns', 'connect', 'tls', 'wait', 'body'] as const)
    .flatMap((phase) => {
      const seconds = phases[phase];
      return seconds === null ? [] : [`${phase} ${duration(seconds)}`];
    })
    .join(', ');

const duration = (seconds: number): string =>
  seconds < 1 ? `${Math.round(seconds * 1_000)} ms` : `${seconds.toFixed(1)} s`;

/** Empty for an accepted attempt, whose answer explains nothing. */
const answerWords = ({ reason, answer }: ShownAttempt): string => {
  const text = plain(answer ?? '');
  return reason === 'accepted' || text === '' ? '' : `answered "${shorten(text, LONGEST)}"`;
};

/** The state of the delivery, and what to do about it. */
export const deliveryStateSentence = (run: RunDeliveries): string => {
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
export const listedColumns: readonly Column<ListedDelivery>[] = [
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

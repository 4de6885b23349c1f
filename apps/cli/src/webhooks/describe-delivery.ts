import { counted } from '@runledger/contracts/counted';
import { plain, shorten } from '../output/plain-text.ts';
import type { ListedDelivery, RunDeliveries, ShownAttempt } from '../api-client/delivery-responses.ts';

const LONGEST = 160;
const LONGEST_WHY = 400;

/** One delivery attempt: its time, number, result, the time of each phase, and the answer. */
export const attemptLine = (made: ShownAttempt, name = attemptName(made)): string =>
  columns([
    [made.started_at, 24],
    [name, 10],
    [made.status === null ? made.reason : `${made.status} ${made.reason}`, 17],
    [phaseWords(made), 0],
    [shorten(plain(made.message), LONGEST), 0],
    [answerWords(made), 0],
  ]);

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

/** A run with a webhook in one line. */
export const listedLine = (listed: ListedDelivery): string =>
  columns([
    [listed.updated_at, 24],
    [listed.run_id, 36],
    [stateWords(listed), 11],
    [counted(listed.tries, 'attempt'), 11],
    [listed.given_up_reason ?? listed.last_reason ?? '', 17],
    [listed.url, 0],
    [listed.next_try_at === null ? '' : `next ${listed.next_try_at}`, 0],
  ]);

const stateWords = ({ webhook_status, state }: ListedDelivery): string =>
  webhook_status === 'running' && state !== null ? state : (webhook_status ?? '');

/** Removes control characters. A column without a width is left out if it is empty. */
const columns = (texts: readonly (readonly [text: string, width: number])[]): string =>
  texts
    .map(([text, width]) => plain(text).padEnd(width))
    .filter((text) => text !== '')
    .join('  ')
    .trimEnd();

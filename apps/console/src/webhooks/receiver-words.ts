import type { Schemas } from '../api/schemas.ts';
import { counted } from '../ui/words.ts';

export type Receiver = Schemas['WebhookReceiver'];

/** The mark of each state: a shape and a colour, beside the word. */
export const MARKS = {
  closed: 'success',
  probing: 'running',
  open: 'failed',
} as const satisfies Record<Receiver['state'], string>;

/** What the state means for notifications. When an open breaker lets the next attempt through is said beside it. */
export const meaningOf = ({ state, shared, failures_in_a_row: failures }: Receiver): string => {
  switch (state) {
    case 'open':
      return shared ? 'nobody can connect to it' : `${counted(failures, 'attempt')} in a row failed`;
    case 'probing':
      return 'few attempts at a time, until it has accepted enough of them';
    case 'closed':
      return failures === 0 ? 'notifications are sent' : `${counted(failures, 'attempt')} in a row failed`;
  }
};

const HELD_UP: Readonly<Record<NonNullable<Receiver['held_up_by']>, string>> = {
  breaker: 'its breaker is open',
  probe: 'an attempt that decides is in flight',
  receiver_limit: 'as many are in flight as it may have',
  organisation_limit:
    'receivers of yours that fail, are slow or are new have all attempts in flight that they may have',
  notifier_limit: 'the notifier is busy with others',
  retry_delay: 'each waits for its next try',
};

/** How many notifications wait, and for what. */
export const waitingWords = ({ waiting, held_up_by, in_flight }: Receiver): string => {
  const count = waiting === null ? 'not counted in time' : waiting.toLocaleString('en');
  const inFlight = in_flight > 0 ? `, ${in_flight} in flight` : '';
  return `${count}${inFlight}${held_up_by === null ? '' : `: ${HELD_UP[held_up_by]}`}`;
};

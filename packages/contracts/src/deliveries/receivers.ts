import { Type, type Static } from 'typebox';
import { DeliveryAttemptResult } from '../events/webhook-event.ts';
import { MAX_WEBHOOK_URL } from '../limits.ts';
import { enumInWords } from '../schemas.ts';

/** Every notifier answers a `ReceiversRequest` here, each for the partitions that it holds. */
export const RECEIVERS_SUBJECT = 'request.notifier.receivers';

/** The most receivers in one response; fewer when they would not fit one message. */
export const MAX_LISTED_RECEIVERS = 500;
/** The most origins that a request names, and the longest one: together they fit a request. */
export const MAX_NAMED_ORIGINS = 200;
export const MAX_NAMED_ORIGIN = 300;
/** Of the message of a failure. */
export const MAX_FAILURE_MESSAGE = 300;

const Origin = Type.String({
  maxLength: MAX_WEBHOOK_URL,
  description: 'Scheme, host and port of the callback URLs.',
  examples: ['https://hooks.example.com'],
});

export const ReceiversRequest = Type.Object({
  org_id: Type.String({ format: 'uuid' }),
  /** Only receivers at this host, with its port unless it is the default port; null for all. */
  host: Type.Union([Type.String(), Type.Null()]),
  /** Origins to which the organisation has deliveries: a notifier that has just started does not know them all. */
  origins: Type.Array(Type.String({ maxLength: MAX_NAMED_ORIGIN }), { maxItems: MAX_NAMED_ORIGINS }),
});
export type ReceiversRequest = Static<typeof ReceiversRequest>;

const Time = (description: string): Type.TString =>
  Type.String({ format: 'date-time', description, examples: ['2026-01-31T09:30:00.000Z'] });
const orNull = <Schema extends Type.TSchema>(
  schema: Schema,
  description: string,
): Type.TUnion<[Schema, Type.TNull]> => Type.Union([schema, Type.Null()], { description });
const count = (description: string, example = 0): Type.TInteger =>
  Type.Integer({ minimum: 0, description, examples: [example] });

const State = enumInWords(
  {
    closed: 'Notifications are sent.',
    open: 'Too many attempts failed. Nothing is sent before `next_probe_at`.',
    probing:
      'The time of an opening is over. One attempt shows whether the receiver works again; then 2, 4 and 8 may be in flight.',
  },
  { description: 'The state of its circuit breaker.', examples: ['open'] },
);

const HeldUpBy = enumInWords(
  {
    breaker: 'Its breaker is open.',
    probe: 'Its breaker is probing, and the attempts that are in flight have to end first.',
    receiver_limit:
      'As many attempts are in flight as the receiver may have: `max_in_flight`, which grows by one with each success, up to 32, and is one after a failure.',
    organisation_limit:
      'Receivers of the organisation that fail, are slow or are new have all attempts in flight that they may have together.',
    notifier_limit: 'The notifier has all attempts in flight that it may have, of all organisations.',
    retry_delay: 'Each waits for the time of its next attempt.',
  },
  { description: 'What keeps the waiting notifications from being sent now.', examples: ['breaker'] },
);
export type HeldUpBy = Static<typeof HeldUpBy>;

const Failure = Type.Object(
  {
    at: Time('When the attempt ended.'),
    reason: DeliveryAttemptResult,
    status: orNull(
      Type.Integer({ description: 'The HTTP status of the response.', examples: [503] }),
      'Null without a response.',
    ),
    message: Type.String({
      maxLength: MAX_FAILURE_MESSAGE,
      description: 'The same for people.',
      examples: ['hooks.example.com answered 503.'],
    }),
  },
  { title: 'ReceiverFailure', description: 'An attempt of the organisation that failed.' },
);

/** One organisation's webhooks at one origin, as the notifier that holds the origin knows them. */
export const ReceiverState = Type.Object(
  {
    origin: Origin,
    state: State,
    shared: Type.Boolean({
      description:
        'Whether the state is that of the origin, which all organisations share: nobody can connect to it. Otherwise it is that of the organisation: it gets 5xx, 429 or no response in time.',
      examples: [false],
    }),
    since: orNull(
      Time('When the breaker came into this state.'),
      'Null for a breaker that never opened, and for one that is shared.',
    ),
    next_probe_at: orNull(Time('When an open breaker lets an attempt through.'), 'Null unless it is open.'),
    failures_in_a_row: count('Attempts of the organisation that failed since the last accepted one.', 5),
    failing_since: orNull(Time('When the first of these ended.'), 'Null when the last attempt did not fail.'),
    waiting: orNull(
      count(
        'Final notifications of the organisation that are neither accepted nor given up, with those in flight.',
        12,
      ),
      'Null when they could not be counted in time.',
    ),
    in_flight: count('Attempts of the organisation that are being made.'),
    max_in_flight: count('How many of its attempts may be in flight now; 0 while the breaker is open.', 1),
    held_up_by: orNull(HeldUpBy, 'Null when nothing waits.'),
    last_success_at: orNull(
      Time('When the receiver last accepted a notification of the organisation.'),
      'Null when it has accepted none since its notifier took it over.',
    ),
    last_failure: orNull(Failure, 'Null when no attempt has failed since its notifier took it over.'),
  },
  { title: 'ReceiverState' },
);
export type ReceiverState = Static<typeof ReceiverState>;

export const ReceiversResponse = Type.Object({
  /** That this notifier holds. */
  partitions: Type.Array(Type.Integer({ minimum: 0 })),
  /** In the order of `compareReceivers`. */
  receivers: Type.Array(ReceiverState, { maxItems: MAX_LISTED_RECEIVERS }),
  /** Whether there are more. */
  more: Type.Boolean(),
});
export type ReceiversResponse = Static<typeof ReceiversResponse>;

const RANKS = { open: 0, probing: 1, closed: 3 } as const satisfies Record<ReceiverState['state'], number>;
const FAILING_RANK = 2;

type Ranked = Pick<ReceiverState, 'origin' | 'state' | 'failures_in_a_row'>;

/** Those in trouble come first, and equal ones in the order of their origins. */
export const compareReceivers = (one: Ranked, other: Ranked): number =>
  rankOf(one) - rankOf(other) || (one.origin < other.origin ? -1 : 1);

const rankOf = ({ state, failures_in_a_row }: Ranked): number =>
  state === 'closed' && failures_in_a_row > 0 ? FAILING_RANK : RANKS[state];

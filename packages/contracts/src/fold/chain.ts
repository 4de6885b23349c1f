import type { EventReader } from '../events/event-envelope.ts';
import type { RunKey } from '../events/subjects.ts';

/** An event as the log holds it. `time` is the broker's timestamp, ISO 8601 in UTC with milliseconds. */
export interface FactOf<Event> {
  readonly event: Event;
  readonly sequence: number;
  readonly time: string;
}

/** A stored message of RUNS. `fence` is the filter that its append was conditional on. */
export interface StoredMessage {
  readonly subject: string;
  readonly sequence: number;
  /** The broker's timestamp, ISO 8601 in UTC with milliseconds. */
  readonly time: string;
  readonly fence: string | null;
  readonly expectedSequence: number | null;
  /** W3C trace context of its append, if it was traced. No decision depends on it. */
  readonly traceparent?: string | undefined;
  /** Parsed JSON; undefined when the payload is not JSON. */
  readonly body: unknown;
  /** The bytes of the body; undefined where only the body is known. */
  readonly data?: Uint8Array | undefined;
}

/** The id of a stored event; null for a message that is none. */
export const eventIdOf = ({ body }: Pick<StoredMessage, 'body'>): string | null =>
  typeof body === 'object' && body !== null && 'event_id' in body && typeof body.event_id === 'string'
    ? body.event_id
    : null;

/** A fact that cannot follow the current state. It changes nothing. */
export interface Impossible {
  readonly impossible: string;
}

/** No folded state has a member of this name. */
export const isImpossible = (result: unknown): result is Impossible =>
  typeof result === 'object' && result !== null && 'impossible' in result;

/**
 * The facts of one kind about one run. Each is appended on the condition that nothing was stored under the chain's
 * filter since the writer read it, so each follows the one before.
 */
export interface Chain<Type extends string, Event, State> {
  /** The filter that fences every append to the chain of this run, and by which the chain is read. */
  readonly filterOf: (key: RunKey) => string;
  /** The run whose chain the subject belongs to; undefined when it belongs to none. */
  readonly keyOf: (subject: string) => RunKey | undefined;
  readonly parse: EventReader<Type, Event>['parse'];
  readonly newerVersionOf: EventReader<Type, Event>['newerVersionOf'];
  readonly subjectOf: (event: Event) => string;
  /** Whether events of this type, of any version, are stored under this subject. One of a type that nobody knows yet may be under any. */
  readonly belongsUnder: (type: string, subject: string) => boolean;
  /**
   * The latest version in which the writer of this subject may write an event of this type, after what came before; 0 for none. One in a
   * later version is no fact, for readers of every release: only so may a reader go on behind a version, or a type, that it does not know.
   */
  readonly latestVersion: (state: State | undefined, subject: string, type: string) => number;
  readonly evolve: (state: State | undefined, fact: FactOf<Event>) => State | Impossible;
  readonly needs: (event: Event) => FactNeeds;
}

/**
 * What a fact needs of its run, since what came before it may have expired. `fact_before`: the fact that it follows. `state`:
 * when the log holds nothing else of the run, a reader that knows the run. `nothing`: it says everything, and a history may
 * begin with it.
 */
export type FactNeeds = 'fact_before' | 'state' | 'nothing';

/** The chain's filter for the run that the subject names; undefined when the subject is not one of this chain. */
export const fenceOf = (
  chain: Pick<Chain<never, never, never>, 'filterOf' | 'keyOf'>,
  subject: string,
): string | undefined => {
  const key = chain.keyOf(subject);
  return key && chain.filterOf(key);
};

/**
 * A reader's state of a chain. `head` is the sequence of the last message stored under its filter, accepted or not:
 * the broker compares the next append with it. 0 for an empty chain.
 */
export interface History<State> {
  readonly head: number;
  /** The fold of the accepted facts; undefined before the first. */
  readonly state: State | undefined;
}

export const EMPTY_HISTORY: History<never> = { head: 0, state: undefined };

export type Refusal = 'forged_fence' | 'wrong_subject' | 'invalid' | 'impossible';

/** The message follows one that this reader has not seen. Read the whole chain; if the gap remains, the chain is damaged. */
export interface Gap {
  readonly kind: 'gap';
  readonly after: number;
  readonly expected: number;
  readonly sequence: number;
}

/** A later release wrote it: the reader must stop and report it. */
export interface NewerEvent {
  readonly kind: 'newer_version';
  readonly type: string;
  readonly version: number;
  readonly sequence: number;
}

export type Accepted<Event, State> =
  | {
      readonly kind: 'accepted';
      readonly history: History<State>;
      readonly fact: FactOf<Event>;
      readonly state: State;
    }
  /** The broker stored it, but it is not part of the chain: report it, do not fold it. */
  | {
      readonly kind: 'refused';
      readonly history: History<State>;
      readonly refusal: Refusal;
      readonly why: string;
    }
  /** A redelivery. */
  | { readonly kind: 'known' }
  | Gap
  | NewerEvent;

/**
 * Adds the next stored message to a history. The broker also stores invalid appends (without a fence, or fenced on
 * another filter), so a message counts only if its fence is exactly the chain's and names the message before it. A
 * fact that needs nothing may also begin a history. It may follow one of which the log held nothing any more (fence 0), and so
 * may a fact that needs a state.
 */
export const acceptMessage = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  { head, state }: History<State>,
  message: StoredMessage,
): Accepted<Event, State> => {
  const { sequence, subject, fence, expectedSequence } = message;
  if (sequence <= head) return { kind: 'known' };
  const history = { head: sequence, state };
  const refuse = (refusal: Refusal, why: string): Accepted<Event, State> => ({
    kind: 'refused',
    history,
    refusal,
    why,
  });
  const own = fenceOf(chain, subject);
  if (own === undefined) return refuse('wrong_subject', `${subject} is not the subject of a fact`);
  if (fence !== own || expectedSequence === null) {
    return refuse('forged_fence', `the append was fenced on ${fence ?? 'nothing'}, not on ${own}`);
  }
  const parsed = chain.parse(message.body);
  const ownSubject = parsed.kind === 'event' ? chain.subjectOf(parsed.event) : undefined;
  const needs = parsed.kind === 'event' && ownSubject === subject ? chain.needs(parsed.event) : 'fact_before';
  const follows = mayFollow(needs, { head, state }, expectedSequence);
  if (!follows) return { kind: 'gap', after: head, expected: expectedSequence, sequence };
  if (parsed.kind === 'invalid') return refuse('invalid', parsed.why);
  const { type, version } = parsed;
  if (parsed.kind === 'event' && ownSubject !== subject) {
    return refuse('wrong_subject', `its content says that it belongs to ${ownSubject}`);
  }
  // Otherwise an executor could stop every reader: by a type of another service, or by a version that nobody writes.
  if (!chain.belongsUnder(type, subject)) {
    return refuse('wrong_subject', `${type} is never stored under ${subject}`);
  }
  const latest = chain.latestVersion(state, subject, type);
  if (version > latest) {
    const why =
      latest === 0
        ? `no assignment lets its writer store ${type}`
        : `${type} is in version ${version}, and its writer may use ${latest} at most`;
    return refuse('invalid', why);
  }
  if (parsed.kind === 'newer_version') return { ...parsed, sequence };
  const { event } = parsed;
  const fact = { event, sequence, time: message.time };
  const next = chain.evolve(state, fact);
  return isImpossible(next)
    ? refuse('impossible', next.impossible)
    : { kind: 'accepted', history: { head: sequence, state: next }, fact, state: next };
};

/** By its fence, which names the message before it; 0 for none. */
const mayFollow = (
  needs: FactNeeds,
  { head, state }: History<unknown>,
  expectedSequence: number,
): boolean => {
  const isNext = expectedSequence === head;
  switch (needs) {
    case 'fact_before':
      return isNext;
    case 'state':
      return state !== undefined && (isNext || expectedSequence === 0);
    case 'nothing':
      return isNext || state === undefined || expectedSequence === 0;
  }
};

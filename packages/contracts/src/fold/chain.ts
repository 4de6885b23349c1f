import type { Impossible } from './evolve-run.ts';
import type { ParsedEvent } from '../events/event-envelope.ts';

/** An event as the log holds it. `time` is the broker's time stamp, ISO 8601 in UTC with milliseconds. */
export interface FactOf<Event> {
  readonly event: Event;
  readonly sequence: number;
  readonly time: string;
}

/** A message of RUNS as the broker holds it. `fence` is the filter on which its append was conditional. */
export interface StoredMessage {
  readonly subject: string;
  readonly sequence: number;
  /** The broker's time stamp, ISO 8601 in UTC with milliseconds. */
  readonly time: string;
  readonly fence: string | null;
  readonly expectedSequence: number | null;
  /** W3C trace context of its append, when there was one; nothing is decided by it. */
  readonly traceparent?: string;
  /** Parsed JSON; undefined when the payload is none. */
  readonly body: unknown;
}

/** How the facts of one kind hang together: each is stored on the condition that nothing else was, under one filter. */
export interface Chain<Type extends string, Event, State> {
  /** The filter that fences the chain which the subject belongs to; undefined when it belongs to none. */
  readonly fenceOf: (subject: string) => string | undefined;
  readonly parse: (body: unknown) => ParsedEvent<Type, Event>;
  readonly subjectOf: (event: Event) => string;
  /** Whether an event of this type, in whatever version, is stored under such a subject. */
  readonly mayBe: (type: Type, subject: string) => boolean;
  readonly evolve: (state: State | undefined, fact: FactOf<Event>) => State | Impossible;
}

/**
 * What a reader knows of a chain. `head` is the sequence of the last message stored under its fence, also of one that
 * was not accepted: it is what the broker compares the next append with. 0 when there is none.
 */
export interface ChainSoFar<State> {
  readonly head: number;
  readonly state: State | undefined;
}

export type Refusal = 'forged_fence' | 'wrong_subject' | 'invalid' | 'impossible';

export type Linked<Type extends string, Event, State> =
  | { readonly kind: 'accepted'; readonly head: number; readonly fact: FactOf<Event>; readonly state: State }
  /** Stored by the broker, but no part of the chain: reported, parked, not folded. `unknown_type` is merely not for us. */
  | { readonly kind: 'refused'; readonly head: number; readonly refusal: Refusal; readonly why: string }
  | { readonly kind: 'unknown_type'; readonly head: number; readonly type: string }
  /** Already known: a redelivery. */
  | { readonly kind: 'known' }
  /** The message rests on one that this reader has not seen: read the whole chain, and if the gap stays, it is damage. */
  | { readonly kind: 'gap'; readonly after: number; readonly expected: number; readonly sequence: number }
  /** Written by a later release: the reader must stop, loudly. */
  | {
      readonly kind: 'newer_version';
      readonly type: Type;
      readonly version: number;
      readonly sequence: number;
    };

/**
 * Takes the next stored message into a chain. The broker stores more than it should (an append without a fence, or
 * fenced on another filter), so a message counts only if its fence is exactly the chain's and rests on the message before it.
 */
export const link = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  { head, state }: ChainSoFar<State>,
  message: StoredMessage,
): Linked<Type, Event, State> => {
  const { sequence, subject, fence, expectedSequence } = message;
  if (sequence <= head) return { kind: 'known' };
  const refuse = (refusal: Refusal, why: string): Linked<Type, Event, State> => ({
    kind: 'refused',
    head: sequence,
    refusal,
    why,
  });
  const own = chain.fenceOf(subject);
  if (own === undefined) return refuse('wrong_subject', `${subject} is not the subject of a fact`);
  if (fence !== own || expectedSequence === null) {
    return refuse('forged_fence', `the append was fenced on ${fence ?? 'nothing'}, not on ${own}`);
  }
  if (expectedSequence !== head) return { kind: 'gap', after: head, expected: expectedSequence, sequence };
  const parsed = chain.parse(message.body);
  switch (parsed.kind) {
    case 'invalid':
      return refuse('invalid', parsed.why);
    case 'unknown_type':
      return { kind: 'unknown_type', head: sequence, type: parsed.type };
    case 'newer_version':
      // An executor could stop every reader with one message that only claims to be of another service's type.
      return chain.mayBe(parsed.type, subject)
        ? { ...parsed, sequence }
        : refuse('wrong_subject', `${parsed.type} is never stored under ${subject}`);
    case 'event':
  }
  const { event } = parsed;
  if (chain.subjectOf(event) !== subject) {
    return refuse('wrong_subject', `its content says that it belongs to ${chain.subjectOf(event)}`);
  }
  const fact = { event, sequence, time: message.time };
  const next = chain.evolve(state, fact);
  return isImpossible(next)
    ? refuse('impossible', next.impossible)
    : { kind: 'accepted', head: sequence, fact, state: next };
};

/** A situation is an object of ours, none of which has such a member. */
const isImpossible = (result: unknown): result is Impossible =>
  typeof result === 'object' && result !== null && 'impossible' in result;

export interface RefusedMessage {
  readonly message: StoredMessage;
  readonly refusal: Refusal;
  readonly why: string;
}

export type ReadChain<Type extends string, Event, State> =
  | {
      readonly kind: 'whole';
      readonly head: number;
      readonly state: State | undefined;
      readonly facts: readonly FactOf<Event>[];
      readonly refused: readonly RefusedMessage[];
    }
  | {
      readonly kind: 'gap';
      readonly after: number;
      readonly expected: number;
      readonly sequence: number;
    }
  | {
      readonly kind: 'newer_version';
      readonly type: Type;
      readonly version: number;
      readonly sequence: number;
    };

/** Folds the stored messages of one chain, in the order of their sequences. */
export const readChain = <Type extends string, Event, State>(
  chain: Chain<Type, Event, State>,
  messages: readonly StoredMessage[],
): ReadChain<Type, Event, State> => {
  let soFar: ChainSoFar<State> = { head: 0, state: undefined };
  const facts: FactOf<Event>[] = [];
  const refused: RefusedMessage[] = [];
  for (const message of messages.toSorted((a, b) => a.sequence - b.sequence)) {
    const next = link(chain, soFar, message);
    switch (next.kind) {
      case 'accepted':
        facts.push(next.fact);
        soFar = next;
        break;
      case 'refused':
        refused.push({ message, refusal: next.refusal, why: next.why });
        soFar = { ...soFar, head: next.head };
        break;
      case 'unknown_type':
        soFar = { ...soFar, head: next.head };
        break;
      case 'known':
        break;
      case 'gap':
      case 'newer_version':
        return next;
    }
  }
  return { kind: 'whole', head: soFar.head, state: soFar.state, facts, refused };
};

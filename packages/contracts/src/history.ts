import { evolve, isImpossible } from './evolve.ts';
import {
  lifecycleOf,
  parseLifecycleSubject,
  subjectOf,
  type LifecycleSubject,
  type RunKey,
} from './subjects.ts';
import { parseRunEvent, RUN_EVENTS, type RunEventType } from './run-event.ts';
import type { Fact, Run } from './run.ts';

/** A message under `runs.<org>.<run>.life.>` as the broker holds it. `fence` is the filter on which its append was conditional. */
export interface StoredMessage {
  readonly subject: string;
  readonly sequence: number;
  /** The broker's time stamp, ISO 8601 in UTC with milliseconds. */
  readonly time: string;
  readonly fence: string | null;
  readonly expectedSequence: number | null;
  /** Parsed JSON; undefined when the payload is none. */
  readonly body: unknown;
}

/**
 * What a reader knows of a run. `head` is the sequence of the last message stored under the run's lifecycle, also of
 * one that was not accepted: it is what the broker compares the next append with. 0 when there is none.
 */
export interface History {
  readonly head: number;
  readonly run: Run | undefined;
}

export const EMPTY_HISTORY: History = { head: 0, run: undefined };

export type Refusal = 'forged_fence' | 'wrong_subject' | 'invalid' | 'impossible';

export type Accepted =
  | { readonly kind: 'accepted'; readonly history: History; readonly fact: Fact; readonly run: Run }
  /** Stored by the broker, but no part of the run: reported, parked, not folded. `unknown_type` is merely not for us. */
  | { readonly kind: 'refused'; readonly history: History; readonly refusal: Refusal; readonly why: string }
  | { readonly kind: 'unknown_type'; readonly history: History; readonly type: string }
  /** Already known: a redelivery. */
  | { readonly kind: 'known' }
  /** The message rests on one that this reader has not seen: read the whole run, and if the gap stays, it is damage. */
  | { readonly kind: 'gap'; readonly after: number; readonly expected: number; readonly sequence: number }
  /** Written by a later release: the reader must stop, loudly. */
  | {
      readonly kind: 'newer_version';
      readonly type: RunEventType;
      readonly version: number;
      readonly sequence: number;
    };

/**
 * Takes the next stored message into a run's history. The broker stores more than it should (an append without a
 * fence, or fenced on another filter), so a message counts only if its fence is exactly this run's and rests on the message before it.
 */
export const accept = (history: History, message: StoredMessage): Accepted => {
  if (message.sequence <= history.head) return { kind: 'known' };
  const moved: History = { head: message.sequence, run: history.run };
  const refuse = (refusal: Refusal, why: string): Accepted => ({
    kind: 'refused',
    history: moved,
    refusal,
    why,
  });

  const subject = parseLifecycleSubject(message.subject);
  if (!subject) return refuse('wrong_subject', `${message.subject} is not the subject of a lifecycle fact`);
  if (message.fence !== lifecycleOf(subject) || message.expectedSequence === null) {
    return refuse(
      'forged_fence',
      `the append was fenced on ${message.fence ?? 'nothing'}, not on the run's lifecycle`,
    );
  }
  if (message.expectedSequence !== history.head) {
    return {
      kind: 'gap',
      after: history.head,
      expected: message.expectedSequence,
      sequence: message.sequence,
    };
  }
  const parsed = parseRunEvent(message.body);
  switch (parsed.kind) {
    case 'invalid':
      return refuse('invalid', parsed.why);
    case 'unknown_type':
      return { kind: 'unknown_type', history: moved, type: parsed.type };
    case 'newer_version':
      // An executor could stop every reader with one message that only claims to be of another service's type.
      return mayBeOf(parsed.type, subject)
        ? { ...parsed, sequence: message.sequence }
        : refuse('wrong_subject', `${parsed.type} is never stored under ${message.subject}`);
    case 'event':
  }
  const { event } = parsed;
  if (subjectOf(event) !== message.subject) {
    return refuse('wrong_subject', `${event.type} says it belongs to ${subjectOf(event)}`);
  }
  const fact: Fact = { event, sequence: message.sequence, time: message.time };
  const run = evolve(history.run, fact);
  if (isImpossible(run)) return refuse('impossible', run.impossible);
  return { kind: 'accepted', history: { head: message.sequence, run }, fact, run };
};

/** Whether an event of this type, in whatever version, is stored under such a subject. */
export const mayBeOf = (type: RunEventType, { fact, writer }: LifecycleSubject): boolean =>
  RUN_EVENTS[type].fact === fact && RUN_EVENTS[type].writer === writer;

export interface RefusedMessage {
  readonly message: StoredMessage;
  readonly refusal: Refusal;
  readonly why: string;
}

export type ReadHistory =
  | {
      readonly kind: 'whole';
      readonly history: History;
      readonly facts: readonly Fact[];
      readonly refused: readonly RefusedMessage[];
    }
  | {
      readonly kind: 'damaged';
      readonly why: string;
      readonly after: number;
      readonly expected: number;
      readonly sequence: number;
    }
  | {
      readonly kind: 'newer_version';
      readonly type: RunEventType;
      readonly version: number;
      readonly sequence: number;
    };

/** Folds the stored messages of one run, in the order of their sequences. */
export const readHistory = (run: RunKey, messages: readonly StoredMessage[]): ReadHistory => {
  let history = EMPTY_HISTORY;
  const facts: Fact[] = [];
  const refused: RefusedMessage[] = [];
  for (const message of messages.toSorted((a, b) => a.sequence - b.sequence)) {
    const next = accept(history, message);
    switch (next.kind) {
      case 'accepted':
        facts.push(next.fact);
        history = next.history;
        break;
      case 'refused':
        refused.push({ message, refusal: next.refusal, why: next.why });
        history = next.history;
        break;
      case 'unknown_type':
        history = next.history;
        break;
      case 'known':
        break;
      case 'gap':
        return { ...next, kind: 'damaged', why: damage(run, next) };
      case 'newer_version':
        return next;
    }
  }
  return { kind: 'whole', history, facts, refused };
};

const damage = (run: RunKey, gap: { after: number; expected: number; sequence: number }): string =>
  `the history of run ${run.run_id} is damaged: the event at sequence ${gap.sequence} rests on ${gap.expected}, ` +
  (gap.after === 0 ? 'and nothing before it is left in the log' : `but the event before it is ${gap.after}`);

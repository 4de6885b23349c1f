import { RUN_EVENTS, type RunEvent, type RunEventOf } from '@runledger/contracts/events/run-event';
import type { AttemptError } from '@runledger/contracts/events/run-error';
import { factSentence } from '@runledger/contracts/events/fact-sentence';
import type { Decided } from '../decisions/verdict.ts';

/** A fact that an executor stores. */
export type FactOfExecutor =
  | RunEventOf<'RunStarted'>
  | RunEventOf<'RunUploading'>
  | RunEventOf<'RunAttemptFailed'>
  | RunEventOf<'RunSucceeded'>
  | RunEventOf<'RunFailed'>
  | RunEventOf<'RunCancelled'>;

export const isOfExecutor = (event: RunEvent): event is FactOfExecutor =>
  RUN_EVENTS[event.type].writer === 'executor';

/** A fact as a decision: without what a program did, such as its outputs, progress and time to load, and without texts. */
export const decidedByEvent = (event: FactOfExecutor): Decided => {
  const { type, attempt, executor_id } = event;
  return { type, members: { attempt, executor_id, ...decidedMembers(event) }, sentence: factSentence(event) };
};

const decidedMembers = (event: FactOfExecutor): Record<string, unknown> => {
  switch (event.type) {
    case 'RunStarted':
    case 'RunUploading':
    case 'RunSucceeded':
      return {};
    case 'RunFailed':
      return { error: kindOf(event.data.error) };
    case 'RunAttemptFailed': {
      const { error, retry_after_s, is_void = false } = event.data;
      return { error: kindOf(error), retry_after_s, is_void };
    }
    case 'RunCancelled':
      return { forced: event.data.forced };
  }
};

const kindOf = ({ kind, retryable }: AttemptError) => ({ kind, retryable });

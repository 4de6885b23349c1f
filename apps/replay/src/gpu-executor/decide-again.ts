import type { AttemptError } from '@runledger/contracts/events/run-error';
import type { AttemptUnderWay } from '@runledger/contracts/fold/evolve-attempt';
import type { Assignment } from '@runledger/gpu-executor/attempt/assignment.decide';
import { eventOf, type EventDraft } from '@runledger/gpu-executor/attempt/attempt-facts.decide';
import {
  begin,
  beginStoring,
  endOf,
  giveBack,
  NO_OUTPUTS,
  retryAfterOf,
  type Ending,
} from '@runledger/gpu-executor/attempt/end-of-attempt.decide';
import type { Decided } from '../decisions/verdict.ts';
import { decidedByEvent, isOfExecutor, type FactOfExecutor } from './decided.ts';

/** An attempt as its executor knew it when it decided. */
export interface KnownAttempt {
  readonly assignment: Assignment;
  readonly attempt: AttemptUnderWay;
  readonly isVoid: boolean;
}

/** What the executor stores now when that happens which the recorded fact shows; undefined for nothing. */
export const decideAgain = (known: KnownAttempt, recorded: FactOfExecutor): Decided | undefined => {
  const draft = draftOf(known, recorded, 0);
  if (!draft) return undefined;
  const delay = delayOf(draft, draftOf(known, recorded, 1), recorded);
  const isRecorded = draft.type === 'RunAttemptFailed' && typeof delay === 'number';
  const decided = decidedBy(
    known.assignment,
    isRecorded ? { ...draft, data: { ...draft.data, retry_after_s: delay } } : draft,
    recorded,
  );
  return typeof delay === 'object'
    ? { ...decided, members: { ...decided.members, retry_after_s: delay } }
    : decided;
};

const decidedBy = (
  assignment: Assignment,
  draft: EventDraft,
  { event_id, time }: Pick<FactOfExecutor, 'event_id' | 'time'>,
): Decided => {
  const event = eventOf(assignment, draft, { event_id, time });
  if (!isOfExecutor(event)) throw new TypeError(`no executor stores ${event.type}`);
  return decidedByEvent(event);
};

/** Seconds until another attempt, of which a part is left to chance: as recorded, when chance can have made it; else the shortest and the longest. */
const delayOf = (
  shortest: EventDraft,
  longest: EventDraft | null,
  recorded: FactOfExecutor,
): number | { readonly from: number; readonly to: number } | undefined => {
  const areDelays = shortest.type === 'RunAttemptFailed' && longest?.type === 'RunAttemptFailed';
  if (!areDelays || recorded.type !== 'RunAttemptFailed') return undefined;
  const [from, to] = [shortest.data.retry_after_s, longest.data.retry_after_s];
  const { retry_after_s } = recorded.data;
  return from <= retry_after_s && retry_after_s <= to ? retry_after_s : { from, to };
};

/** `random`, from 0 to 1, is how much of the longest delay chance takes. */
const draftOf = (
  { assignment, attempt, isVoid }: KnownAttempt,
  recorded: FactOfExecutor,
  random: number,
): EventDraft | null => {
  if (isVoid) return giveBack(attempt);
  const ending = { progress: 0, retryAfterS: retryAfterOf(assignment, random) };
  switch (recorded.type) {
    case 'RunStarted':
      return begin(attempt, recorded.data.cold_start_s * 1_000);
    case 'RunUploading':
      return beginStoring(attempt, recorded.data.files, recorded.data.bytes);
    case 'RunSucceeded':
      return endOf(attempt, { ...ending, result: SUCCEEDED, storing: STORED, outputs: recorded.data });
    case 'RunCancelled': {
      const { forced } = recorded.data;
      const result = { outcome: 'cancelled', forced, files: [] } as const;
      return endOf(attempt, { ...ending, result, storing: STORED, outputs: recorded.data });
    }
    case 'RunFailed':
      return endOf(attempt, { ...ending, ...failureOf(recorded.data.error), outputs: recorded.data });
    case 'RunAttemptFailed': {
      const { error, is_void } = recorded.data;
      if (is_void) return null;
      // What such a failure left is not stored, so it is the store that refused what a success left.
      const isRefused = attempt.status === 'uploading';
      const failure = isRefused ? refusalOf(error) : failureOf(error);
      return endOf(attempt, { ...ending, ...failure, outputs: NO_OUTPUTS });
    }
  }
};

type Happened = Pick<Ending, 'result' | 'storing'>;

const STORED: Ending['storing'] = { kind: 'stored' };
const SUCCEEDED: Ending['result'] = { outcome: 'succeeded', data: {}, files: [] };

const failureOf = (error: AttemptError): Happened => ({
  result:
    error.kind === 'not_runnable'
      ? { outcome: 'not_runnable', why: error.message }
      : { outcome: 'failed', error, files: [] },
  storing: STORED,
});

const refusalOf = (error: AttemptError): Happened => ({
  result: SUCCEEDED,
  storing: { kind: 'refused', error },
});

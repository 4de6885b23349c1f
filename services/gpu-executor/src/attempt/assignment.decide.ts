import type { StoredMessage } from '@runledger/contracts/fold/chain';
import { executorId, orgId, runId, type ExecutorId } from '@runledger/contracts/ids';
import { parseRunEvent, type RunEventOf } from '@runledger/contracts/events/run-event';
import { instantOf } from '@runledger/contracts/http/runs/live-status';
import {
  lifecycleFilter,
  parseLifecycleSubject,
  runEventSubject,
  type RunKey,
} from '@runledger/contracts/events/subjects';
import { announcedTerm } from '@runledger/contracts/events/leader-terms';

/** One attempt of a run, given to this executor. */
export interface Assignment extends RunKey {
  readonly attempt: number;
  readonly executor_id: ExecutorId;
  readonly event: RunEventOf<'RunAssigned'>;
  /** Seconds from its assignment until its start deadline. Infinity where the scheduler, of an earlier release, counts that alone. */
  readonly startWithinS: number;
}

export type ReadAssignment =
  /** `head` is the sequence of the assignment: the first fact of the attempt rests on it. */
  | { readonly kind: 'assignment'; readonly assignment: Assignment; readonly head: number }
  | { readonly kind: 'refused'; readonly why: string }
  /** A later release wrote it, and this one cannot read it. */
  | { readonly kind: 'newer_version'; readonly type: string; readonly version: number };

/** Names one attempt in maps and logs; the run API shows it as `compute_function_call_id`. */
export const attemptName = (attempt: { readonly run_id: string; readonly attempt: number }): string =>
  `${attempt.run_id}.${attempt.attempt}`;

/** Reads the message that begins an attempt. Its append must be fenced, as of every fact of a run. */
export const readAssignment = (message: StoredMessage): ReadAssignment => {
  const subject = parseLifecycleSubject(message.subject);
  if (subject === undefined) return refused(`${message.subject} is not the subject of a lifecycle fact`);
  if (message.fence !== lifecycleFilter(subject) || message.expectedSequence === null)
    return refused('the append was not fenced on the lifecycle of its run');
  const parsed = parseRunEvent(message.body);
  switch (parsed.kind) {
    case 'invalid':
      return refused(parsed.why);
    case 'newer_version':
      return parsed;
    case 'event':
  }
  const { event } = parsed;
  if (
    event.type !== 'RunAssigned' ||
    event.executor_id === null ||
    runEventSubject(event) !== message.subject
  )
    return refused(`${event.type} does not belong under ${message.subject}`);
  const assignment: Assignment = {
    org_id: orgId(event.org_id),
    run_id: runId(event.run_id),
    attempt: event.attempt,
    executor_id: executorId(event.executor_id),
    event,
    startWithinS: startWithinS(event, message),
  };
  return { kind: 'assignment', assignment, head: message.sequence };
};

/** For spans. */
export const attemptAttributes = ({
  org_id,
  run_id,
  attempt,
  executor_id,
}: Assignment): Record<string, string | number> => ({
  'runledger.org_id': org_id,
  'runledger.run_id': run_id,
  'runledger.attempt': attempt,
  'runledger.executor_id': executor_id,
});

/** Both times are the broker's. */
const startWithinS = ({ data }: RunEventOf<'RunAssigned'>, { time }: StoredMessage): number => {
  if (data.start_deadline === undefined) return Number.POSITIVE_INFINITY;
  const { since, within_s } = data.start_deadline;
  return Math.max(0, within_s - (instantOf(time) - instantOf(since)) / 1_000);
};

const refused = (why: string): ReadAssignment => ({ kind: 'refused', why });

/** Nothing that was stored before the oldest of so many is delivered any more. */
const MAX_TOLD = 100;

/**
 * The terms of leaders that an executor knows. An assignment of an earlier term is void where a later one began before it, in the order of
 * the log: the leader of that one may have given its place within a limit to another run.
 */
export class KnownTerms {
  #registered = 0;
  /** From which sequence in RUNS on it was told which term. */
  #told: { readonly from: number; readonly term: number }[] = [];

  /** The last one that may have begun before the executor registered. */
  get registered(): number {
    return this.#registered;
  }

  /** The executor registers, on the condition that none after this one has begun. */
  onRegister(term: number): void {
    this.#registered = Math.max(this.#registered, term);
  }

  /** Takes a message that tells a term. False when it does not. */
  onTold({ body, sequence }: StoredMessage): boolean {
    const term = announcedTerm(body);
    if (term === undefined) return false;
    // The others are of former leaders, or delivered again.
    const isNews = this.#told.every((known) => known.from > sequence || known.term < term);
    if (isNews) this.#told = [...this.#told, { from: sequence, term }].slice(-MAX_TOLD);
    return true;
  }

  /** `head`: the sequence of the assignment. One of an earlier release names no term. */
  isVoid({ event }: Assignment, head: number): boolean {
    const { term } = event.data;
    if (term === undefined) return false;
    const isLater = this.#told.some((told) => told.from < head && told.term > term);
    return isLater || term < this.#registered;
  }
}

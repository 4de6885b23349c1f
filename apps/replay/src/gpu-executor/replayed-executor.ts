import { parseFleetEvent, fleetSubjectOf } from '@runledger/contracts/events/fleet-event';
import type { AttemptUnderWay } from '@runledger/contracts/fold/evolve-attempt';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { messageOf, type SliceFact } from '@runledger/contracts/slices/slice';
import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import { TERMS } from '@runledger/contracts/events/leader-terms';
import { underWay } from '@runledger/gpu-executor/attempt/attempt-facts.decide';
import {
  judgedAtOnce,
  type Judgement,
  type Outcome,
  type ReplayedService,
} from '../decisions/judged-at-once.ts';
import { eventIn, type Survey } from '../slice.ts';
import { decideAgain } from './decide-again.ts';
import { decidedByEvent, isOfExecutor, type FactOfExecutor } from './decided.ts';
import { PlayedAttempts, type PlayedAttempt } from './played-attempts.ts';

/**
 * The core of attempts, for all executors of a slice. What a runner did is in the fact that its executor stored then; what the executor
 * makes of it now, with what it knew, is compared with that fact.
 */
export const replayedExecutor = ({ header }: Pick<Survey, 'header'>): ReplayedService => {
  const attempts = new PlayedAttempts();
  const judge = (fact: SliceFact): Judgement | undefined => {
    if (fact.stream === 'FLEET') return takeFleet(attempts, fact);
    const about = fact.stream === 'RUNS' ? parseLifecycleSubject(fact.subject) : undefined;
    if (!about?.executor_id) return undefined;
    const event = eventIn(RUN_CHAIN, fact);
    const message = messageOf(fact);
    if (event?.type === 'RunAssigned') attempts.assign(message);
    const isJudged = event !== undefined && isOfExecutor(event);
    const judgement = isJudged
      ? {
          run_id: event.run_id,
          recorded: decidedByEvent(event),
          outcome: outcomeOf(attempts, fact, event),
        }
      : undefined;
    attempts.take(about, message);
    return judgement;
  };
  return judgedAtOnce(
    {
      name: 'gpu-executor',
      judge,
      assumptions: () => ASSUMPTIONS,
      viewOf: (run_id) => viewOf(attempts.get(run_id)),
    },
    header,
  );
};

const ASSUMPTIONS = [
  'What a runner did follows from the fact that its executor stored then: an attempt that was cancelled may have succeeded, and a failure may be one to fetch what it needs.',
  'An executor that gave back a void assignment had been told of the later term, if one had begun.',
];

const takeFleet = (attempts: PlayedAttempts, { subject, sequence, event: body }: SliceFact): undefined => {
  if (subject === TERMS) attempts.beginTerm(sequence);
  const parsed = parseFleetEvent(body);
  if (parsed.kind !== 'event' || fleetSubjectOf(parsed.event) !== subject) return undefined;
  const { event } = parsed;
  if (event.type === 'ExecutorRegistered') attempts.register(event.executor_id);
  if (event.type === 'ExecutorLeft' || event.type === 'ExecutorLost') attempts.remove(event.executor_id);
  return undefined;
};

const outcomeOf = (
  attempts: PlayedAttempts,
  { expected_sequence }: SliceFact,
  event: FactOfExecutor,
): Outcome => {
  const { run_id, attempt, executor_id } = event;
  const known = attempts.get(run_id);
  if (attempts.isOver(event)) return nothing('the attempt is over');
  if (!known) return { kind: 'unknown', why: NOT_ASSIGNED };
  const { assignment, history } = known.facts;
  if (assignment.attempt !== attempt || assignment.executor_id !== executor_id)
    return nothing(`attempt ${assignment.attempt} on ${assignment.executor_id} is the one under way`);
  const state = underWay(known.facts);
  if (!state || history.head !== expected_sequence) return { kind: 'unknown', why: GAP };
  const isVoid = isGivenBack(event) ? attempts.mayBeVoid(known) : known.isVoid;
  const now = decideAgain({ assignment, attempt: state, isVoid }, event);
  return now
    ? { kind: 'decides', now, why: mayBeBug(event) ? BUG : undefined }
    : nothing(situationOf(state, isVoid));
};

const nothing = (situation: string): Outcome => ({ kind: 'decides_nothing', situation });

const NOT_ASSIGNED = 'the slice does not have the assignment of its attempt';
const GAP = 'the slice does not have the fact before it';
const BUG = 'the slice does not say whether a bug of the executor ended the attempt';

const isGivenBack = (event: FactOfExecutor): boolean =>
  event.type === 'RunAttemptFailed' && event.data.is_void === true;

/** services/gpu-executor/src/attempt/executor.ts: nothing is tried again then. */
const mayBeBug = (event: FactOfExecutor): boolean =>
  event.type === 'RunFailed' && event.data.error.kind === 'internal_error';

const situationOf = ({ status, cancel }: AttemptUnderWay, isVoid: boolean): string =>
  `the attempt is ${status}, ${cancel ? 'a cancel was requested' : 'no cancel was requested'}, and its assignment is ${isVoid ? 'void' : 'not void'}`;

/** What its executor knows of an attempt that is under way. */
const viewOf = (known: PlayedAttempt | undefined): object | undefined => {
  const state = known && underWay(known.facts);
  if (!state) return undefined;
  const { attempt, executor_id, event } = known.facts.assignment;
  const { retry_on = [] } = event.data;
  return { attempt, executor_id, ...state, is_void: known.isVoid, retry_on };
};

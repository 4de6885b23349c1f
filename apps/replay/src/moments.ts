import { acceptMessage, EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import { isDeleted, isEnded, type RunState } from '@runledger/contracts/fold/run';
import { RUN_CHAIN, type RunHistory } from '@runledger/contracts/fold/run-chain';
import { messageOf, type SliceFact } from '@runledger/contracts/slices/slice';
import { parseLifecycleSubject } from '@runledger/contracts/events/subjects';
import type { Step } from './play-slice.ts';

/** A step of a replay that a person looks at. */
export interface Moment extends Omit<Step, 'fact'> {
  readonly fact: SliceFact;
  /** As it is after the fact; undefined for a fact that is about no run, or of a run whose first facts are not in the slice. */
  readonly run: RunState | undefined;
}

/** The steps with a fact, and the run after each. It remembers runs that have not ended. */
export async function* momentsOf(steps: AsyncIterable<Step>): AsyncGenerator<Moment> {
  const histories = new Map<string, RunHistory>();
  for await (const { fact, ...step } of steps)
    if (fact) yield { ...step, fact, run: runAfter(fact, histories) };
}

const runAfter = (fact: SliceFact, histories: Map<string, RunHistory>): RunState | undefined => {
  const about = parseLifecycleSubject(fact.subject);
  if (!about) return undefined;
  const { run_id } = about;
  const accepted = acceptMessage(RUN_CHAIN, histories.get(run_id) ?? EMPTY_HISTORY, messageOf(fact));
  if (!('history' in accepted)) return histories.get(run_id)?.state;
  const { state } = accepted.history;
  if (state && (isEnded(state) || isDeleted(state))) histories.delete(run_id);
  else histories.set(run_id, accepted.history);
  return state;
};

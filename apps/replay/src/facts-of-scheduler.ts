import { acceptMessage, eventIdOf } from '@runledger/contracts/fold/chain';
import { isExecuting, type RunState } from '@runledger/contracts/fold/run';
import { RUN_CHAIN } from '@runledger/contracts/fold/run-chain';
import { followsEnd, RUN_EVENTS, type RunEvent } from '@runledger/contracts/events/run-event';
import { messageOf, type SliceFact } from '@runledger/contracts/slices/slice';
import { parseLifecycleSubject, runOfSubject, type RunKey } from '@runledger/contracts/events/subjects';
import { TERMS } from '@runledger/contracts/events/leader-terms';
import { readFleetMessage, type FleetFact } from '@runledger/scheduler/follow-fleet';
import type { Comparison } from './comparison.ts';
import type { About, RecordedDecision } from './verdict.ts';
import { NewerFact } from './slice.ts';
import { decidedByEvent, lossOf } from './decided.ts';
import { circumstancesOf } from './known-to-scheduler.ts';
import type { PlayedScheduler } from './played-scheduler.ts';

/** A fact of a run, and the run before and after it. */
interface RunFactOfSlice {
  readonly fact: SliceFact;
  readonly key: RunKey;
  readonly event: RunEvent;
  readonly before: RunState | undefined;
  readonly after: RunState;
}

/** Takes facts as services/scheduler/src/follow-log.ts does; those of the scheduler are compared first. */
export class FactsOfScheduler {
  readonly #played: PlayedScheduler;
  readonly #comparison: Comparison;
  /** Of which the slice does not have the first facts, until they end. */
  readonly #older = new Set<string>();
  #olderRuns = 0;

  constructor(played: PlayedScheduler, comparison: Comparison) {
    this.#played = played;
    this.#comparison = comparison;
  }

  get olderRuns(): number {
    return this.#olderRuns;
  }

  /** @throws {NewerFact} */
  take(fact: SliceFact): void {
    if (fact.stream === 'FLEET') this.#takeFleet(fact);
    else if (fact.stream === 'RUNS') this.#takeRun(fact);
  }

  #takeRun(fact: SliceFact): void {
    const key = runOfSubject(fact.subject);
    if (!key) return;
    const { state: before } = this.#played.scheduling.historyOf(key);
    const message = messageOf(fact);
    const accepted = acceptMessage(RUN_CHAIN, this.#played.scheduling.historyOf(key), message);
    switch (accepted.kind) {
      case 'accepted':
        return this.#takeEvent({ fact, key, event: accepted.fact.event, before, after: accepted.state });
      case 'refused': {
        const history = { head: fact.sequence, state: before };
        if (before)
          this.#played.applyRunFact({ key, history, event_id: eventIdOf(message), writer: 'gateway' });
        return;
      }
      case 'known':
        return;
      case 'gap':
        return this.#takeOlder(fact, key.run_id);
      case 'newer_version':
        throw new NewerFact(accepted);
    }
  }

  #takeEvent({ fact, key, event, before, after }: RunFactOfSlice): void {
    const { writer } = RUN_EVENTS[event.type];
    if (writer === 'scheduler') this.#judge(fact, { run_id: key.run_id }, decidedByEvent(event), event);
    else this.#comparison.overtake(this.#played.nowMs, key.run_id, event.type);
    const history = { head: fact.sequence, state: after };
    this.#played.applyRunFact({ key, history, event_id: event.event_id, writer });
    this.#played.followRun(event, before && isExecuting(before) ? before : undefined, after);
  }

  /** Nothing can be decided on it. */
  #takeOlder({ subject }: SliceFact, run_id: string): void {
    const fact = parseLifecycleSubject(subject)?.fact ?? '';
    if (followsEnd(fact)) return;
    if (!this.#older.has(run_id)) this.#olderRuns += 1;
    if (fact === 'ended') this.#older.delete(run_id);
    else this.#older.add(run_id);
  }

  #takeFleet(fact: SliceFact): void {
    if (fact.subject === TERMS) return this.#played.lead();
    const read = readFleetMessage(messageOf(fact));
    if (read.kind === 'newer_version') throw new NewerFact(read);
    if (read.kind === 'fact') this.#applyFleetFact(fact, read.fact);
  }

  #applyFleetFact(fact: SliceFact, taken: FleetFact): void {
    const { event } = taken;
    if ('executor_id' in event) {
      const { executor_id } = event;
      if (event.type === 'ExecutorLost') this.#judge(fact, { executor_id }, lossOf(executor_id));
      else this.#comparison.overtake(this.#played.nowMs, executor_id, event.type);
    }
    this.#played.applyFleetFact(taken);
  }

  #judge(
    { stream, sequence, time }: SliceFact,
    about: About,
    decided: Omit<RecordedDecision, 'stream' | 'position' | 'time'>,
    event?: RunEvent,
  ): void {
    if (!this.#played.isLeading) return;
    const key = about.run_id ?? about.executor_id ?? '';
    const recorded = { ...decided, stream, position: sequence, time };
    if (!this.#comparison.isDecided(key, recorded)) this.#played.learnFrom(key, recorded, event);
    const circumstances = circumstancesOf(this.#played.scheduling, event, () => this.#comparison.all());
    this.#comparison.judge(this.#played.nowMs, key, { about, recorded }, circumstances);
  }
}

import type { ExecutorsResponse, ExecutorsRequest } from '@runledger/contracts/requests/executor-state';
import type { QueuePosition } from '@runledger/contracts/requests/queue-position';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';
import type { WaitReason } from '@runledger/contracts/requests/wait-reason';
import type { DrainedNames } from '../fleet/drained-names.ts';
import { executorStates } from './executor-states.ts';
import { fleetCounts, type FleetCounts } from './fleet-counts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { KnownRun } from '../runs/known-run.ts';
import type { LiveRuns } from '../runs/live-runs.ts';
import type { RegisteredExecutor } from '../fleet/registered-executor.ts';
import { runName } from '../slots/run-name.ts';

export interface AnswerSources {
  readonly runs: LiveRuns;
  readonly fleet: Fleet;
  readonly drained: DrainedNames;
  /** An executor that was not heard for so long, in connected time, is silent. */
  readonly silentAfterMs: number;
  /** Connected time. */
  readonly now: () => number;
}

/** What the scheduler knows, for those who ask. */
export class Answers {
  readonly #from: AnswerSources;
  readonly #isHeard = (executor: RegisteredExecutor): boolean =>
    this.#from.fleet.isHeard(executor, this.#from.silentAfterMs, this.#from.now());

  constructor(from: AnswerSources) {
    this.#from = from;
  }

  /** Where the run stands among those that wait; undefined when it does not wait. */
  placeOf(key: RunKey): QueuePosition | undefined {
    const known = this.#waiting(key);
    return known && this.#placeOf(known);
  }

  /** The same, and how it stands with those that could execute it. */
  waitOf(key: RunKey): WaitReason | undefined {
    const known = this.#waiting(key);
    if (!known) return undefined;
    const executors = this.#from.fleet.countsFor(known.requirements);
    return { ...this.#placeOf(known), gpu: known.requirements.gpu, executors };
  }

  /** One page of the executors that are there, and of the names that are drained. */
  executors(question: ExecutorsRequest): ExecutorsResponse {
    const { fleet, drained, runs } = this.#from;
    return executorStates(
      {
        executors: fleet.all(),
        drained,
        isHeard: this.#isHeard,
        runsIn: ({ executor, number }) => runs.in({ executor: executor.id, slot: number }),
      },
      question,
    );
  }

  fleetCounts(): FleetCounts {
    const { fleet } = this.#from;
    return fleetCounts({
      executors: fleet.all(),
      isHeard: this.#isHeard,
      isTaken: (slot) => fleet.isTaken(slot),
    });
  }

  /** Of the executor that was not heard for the longest time, in milliseconds of connected time; 0 without executors. */
  longestSilence(): number {
    const { fleet, now } = this.#from;
    return Math.max(now() - (fleet.silentSince() ?? now()), 0);
  }

  #waiting(key: RunKey): KnownRun | undefined {
    const known = this.#from.runs.get(runName(key));
    return known?.run.status === 'queued' ? known : undefined;
  }

  #placeOf(known: KnownRun): QueuePosition {
    const { fleet, runs } = this.#from;
    const offers = fleet.offersFor(known.requirements);
    return {
      // One that is decided on stands in no line any more.
      ahead: known.decided ? 0 : runs.aheadOf(known, offers),
      capacity: offers.length > 0 ? 'busy' : fleet.shortageFor(known.requirements),
    };
  }
}

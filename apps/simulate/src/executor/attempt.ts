import { errorOf } from '@runledger/contracts/events/run-error';
import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { Assignment } from '@runledger/gpu-executor/attempt/assignment.decide';
import {
  begin,
  beginStoring,
  endOf,
  NO_OUTPUTS,
  retryAfterOf,
  startedTooLate,
  timedOut,
  type Ending,
  type Storing,
} from '@runledger/gpu-executor/attempt/end-of-attempt.decide';
import type { Heartbeat } from '@runledger/contracts/events/fleet-event';
import type { World } from '../broker/world.ts';
import type { PlannedRun } from '../plan/plan.ts';
import type { Process } from '../virtual-time.ts';
import { Ledger } from './ledger.ts';

/** A program that has to stop may take so long. */
const STOPS_WITHIN_MS = 3_000;
const STORING_MS = 500;

type Result = Ending['result'];

const SUCCEEDED: Result = { outcome: 'succeeded', data: {}, files: [] };
const CRASHED: Result = { outcome: 'failed', error: errorOf('crashed', 'the program is gone'), files: [] };

interface AttemptOptions {
  readonly world: World;
  readonly process: Process;
  readonly run: PlannedRun;
  readonly program: Program;
  readonly onOver: () => void;
}

/** An attempt at an executor: it loads, executes for as long as the plan says, and stores its end. */
export class Attempt {
  readonly #options: AttemptOptions;
  readonly #ledger: Ledger;
  #isTooLate = false;
  #state: 'waiting' | 'loading' | 'beginning' | 'running' | 'ending' = 'waiting';

  constructor(options: AttemptOptions, assignment: Assignment, head: number) {
    this.#options = options;
    const { world, process } = options;
    this.#ledger = new Ledger({ world, process, onStop: () => this.#onStop() }, assignment, head);
    const { startWithinS } = assignment;
    if (Number.isFinite(startWithinS)) process.after(startWithinS * 1_000, () => this.#onStartDeadline());
  }

  get assignment(): Assignment {
    return this.#ledger.assignment;
  }

  receive(message: StoredMessage): void {
    this.#ledger.receive(message);
  }

  close(): void {
    this.#ledger.close();
  }

  /** The slot is free. */
  start(): void {
    const { process, run, program } = this.#options;
    if (this.#ledger.mustStop) return this.#finish(cancelled(false));
    if (this.#isTooLate) return this.#finish(startedTooLate(this.assignment));
    const isWarm = program.isLoaded();
    if (!isWarm) program.load();
    this.#state = 'loading';
    const loadMs = isWarm ? 0 : run.loadMs;
    process.after(loadMs, () => {
      if (this.#state === 'loading') this.#begin(loadMs);
    });
  }

  #begin(loadMs: number): void {
    const { process, run, program } = this.#options;
    program.onLoaded();
    this.#state = 'beginning';
    this.#ledger.append(
      (state) => begin(state, loadMs, null, null),
      (isStored) => {
        if (!isStored || this.#ledger.mustStop) return this.#finish(cancelled(false));
        this.#state = 'running';
        const { run_timeout_s } = this.assignment.event.data;
        process.after(run_timeout_s * 1_000, () =>
          this.#stop((isForced) => timedOut({ forced: isForced }, run_timeout_s)),
        );
        process.after(run.durationMs, () => {
          if (this.#state !== 'running') return;
          const crashes = this.assignment.attempt <= (run.crashes ?? 0);
          if (crashes) program.onEnded();
          this.#finish(crashes ? CRASHED : SUCCEEDED);
        });
      },
    );
  }

  #onStartDeadline(): void {
    this.#isTooLate = true;
    if (this.#state === 'loading') this.#finish(startedTooLate(this.assignment));
  }

  #onStop(): void {
    if (this.#state === 'loading') this.#finish(cancelled(false));
    else this.#stop(cancelled);
  }

  /** The program has to end before it is done, if it executes. */
  #stop(resultOf: (isForced: boolean) => Result): void {
    if (this.#state !== 'running') return;
    this.#state = 'ending';
    const { process, program } = this.#options;
    const ms = process.random.fraction() * STOPS_WITHIN_MS;
    process.after(ms, () => {
      const isForced = ms > STOPS_WITHIN_MS / 2;
      if (isForced) program.onEnded();
      this.#end(resultOf(isForced), { kind: 'stored' });
    });
  }

  #finish(result: Result): void {
    this.#state = 'ending';
    const { process, run } = this.#options;
    if (result.outcome !== 'succeeded' || !run.files) return this.#end(result, { kind: 'stored' });
    this.#ledger.append(
      (state) => beginStoring(state, 1, 1_000),
      (isStored) => {
        if (!isStored) return this.#end(result, { kind: 'stopped' });
        process.after(STORING_MS, () =>
          this.#end(result, { kind: this.#ledger.mustStop ? 'stopped' : 'stored' }),
        );
      },
    );
  }

  #end(result: Result, storing: Storing): void {
    const { random } = this.#options.process;
    const ending: Ending = {
      result,
      storing,
      outputs: NO_OUTPUTS,
      progress: 0,
      retryAfterS: retryAfterOf(this.assignment, random.fraction()),
    };
    this.#ledger.append(
      (state) => endOf(state, ending),
      () => this.#options.onOver(),
    );
  }
}

const cancelled = (forced: boolean): Result => ({ outcome: 'cancelled', forced, files: [] });

/** The program that an attempt executes in its slot. */
interface Program {
  /** Whether it is there already, from a run before. */
  readonly isLoaded: () => boolean;
  /** What was there has to go first. */
  readonly load: () => void;
  readonly onLoaded: () => void;
  /** It crashed, or was killed. */
  readonly onEnded: () => void;
}

/** It ends with its run, and leaves alone what the slot keeps. */
const ENDS_WITH_RUN: Program = {
  isLoaded: () => false,
  load: () => undefined,
  onLoaded: () => undefined,
  onEnded: () => undefined,
};

/** As services/gpu-executor/src/resident-process: the program that each slot keeps between runs, by its workflow version. */
export class LoadedPrograms {
  readonly #onChange: () => void;
  readonly #versions = new Map<number, string>();
  readonly #prepared = new Set<string>();

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** For heartbeats: the versions whose code is on the disk of the executor. */
  prepared(): string[] {
    return [...this.#prepared];
  }

  /** The same for what is loaded. */
  versions(): NonNullable<Heartbeat['loaded']> {
    return [...this.#versions].map(([slot, workflow_version_id]) => ({ slot, workflow_version_id }));
  }

  programIn(
    slot: number,
    {
      version,
      staysLoaded,
      isCode,
    }: { readonly version: string; readonly staysLoaded: boolean; readonly isCode: boolean },
  ): Program {
    if (!staysLoaded) return ENDS_WITH_RUN;
    const isLoaded = (): boolean => this.#versions.get(slot) === version;
    const remove = (): void => {
      if (this.#versions.delete(slot)) this.#onChange();
    };
    return {
      isLoaded,
      load: remove,
      onLoaded: () => {
        if (isLoaded()) return;
        if (isCode) this.#prepared.add(version);
        this.#versions.set(slot, version);
        this.#onChange();
      },
      onEnded: remove,
    };
  }
}

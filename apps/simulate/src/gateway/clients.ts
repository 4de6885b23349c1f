import type { RunEvent, RunEventOf } from '@runledger/contracts/events/run-event';
import { EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import type { RunHistory } from '@runledger/contracts/fold/run-chain';
import { isDeleted, isEnded, isExecuting, type Run } from '@runledger/contracts/fold/run';
import { gpuModel } from '@runledger/contracts/gpu';
import { queued, runEvent } from '@runledger/testing/run-events';
import type { World } from '../broker/world.ts';
import { runIdOf, deploymentIdOf, OPERATOR, orgIdOf, versionIdOf } from '../plan/ids.ts';
import type { PlannedRun, PlannedDeployment } from '../plan/plan.ts';
import { type Process, Recent } from '../virtual-time.ts';
import { timeAt } from '../broker/broker.ts';

const APPEND_WITHIN_MS = 12_000;
const RETRY_AFTER_MS = 500;
/** A client that was refused, because the log has no room, comes back. */
const REFUSED_AFTER_MS = 5_000;
/** Runs that have ended and are still known. */
const ENDED = 10_000;

/** The gateway and its clients: they queue the runs of the plan, and cancel some. */
export class Clients {
  readonly #world: World;
  readonly #gateway: Process;
  /** By id: those that have not ended. */
  readonly #runs = new Map<string, PlannedRun>();
  readonly #ended = new Recent<string, PlannedRun>(ENDED);
  #isDone = false;

  constructor(world: World) {
    this.#world = world;
    this.#gateway = world.newProcess('gateway');
    this.#gateway.start();
    this.#queueNext(world.plan.runs[Symbol.iterator]());
  }

  /** When the last run came, or may start. */
  lastStartMs = 0;

  /** All runs of the plan were queued. */
  get hasQueuedAll(): boolean {
    return this.#isDone;
  }

  /** Of the plan, those that have not ended. */
  get open(): IteratorObject<PlannedRun> {
    return this.#runs.values();
  }

  runOf(run_id: string): PlannedRun | undefined {
    return this.#runs.get(run_id) ?? this.#ended.get(run_id);
  }

  /** Its executor may not know that yet. */
  onEnded(run_id: string): void {
    const run = this.#runs.get(run_id);
    if (!run) return;
    this.#runs.delete(run_id);
    this.#ended.set(run_id, run);
  }

  queue(run: PlannedRun): void {
    const { now } = this.#world.timeline;
    const startMs = Math.max(now + (run.delay_s ?? 0) * 1_000, run.startAtMs ?? 0);
    this.lastStartMs = Math.max(this.lastStartMs, startMs);
    this.#runs.set(runIdOf(run.id), run);
    const planned = this.#world.plan.deployments[run.deployment];
    if (!planned) throw new Error(`run ${run.id} is of a deployment that is not in the plan`);
    this.#append(queuedEvent(run, planned, this.#stamp()), () => {
      if (run.cancelAfterMs !== undefined) this.#gateway.after(run.cancelAfterMs, () => this.#cancel(run));
    });
  }

  #queueNext(runs: Iterator<PlannedRun>): void {
    const next = runs.next();
    if (next.done) {
      this.#isDone = true;
      return;
    }
    const run = next.value;
    this.#world.timeline.after(run.atMs - this.#world.timeline.now, () => {
      this.queue(run);
      this.#queueNext(runs);
    });
  }

  /** The same event again until it is stored. */
  #append(event: RunEvent, then: () => void): void {
    const { broker, log } = this.#world;
    const again = (ms: number): void => this.#gateway.after(ms, () => this.#append(event, then));
    if (!broker.hasCapacity) return again(REFUSED_AFTER_MS);
    broker.ask(
      this.#gateway,
      APPEND_WITHIN_MS,
      () => log.append(event, 0),
      (appended) => {
        if (appended?.kind === 'stored') then();
        else again(RETRY_AFTER_MS);
      },
    );
  }

  #cancel(planned: PlannedRun): void {
    const { broker, log } = this.#world;
    const again = (): void => this.#gateway.after(RETRY_AFTER_MS, () => this.#cancel(planned));
    const run_id = runIdOf(planned.id);
    if (!this.#runs.has(run_id)) return;
    const read = (): RunHistory => (log.isWhole(run_id) ? log.historyOf(run_id) : EMPTY_HISTORY);
    broker.ask(this.#gateway, APPEND_WITHIN_MS, read, (history) => {
      // A gateway ends a run whose beginning is gone.
      if (!history?.state) return again();
      const { head, state } = history;
      if (isDeleted(state) || !mayBeCancelled(state)) return;
      const event = cancelEvent(state, this.#stamp());
      const append = (): ReturnType<typeof log.append> => log.append(event, head);
      broker.ask(this.#gateway, APPEND_WITHIN_MS, append, (appended) => {
        // After a conflict, or without an answer, it reads the run again.
        if (appended?.kind !== 'stored') again();
      });
    });
  }

  #stamp(): Stamp {
    const writer = { service: 'gateway', instance: 'gateway' } as const;
    return { event_id: this.#world.newEventId(), time: this.#world.broker.time, writer };
  }
}

const mayBeCancelled = (run: Run): boolean => !isEnded(run) && !(isExecuting(run) && run.cancel);

type Stamp = Pick<RunEventOf<'RunQueued' | 'RunCancelRequested'>, 'event_id' | 'time' | 'writer'>;

const queuedEvent = (
  { id, deployment, priority, key, crashes, delay_s, startAtMs }: PlannedRun,
  planned: PlannedDeployment,
  stamp: Stamp,
): RunEventOf<'RunQueued'> => ({
  ...queued(
    { org_id: orgIdOf(planned.organisation), run_id: runIdOf(id) },
    {
      inputs: {},
      deployment_id: deploymentIdOf(planned.of ?? deployment),
      ...placementOf(planned),
      start_deadline_s: planned.start_deadline_s,
      run_timeout_s: planned.run_timeout_s,
      max_attempts: planned.max_attempts,
      ...(planned.weight !== undefined && { weight: planned.weight }),
      ...(planned.concurrency_limit !== undefined && { concurrency_limit: planned.concurrency_limit }),
      ...(priority !== undefined && { priority }),
      ...(key !== undefined && { concurrency_key: key }),
      ...(crashes !== undefined && { retry_on: ['crashed'] }),
      ...(delay_s !== undefined && { delay_s }),
      ...(startAtMs !== undefined && { start_at: timeAt(startAtMs) }),
    },
  ),
  ...stamp,
});

const placementOf = ({
  gpu,
  gpu_fallbacks,
  labels,
  version,
  code,
  warm_wait_s,
}: PlannedDeployment): Partial<RunEventOf<'RunQueued'>['data']> => ({
  gpu: gpuModel(gpu),
  ...(gpu_fallbacks && {
    gpu_fallbacks: gpu_fallbacks.map((one) => ({ gpu: gpuModel(one.gpu), after_s: one.after_s })),
  }),
  ...(labels && { labels }),
  ...(version !== undefined && { workflow_version_id: versionIdOf(version) }),
  ...(code && { runner: { kind: 'code' } }),
  ...(warm_wait_s !== undefined && { warm_wait_s }),
});

const cancelEvent = (run: Run, stamp: Stamp): RunEventOf<'RunCancelRequested'> => ({
  ...runEvent('RunCancelRequested', run, {
    attempt: run.attempt?.number ?? 0,
    executor: isExecuting(run) ? run.attempt.executor_id : null,
    data: { by: 'client', user_id: OPERATOR },
  }),
  ...stamp,
});

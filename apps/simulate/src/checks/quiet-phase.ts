import { isExecuting } from '@runledger/contracts/fold/run';
import type { World } from '../broker/world.ts';
import type { Clients } from '../gateway/clients.ts';
import type { Victims } from '../simulation/inject-faults.ts';
import { runIdOf, runOf } from '../plan/ids.ts';
import type { Plan, PlannedDeployment, PlannedRun } from '../plan/plan.ts';
import type { ViewsCheck } from './views-check.ts';
import type { Violate } from './violation.ts';

const POLL_MS = 1_000;
const SLOTS_FREE_WITHIN_MS = 60_000;
/** Also that of an executor that registers again; by then it is known whether it is lost. */
const REQUESTS_END_WITHIN_MS = 20_000;
/** Probes execute at the same time. */
const PROBE_MS = 60_000;
/** By then each has begun. */
const PROBES_BEGIN_WITHIN_MS = 30_000;
/** At least the longest opening of a breaker, and the probes after it. */
const NOTIFIED_WITHIN_MS = 1_800_000;
/** Numbers of probes begin here. */
const FIRST_PROBE = 0xf0_00_00_00;

export interface QuietPhaseOptions extends Victims {
  readonly world: World;
  readonly clients: Clients;
  /** Where a gateway keeps views. */
  readonly views: ViewsCheck | undefined;
  readonly violate: Violate;
  /** When the last fault is over. */
  readonly calmFromMs: number;
}

/** The plan with one more organisation, whose runs show at the end that each slot takes one. */
export const withProbes = (plan: Plan): Plan => {
  const organisation = plan.organisations.length;
  const gpus = new Set(plan.executors.flatMap(({ slots }) => slots));
  const probes = [...gpus].map((gpu): PlannedDeployment => ({
    organisation,
    gpu,
    max_attempts: 1,
    start_deadline_s: 3_600,
    run_timeout_s: 3_600,
  }));
  return {
    ...plan,
    organisations: [...plan.organisations, { weight: 1 }],
    deployments: [...plan.deployments, ...probes],
  };
};

/** Waits until all runs have ended and nothing is wrong any more. Then every slot is free, and takes a run. */
export class QuietPhase {
  readonly #options: QuietPhaseOptions;
  readonly #longestLifeMs: number;
  #isOver = false;

  constructor(options: QuietPhaseOptions) {
    this.#options = options;

    this.#longestLifeMs = longestLifeMs(options.world.plan);
    this.#poll();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  #poll(): void {
    const { world, clients, schedulers, views, calmFromMs, violate } = this.#options;
    const { timeline, log, snapshots } = world;
    log.forgetBefore(
      Math.min(
        (snapshots.last?.sequence ?? 0) + 1,
        ...schedulers.map(({ life }) => life?.readsFrom ?? Infinity),
      ),
    );
    const open = clients.open.filter(({ id }) => !views?.isForgotten(runIdOf(id)));
    const [first] = open.take(1);
    if (clients.hasQueuedAll && !first && timeline.now >= calmFromMs) return this.#whenQuiet();
    const lastMs = Math.max(calmFromMs, clients.lastStartMs);
    if (timeline.now > lastMs + this.#longestLifeMs) {
      const names = [first, ...open.take(4)].map((run) => `run ${run?.id}`).join(', ');
      return violate('accepted-runs', `not all runs have ended long after the last fault: ${names}`);
    }
    timeline.after(POLL_MS, () => this.#poll());
  }

  #whenQuiet(): void {
    const { timeline, plan } = this.#options.world;
    // Attempts that have to stop may use their slots for so long, and an executor whose request got lost is silent for so long.
    timeline.after(Math.max(plan.cancelEnforceMs, REQUESTS_END_WITHIN_MS), () =>
      this.#pollSlots(SLOTS_FREE_WITHIN_MS / POLL_MS),
    );
  }

  /** Even now another scheduler may begin to lead, and wait for heartbeats. */
  #pollSlots(triesLeft: number): void {
    const { world, views, violate } = this.#options;
    const [slots, stale] = [this.#slotProblem(), views?.problem()];
    const problem = slots ?? stale;
    if (problem && triesLeft === 0) return violate(slots ? 'slots' : 'reads-never-go-back', problem);
    if (problem) return world.timeline.after(POLL_MS, () => this.#pollSlots(triesLeft - 1));
    this.#pollNotifications(NOTIFIED_WITHIN_MS / POLL_MS);
  }

  /** Breakers stay open for so long, and let one notification after the other through then. */
  #pollNotifications(triesLeft: number): void {
    const { world, clients, violate } = this.#options;
    const problem = this.#notificationProblem();
    if (problem && triesLeft === 0) return violate('notifications', problem);
    if (problem) return world.timeline.after(POLL_MS, () => this.#pollNotifications(triesLeft - 1));
    const probes = this.#probes();
    for (const probe of probes) clients.queue(probe);
    this.#pollProbes(probes, PROBES_BEGIN_WITHIN_MS / POLL_MS);
  }

  #notificationProblem(): string | undefined {
    const { world, clients, notifiers } = this.#options;
    const { deliveries } = world;
    for (const { key, round, isSettled } of deliveries.runs.values()) {
      const run = `run ${runOf(key.run_id)}`;
      if (!isSettled) return `the notification of ${run} is not settled`;
      const isAskedFor = clients.runOf(key.run_id)?.redeliverAfterMs === undefined || round > 1;
      if (!isAskedFor) return `the notification of ${run} is not requested again`;
    }
    const [timer] = deliveries.timers();
    if (timer) return `TIMERS still has run ${runOf(timer.delivery.key.run_id)} (${timer.state})`;
    if (deliveries.openings.size + deliveries.dueOpenings.size > 0)
      return 'TIMERS still has an opening of a breaker';
    return notifiers.map(({ life }) => (life ? life.leftovers() : 'no notifier is there')).find(Boolean);
  }

  #slotProblem(): string | undefined {
    const { world, schedulers, executors } = this.#options;
    const leader = schedulers.find(({ life }) => life?.isLeading)?.life;
    if (!leader) return 'no scheduler leads although nothing is wrong';
    const known = new Map([...leader.scheduling.executors()].map((each) => [each.id, each] as const));
    // Of an executor that was killed, the leader learns late.
    if (known.size > executors.length) return 'the leader knows executors that are gone';
    for (const [n, { life }] of executors.entries()) {
      const id = life?.id;
      const executor = id && known.get(id);
      if (!executor) return `the leader does not know ${id ?? 'an executor'} although nothing is wrong`;
      const free = [...executor.free.values()].reduce((count, slots) => count + slots.size, 0);
      const length = world.plan.executors[n]?.slots.length ?? 0;
      if (free < length) return `${id} has ${free} free slots of ${length} although no run is left`;
    }
    return undefined;
  }

  #probes(): PlannedRun[] {
    const { plan, timeline } = this.#options.world;
    const slots = plan.executors.flatMap((executor) => executor.slots);
    const organisation = plan.organisations.length - 1;
    return slots.map((gpu, n) => ({
      id: FIRST_PROBE + n,
      atMs: timeline.now,
      deployment: plan.deployments.findIndex((one) => one.organisation === organisation && one.gpu === gpu),
      durationMs: PROBE_MS,
      loadMs: 0,
    }));
  }

  #pollProbes(probes: readonly PlannedRun[], triesLeft: number): void {
    const { world, violate } = this.#options;
    const begun = probes.filter(({ id }) => {
      const { state } = world.log.historyOf(runIdOf(id));
      return state && isExecuting(state) && state.status === 'running';
    });
    if (begun.length === probes.length) this.#isOver = true;
    else if (triesLeft > 0) {
      world.timeline.after(POLL_MS, () => this.#pollProbes(probes, triesLeft - 1));
    } else violate('slots', `${probes.length} slots are free, and take ${begun.length} runs only`);
  }
}

/** A run has ended by then, from when it may start on: each attempt waits for its deadline and executes up to its time limit at most. */
const longestLifeMs = ({ deployments, heartbeatPeriodMs, cancelEnforceMs }: Plan): number => {
  const longestS = deployments.map(
    ({ max_attempts, start_deadline_s, run_timeout_s }) => max_attempts * (start_deadline_s + run_timeout_s),
  );
  return Math.max(0, ...longestS) * 1_000 + 10 * (heartbeatPeriodMs + cancelEnforceMs);
};

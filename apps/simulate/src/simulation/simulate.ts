import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { SliceFact } from '@runledger/contracts/slices/slice';
import { judgeFacts } from '@runledger/testing/invariants';
import type { Stored } from '../broker/run-log.ts';
import { newWorld, type World } from '../broker/world.ts';
import { QuietPhase, withProbes } from '../checks/quiet-phase.ts';
import { VoidAssignments } from '../checks/void-assignments.ts';
import type { Violate, Violation } from '../checks/violation.ts';
import { Clients } from '../gateway/clients.ts';
import { ExecutorLife } from '../executor/executor-life.ts';
import { ViewsCheck } from '../checks/views-check.ts';
import { calmFrom, injectFaults, processesOf, type Victims } from './inject-faults.ts';
import { NotifierLife, originOf } from '../notifier/notifier-life.ts';
import { GatewayLife } from '../gateway/gateway-life.ts';
import type { Plan, PlannedRun } from '../plan/plan.ts';
import { executorNameOf, organisationOf, runOf } from '../plan/ids.ts';
import { describeFact, fleetFactOf, runFactOf, termOf } from './stored-facts.ts';
import { resultsFrom, type RunResult } from './results.ts';
import { SchedulerLife } from '../scheduler/scheduler-life.ts';
import { Restartable } from '../virtual-time.ts';
import { countFact, noCounts, watchSchedulers, type SimulationCounts } from './watch.ts';

export interface SimulationOptions {
  /** Called with what happens, in words. */
  readonly tell?: (atMs: number, text: string) => void;
  /** Called with each run that has ended. */
  readonly onResult?: (result: RunResult) => void;
  /** Called with each fact, as a slice of the log would hold it. */
  readonly onFact?: (fact: SliceFact) => void;
  /** How often all runs and slots are compared, in virtual time; after each step by default. */
  readonly compareEveryMs?: number;
}

export interface Simulated {
  /** Undefined when everything was kept. */
  readonly violation: Violation | undefined;
  readonly counts: SimulationCounts;
}

/** Plays a plan until all its runs have ended, all is quiet, and each slot has taken one more run. The first violation ends it. */
export const simulate = (plan: Plan, options: SimulationOptions = {}): Simulated => {
  const found: { violation?: Violation } = {};
  const { tell } = options;
  const world = newWorld(withProbes(plan), (text) => tell?.(world.timeline.now, text()));
  const { timeline } = world;
  const violate: Violate = (check, what) => {
    found.violation ??= { check, what, atMs: timeline.now };
  };
  const counts = noCounts();
  const voids = new VoidAssignments();
  const clients = new Clients(world);
  const calmFromMs = calmFrom(plan.faults);
  const victims = openProcesses(world, clients, { counts, violate, calmFromMs, ...options });
  const views = plan.gateway && new ViewsCheck(world, violate);
  const checks = [
    judgeFacts<Stored>({
      violate,
      nameOf: (id) => String(runOf(id)),
      limitOf: (org_id) => world.plan.organisations[organisationOf(org_id)]?.limit ?? Infinity,
      isLost: (stored) => views?.isLost(stored) ?? false,
      isVoid: (stored) => voids.isVoid(stored),
      isWhole: (run_id) => world.log.isWhole(run_id),
    }),
    (stored: Stored) => countFact(counts, stored),
    ...(options.onResult ? [resultsFrom(timeline, options.onResult)] : []),
    ...(tell ? [(stored: Stored) => tell(timeline.now, describeFact(stored))] : []),
  ];
  connect(world, clients, victims, {
    voids,
    counts,
    check: (stored) => checks.forEach((check) => check(stored)),
    ...(options.onFact && { onFact: options.onFact }),
  });
  for (const process of processesOf(victims)) process.start();
  injectFaults(world, victims);
  const quiet = new QuietPhase({ world, clients, ...victims, views, violate, calmFromMs });
  while (!found.violation && !quiet.isOver && timeline.step());
  return { violation: found.violation, counts };
};

interface ProcessOptions extends SimulationOptions {
  readonly counts: SimulationCounts;
  readonly violate: Violate;
  readonly calmFromMs: number;
}

const openProcesses = (
  world: World,
  clients: Clients,
  { counts, violate, calmFromMs, compareEveryMs = 0 }: ProcessOptions,
): Victims => {
  const { plan, newProcess } = world;
  const runOf = (run_id: string): PlannedRun | undefined => clients.runOf(run_id);
  const isCalm = (): boolean => world.timeline.now >= calmFromMs;
  const watcher = watchSchedulers(world, { counts, violate, compareEveryMs });
  return {
    schedulers: plan.schedulers.map(({ clockRate }, n) => {
      const process = newProcess(`scheduler ${n}`, clockRate);
      return new Restartable(process, () => new SchedulerLife(world, process, watcher));
    }),
    executors: plan.executors.map((planned, n) => {
      const process = newProcess(`executor ${n}`, planned.clockRate);
      return new Restartable(process, () => new ExecutorLife({ world, process, planned, runOf }));
    }),
    gateways: (plan.gateway ? [plan.gateway] : []).map((planned, n) => {
      const process = newProcess(`gateway ${n}`);
      return new Restartable(process, () => new GatewayLife(world, process, planned));
    }),
    notifiers: (plan.notifier ? [plan.notifier] : []).map((planned, n) => {
      const process = newProcess(`notifier ${n}`);
      const known = { world, process, planned, runOf, violate, isCalm };
      return new Restartable(process, () => new NotifierLife(known));
    }),
  };
};

interface Observers extends Pick<SimulationOptions, 'onFact'> {
  readonly voids: VoidAssignments;
  readonly counts: SimulationCounts;
  readonly check: (stored: Stored) => void;
}

/** Who learns what from the broker. */
const connect = (
  { log, fleet, broker, deliveries, timeline }: World,
  clients: Clients,
  { schedulers, executors, gateways, notifiers }: Victims,
  { voids, counts, check, onFact }: Observers,
): void => {
  const byName = new Map(
    executors.map((executor) => [executorNameOf(executor.process.name), executor] as const),
  );
  const deliver = (executor_id: string, message: StoredMessage): void => {
    const executor = byName.get(executor_id.slice(0, executor_id.indexOf('.')))?.life;
    if (executor?.id === executor_id) executor.onFact(message);
  };
  const wakeReadersOfFleet = (): void => {
    for (const { life } of schedulers) life?.onFleetFact();
  };
  const wakeReadersOfRuns = (): void => {
    for (const { life } of [...schedulers, ...gateways, ...notifiers]) life?.onRunFact();
  };
  log.onRedelivery = wakeReadersOfRuns;
  deliveries.onDue = () => {
    for (const { life } of notifiers) life?.onDue();
  };
  deliveries.onSettled = (run) => {
    counts.notified += 1;
    const { redeliverAfterMs } = clients.runOf(run.key.run_id) ?? {};
    if (redeliverAfterMs === undefined || run.round > 1) return;
    timeline.after(redeliverAfterMs, () => log.requestRedelivery(deliveries.notifyAgain(run)));
  };
  log.onStored = (stored) => {
    check(stored);
    onFact?.(runFactOf(stored.message));
    const { executor_id, run_id, org_id } = stored.event;
    if (executor_id) deliver(executor_id, stored.message);
    if (stored.after && 'ended_at' in stored.after) {
      clients.onEnded(run_id);
      const { webhook } = clients.runOf(run_id) ?? {};
      const endedAt = Date.parse(stored.message.time);
      if (webhook !== undefined)
        deliveries.notify(stored.message.key, { org_id, origin: originOf(webhook) }, endedAt);
    }
    wakeReadersOfRuns();
  };
  log.onTold = (told) => {
    voids.onTold(told);
    wakeReadersOfRuns();
    deliver(told.executor, told);
  };
  fleet.onFact = (fact, term) => {
    voids.onFleetFact(fact, term);
    onFact?.(fleetFactOf(fact));
    wakeReadersOfFleet();
  };
  fleet.onTerm = (term) => {
    voids.onTerm(term);
    onFact?.(termOf(term, broker.time));
    wakeReadersOfFleet();
  };
  fleet.onHeartbeat = (stored) => {
    for (const { life } of schedulers) life?.onHeartbeat(stored);
  };
};

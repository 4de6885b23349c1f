import type { World } from '../broker/world.ts';
import type { ExecutorLife } from '../executor/executor-life.ts';
import { executorNameOf, OPERATOR } from '../plan/ids.ts';
import type { PlannedFault } from '../plan/plan.ts';
import type { GatewayLife } from '../gateway/gateway-life.ts';
import type { NotifierLife } from '../notifier/notifier-life.ts';
import type { SchedulerLife } from '../scheduler/scheduler-life.ts';
import type { Restartable } from '../virtual-time.ts';

export interface Victims {
  readonly schedulers: readonly Restartable<SchedulerLife>[];
  readonly executors: readonly Restartable<ExecutorLife>[];
  readonly gateways: readonly Restartable<GatewayLife>[];
  readonly notifiers: readonly Restartable<NotifierLife>[];
}

export const processesOf = ({
  schedulers,
  executors,
  gateways,
  notifiers,
}: Victims): readonly Restartable[] => [...schedulers, ...executors, ...gateways, ...notifiers];

/** Schedules each fault of the plan, and its end. */
export const injectFaults = (world: World, victims: Victims): void => {
  for (const fault of world.plan.faults) {
    world.timeline.after(fault.atMs, () => {
      world.tell(() => describe(fault));
      inject(world, victims, fault);
    });
  }
};

/** When the last fault is over. */
export const calmFrom = (faults: readonly PlannedFault[]): number =>
  faults.reduce((last, { atMs, forMs }) => Math.max(last, atMs + forMs), 0);

const inject = (world: World, victims: Victims, fault: PlannedFault): void => {
  const { broker } = world;
  const { kind, forMs, who, clockStepMs } = fault;
  const victim = processesOf(victims).find(({ process }) => process.name === who);
  const request = (type: 'ExecutorDrainRequested' | 'ExecutorResumeRequested'): void =>
    victim && requestDrain(world, executorNameOf(victim.process.name), type);
  switch (kind) {
    case 'broker_change':
    case 'broker_down':
      broker.change(forMs, clockStepMs);
      return during(world, forMs, () => {
        for (const each of processesOf(victims)) each.onReconnect();
      });
    case 'no_room':
    case 'full':
      broker.hasCapacity = false;
      broker.isFull = kind === 'full';
      return during(world, forMs, () => {
        broker.hasCapacity = true;
        broker.isFull = false;
      });
    case 'short_log':
      return shortenLog(world, forMs);
    case 'archive_down':
      return world.archive?.fail(forMs);
    case 'archive_slow':
      return world.archive?.slow(forMs);
    case 'lose_timers':
      return world.deliveries.loseOldest();
    case 'stall_timers':
      return world.deliveries.stall();
    case 'kill':
      victim?.kill();
      return victim && startAgainAfter(world, victim, forMs);
    case 'stop':
      victim?.stop();
      return victim && startAgainAfter(world, victim, forMs);
    case 'pause':
    case 'lag':
    case 'hold':
      return victim?.process.disturb(kind, forMs);
    case 'cut':
      victim?.process.disturb('cut', forMs);
      return during(world, forMs, () => victim?.onReconnect());
    case 'drain':
      request('ExecutorDrainRequested');
      return during(world, forMs, () => request('ExecutorResumeRequested'));
    case 'old_views': {
      const restore = world.views.copy();
      return during(world, forMs, () => {
        victim?.kill();
        restore();
        victim?.start();
      });
    }
  }
};

/** To half of its age. */
const shortenLog = (world: World, forMs: number): void => {
  const { log, plan } = world;
  if (!plan.gateway) return;
  const { logAgeMs } = plan.gateway;
  log.maxAgeMs = logAgeMs / 2;
  during(world, forMs, () => {
    log.maxAgeMs = logAgeMs;
  });
};

const during = ({ timeline }: World, forMs: number, onOver: () => void): void =>
  timeline.after(forMs, onOver);

/** A process that takes long to stop is killed then. */
const startAgainAfter = (world: World, victim: Restartable, downMs: number): void =>
  during(world, downMs, () => {
    if (victim.process.isAlive) victim.kill();
    victim.start();
    world.tell(() => `${victim.process.name} starts again`);
  });

const requestDrain = (
  { fleet, newEventId, broker }: World,
  executor_name: string,
  type: 'ExecutorDrainRequested' | 'ExecutorResumeRequested',
): void =>
  fleet.append({
    type,
    version: 1,
    event_id: newEventId(),
    executor_name,
    requested_by: OPERATOR,
    time: broker.time,
  });

const describe = ({ kind, who = '', forMs, clockStepMs }: PlannedFault): string => {
  const time = `${Math.round(forMs) / 1_000} s`;
  switch (kind) {
    case 'kill':
      return `${who} is killed, and down for ${time}`;
    case 'stop':
      return `${who} is stopped in order, and starts again after ${time}`;
    case 'pause':
      return `${who} is paused for ${time}`;
    case 'cut':
      return `${who} cannot reach the broker for ${time}`;
    case 'lag':
      return `what is delivered to ${who} comes late for ${time}`;
    case 'hold':
      return `what ${who} sends arrives only after ${time}`;
    case 'drain':
      return `${who} is drained for ${time}`;
    case 'broker_change':
      return `another broker leads after ${time}${clockStepMs ? `; its clock shows ${clockStepMs} ms more` : ''}`;
    case 'broker_down':
      return `the broker is down for ${time}`;
    case 'no_room':
      return `for ${time} the log has room only for what is reserved`;
    case 'full':
      return `for ${time} the broker's disk is full`;
    case 'short_log':
      return `for ${time} the log keeps its messages half as long`;
    case 'archive_down':
      return `objects of every other organisation cannot be reached for ${time}`;
    case 'archive_slow':
      return `objects of every other organisation are slow for ${time}`;
    case 'lose_timers':
      return 'the oldest half of TIMERS is lost';
    case 'stall_timers':
      return 'the broker loses the schedules of all that waits in TIMERS';
    case 'old_views':
      return `after ${time} ${who} starts again, and its views are the present ones`;
  }
};

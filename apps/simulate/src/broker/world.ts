import { randomFrom, type RandomSource } from '@runledger/testing/random-source';
import { eventIdOf } from '../plan/ids.ts';
import type { Plan } from '../plan/plan.ts';
import { Process, Timeline } from '../virtual-time.ts';
import { ArchiveStore, LeaseStore, SnapshotStore, ViewStore } from './stores.ts';
import { Broker } from './broker.ts';
import { DeliveryStore } from './delivery-store.ts';
import { FleetLog } from './fleet-log.ts';
import { RunLog } from './run-log.ts';

/** What all processes of a simulation share. */
export interface World {
  readonly plan: Plan;
  readonly timeline: Timeline;
  readonly broker: Broker;
  readonly log: RunLog;
  readonly fleet: FleetLog;
  readonly lease: LeaseStore;
  readonly snapshots: SnapshotStore;
  readonly views: ViewStore;
  readonly deliveries: DeliveryStore;
  /** Undefined where nothing is archived. */
  readonly archive: ArchiveStore | undefined;
  readonly newEventId: () => string;
  readonly newProcess: (name: string, clockRate?: number) => Process;
  /** For people: what happened, in words. */
  readonly tell: (text: () => string) => void;
}

export const newWorld = (plan: Plan, tell: World['tell']): World => {
  const timeline = new Timeline();
  const broker = new Broker(timeline, plan.delayMs);
  let events = 0;
  return {
    plan,
    timeline,
    broker,
    log: new RunLog(timeline, broker, plan.gateway?.logAgeMs),
    fleet: new FleetLog(timeline, broker),
    lease: new LeaseStore(),
    snapshots: new SnapshotStore(),
    views: new ViewStore(),
    deliveries: new DeliveryStore(timeline, broker, plan.notifier?.capacity),
    archive: plan.gateway?.archiveAfterMs === undefined ? undefined : new ArchiveStore(timeline),
    newEventId: () => eventIdOf((events += 1)),
    // Each has its own numbers, so that a plan without one of them changes the others little.
    newProcess: (name, clockRate = 1) =>
      new Process(timeline, { name, clockRate, random: randomOf(plan.seed, name) }),
    tell,
  };
};

const randomOf = (seed: number, name: string): RandomSource => {
  let hash = seed | 0;
  for (const character of name) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01_00_01_93);
  return randomFrom(hash);
};

import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Part } from '../cluster/part.ts';
import type { BrokerFault } from './broker-fault-schedule.ts';

/** A fault that came, on all brokers that it was to hit. */
export interface BrokerFaultMade extends Pick<BrokerFault, 'kind' | 'victims'> {
  readonly hadEffect: boolean;
}

export interface InjectBrokerFaultsOptions {
  readonly brokers: readonly Part[];
  readonly log: EventLog;
  readonly forMs: number;
  /** So many come, however long they take. */
  readonly least: number;
}

/** Injects one fault after the other until the time is up. Resolves when all brokers are healthy again. */
export const injectBrokerFaults = async (
  faults: Iterable<BrokerFault>,
  { brokers, log, forMs, least }: InjectBrokerFaultsOptions,
): Promise<readonly BrokerFaultMade[]> => {
  const endsAt = performance.now() + forMs;
  const made: BrokerFaultMade[] = [];
  for (const fault of faults) {
    if (made.length >= least && performance.now() + fault.afterMs > endsAt) break;
    await pause(fault.afterMs);
    const leader = await leaderOf(log, fault.stream);
    const { kind, victims } = fault;
    made.push({ kind, victims, hadEffect: await inject(fault, hitBy(fault, brokers, leader)) });
  }
  return made;
};

const inject = async ({ kind, victims, forMs }: BrokerFault, hit: readonly Part[]): Promise<boolean> => {
  const changed: boolean[] = [];
  if (victims === 'one after the other') {
    for (const part of hit) changed.push(await part.inject(kind, forMs));
  } else changed.push(...(await Promise.all(hit.map((part) => part.inject(kind, forMs)))));
  return changed.length > 0 && changed.every(Boolean);
};

/** The leader is the first of two and of all. */
const hitBy = ({ victims }: BrokerFault, brokers: readonly Part[], leader: string): readonly Part[] => {
  const ordered = brokers.toSorted(
    (one, other) => Number(other.name === leader) - Number(one.name === leader),
  );
  switch (victims) {
    case 'leader':
      return ordered.slice(0, 1);
    case 'follower':
      return ordered.slice(1, 2);
    case 'two':
      return ordered.slice(0, 2);
    case 'all':
    case 'one after the other':
      return ordered;
    case 'one with a disk':
      return ordered.filter(({ hasDisk }) => hasDisk);
  }
};

const LEADER_WITHIN_MS = 60_000;
const POLL_EVERY_MS = 500;

/** The name of the server that leads a stream. */
const leaderOf = async (log: EventLog, stream: string): Promise<string> => {
  for (const deadline = performance.now() + LEADER_WITHIN_MS; ; await pause(POLL_EVERY_MS)) {
    // During an election there is no leader, or no response.
    const info = await log.jsm.streams.info(stream).catch(() => undefined);
    if (info?.cluster?.leader) return info.cluster.leader;
    if (performance.now() > deadline)
      throw new Error(
        `Stream ${stream} has no leader after ${LEADER_WITHIN_MS / 1_000} s, with all brokers healthy.`,
      );
  }
};

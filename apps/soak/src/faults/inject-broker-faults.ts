import { setTimeout as pause } from 'node:timers/promises';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Part } from '../cluster/part.ts';
import type { BrokerFault } from './broker-fault-schedule.ts';

/** Injects one fault after the other until the time is up. Resolves when all brokers are healthy again. */
export const injectBrokerFaults = async (
  faults: Iterable<BrokerFault>,
  brokers: readonly Part[],
  log: EventLog,
  forMs: number,
): Promise<void> => {
  const endsAt = performance.now() + forMs;
  for (const fault of faults) {
    if (performance.now() + fault.afterMs > endsAt) return;
    await pause(fault.afterMs);
    const leader = await leaderOf(log, fault.stream);
    const hit = victims(fault, brokers, leader);
    if (fault.victims === 'one after the other') {
      for (const part of hit) await part.inject(fault.kind, fault.forMs);
    } else await Promise.all(hit.map((part) => part.inject(fault.kind, fault.forMs)));
  }
};

/** The leader is the first of two and of all. */
const victims = (fault: BrokerFault, brokers: readonly Part[], leader: string): readonly Part[] => {
  const ordered = brokers.toSorted(
    (one, other) => Number(other.name === leader) - Number(one.name === leader),
  );
  switch (fault.victims) {
    case 'leader':
      return ordered.slice(0, 1);
    case 'follower':
      return ordered.slice(1, 2);
    case 'two':
      return ordered.slice(0, 2);
    case 'all':
    case 'one after the other':
      return ordered;
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

import { setTimeout as pause } from 'node:timers/promises';
import type { RandomSource } from '@runledger/testing/random-source';
import { waitFor } from '@runledger/testing/wait-for';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { Size } from '../size.ts';
import type { Part } from '../cluster/part.ts';

/** Which brokers of a cluster a fault hits. */
type Victims = 'leader' | 'follower' | 'two' | 'all' | 'one after the other' | 'one with a disk';

/**
 * `empty`: the broker is killed and loses its store; the others have everything. `fill`: its disk has no room for a while, and it
 * is started again.
 */
type BrokerFaultKind = 'kill' | 'stop' | 'pause' | 'empty' | 'fill';

/** What happens to the brokers of a cluster, when all of them are healthy. */
export interface BrokerFault {
  /** From the end of the last fault, in milliseconds. */
  readonly afterMs: number;
  readonly kind: BrokerFaultKind;
  readonly victims: Victims;
  /** Whose leader and followers are meant. */
  readonly stream: string;
  /** How long each of them is away, in milliseconds. */
  readonly forMs: number;
}

type Hit = readonly [BrokerFaultKind, Victims];

/** A short soak has no time for others. */
const FIRST: readonly Hit[] = [
  ['kill', 'leader'],
  ['pause', 'follower'],
];

/** With the first ones, every fault that a cluster must survive. */
const OTHERS: readonly Hit[] = [
  ['stop', 'leader'],
  ['pause', 'leader'],
  ['empty', 'leader'],
  ['kill', 'follower'],
  ['empty', 'follower'],
  ['kill', 'two'],
  ['pause', 'two'],
  ['kill', 'all'],
  ['stop', 'one after the other'],
];
const ON_A_DISK: Hit = ['fill', 'one with a disk'];

/** Mostly of RUNS, where an outage shows most. */
const STREAMS = ['RUNS', 'RUNS', 'RUNS', 'KV_LEASES', 'KV_EXECUTORS', 'TIMERS'] as const;

/**
 * The same random numbers give the same faults. Each comes when the last one is over, so their times depend on how long the
 * brokers need to recover. All kinds come in a random order before the first one comes again. `hasDisk`: a broker has a disk that
 * can be filled.
 */
export function* brokerFaults(
  random: RandomSource,
  { brokerFaultGapMs, brokerDownMs }: Size,
  hasDisk: boolean,
): Generator<BrokerFault, never> {
  const others = hasDisk ? [...OTHERS, ON_A_DISK] : OTHERS;
  for (;;) {
    for (const [kind, victims] of [...random.shuffled(FIRST), ...random.shuffled(others)]) {
      const [afterMs, forMs] = [random.integer(...brokerFaultGapMs), random.integer(...brokerDownMs)];
      yield { afterMs, kind, victims, stream: random.pick(STREAMS), forMs };
    }
  }
}

/** A fault that came, on all brokers that it was to hit. */
export interface BrokerFaultMade extends Pick<BrokerFault, 'kind' | 'victims'> {
  readonly hadEffect: boolean;
}

interface InjectBrokerFaultsOptions {
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

/** The name of the server that leads a stream. During an election there is no leader, or no response. */
const leaderOf = (log: EventLog, stream: string): Promise<string> =>
  waitFor(
    `a leader of stream ${stream}, with all brokers healthy`,
    async () => (await log.jsm.streams.info(stream)).cluster?.leader,
    { withinMs: LEADER_WITHIN_MS, everyMs: POLL_EVERY_MS },
  );

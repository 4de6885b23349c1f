import type { RandomSource } from '@runledger/testing/random/random-source';
import type { Size } from '../parameters/size.ts';

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

type Limits = Pick<Size, 'brokerFaultGapMs' | 'brokerDownMs'>;

/**
 * The same random numbers give the same faults. Each comes when the last one is over, so their times depend on how long the
 * brokers need to recover. All kinds come in a random order before the first one comes again. `hasDisk`: a broker has a disk that
 * can be filled.
 */
export function* brokerFaults(
  random: RandomSource,
  { brokerFaultGapMs, brokerDownMs }: Limits,
  hasDisk: boolean,
): Generator<BrokerFault, never> {
  const others = hasDisk ? [...OTHERS, ON_A_DISK] : OTHERS;
  for (;;) {
    for (const [kind, victims] of [...shuffled(random, FIRST), ...shuffled(random, others)]) {
      const [afterMs, forMs] = [random.integer(...brokerFaultGapMs), random.integer(...brokerDownMs)];
      yield { afterMs, kind, victims, stream: random.pick(STREAMS), forMs };
    }
  }
}

const shuffled = <Item>(random: RandomSource, items: readonly Item[]): Item[] => {
  const left = [...items];
  return items.flatMap(() => left.splice(random.integer(0, left.length - 1), 1));
};

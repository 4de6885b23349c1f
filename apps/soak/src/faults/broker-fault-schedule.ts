import type { RandomSource } from '../parameters/random-source.ts';
import type { Size } from '../parameters/size.ts';

/** Which brokers of a cluster a fault hits. */
type Victims = 'leader' | 'follower' | 'two' | 'all' | 'one after the other';

/** `empty`: the broker is killed and loses its store; the others have everything. */
type BrokerFaultKind = 'kill' | 'stop' | 'pause' | 'empty';

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

/** Every fault that a cluster must survive. */
const FAULTS: readonly (readonly [BrokerFaultKind, Victims])[] = [
  ['kill', 'leader'],
  ['stop', 'leader'],
  ['pause', 'leader'],
  ['empty', 'leader'],
  ['kill', 'follower'],
  ['pause', 'follower'],
  ['empty', 'follower'],
  ['kill', 'two'],
  ['pause', 'two'],
  ['kill', 'all'],
  ['stop', 'one after the other'],
];

/** Mostly of RUNS, where an outage shows most. */
const STREAMS = ['RUNS', 'RUNS', 'RUNS', 'KV_LEASES', 'KV_EXECUTORS', 'TIMERS'] as const;

/**
 * The same random numbers give the same faults. Each comes when the last one is over, so their times depend on how long the
 * brokers need to recover. All kinds come in a random order before the first one comes again.
 */
export function* brokerFaults(
  random: RandomSource,
  { faultGapMs, brokerDownMs }: Pick<Size, 'faultGapMs' | 'brokerDownMs'>,
): Generator<BrokerFault, never> {
  for (;;) {
    for (const [kind, victims] of shuffled(random, FAULTS)) {
      const [afterMs, forMs] = [random.integer(...faultGapMs), random.integer(...brokerDownMs)];
      yield { afterMs, kind, victims, stream: random.pick(STREAMS), forMs };
    }
  }
}

const shuffled = <Item>(random: RandomSource, items: readonly Item[]): Item[] => {
  const left = [...items];
  return items.flatMap(() => left.splice(random.integer(0, left.length - 1), 1));
};

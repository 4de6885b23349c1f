import type { RandomSource } from '@runledger/testing/random/random-source';
import type { FaultKind, PlannedFault, StoredPlan } from './plan.ts';

/** What keeps a gateway behind, the archive from having something, or the log from keeping it. */
const KINDS: readonly [FaultKind, ...FaultKind[]] = [
  'pause',
  'pause',
  'lag',
  'lag',
  'kill',
  'cut',
  'old_views',
  'short_log',
  'archive_down',
  'archive_slow',
  'archive_slow',
];
const OF_GATEWAY: readonly FaultKind[] = ['pause', 'lag', 'kill', 'cut', 'old_views'];
/** Of the log's age: schedulers and executors are not away for as long as it keeps its messages. */
const MOST_OF_OTHERS = 1 / 3;

/** A log that forgets soon, in a quarter of the plans, and a gateway that is often behind it. */
export const withGateway = (random: RandomSource, plan: StoredPlan, activeMs: number): StoredPlan => {
  if (!random.chance(25)) return plan;
  const logAgeMs = random.pick([20_000, 30_000, 45_000]);
  const others = plan.faults.map((fault) => ({
    ...fault,
    forMs: Math.min(fault.forMs, MOST_OF_OTHERS * logAgeMs),
  }));
  const faults = Array.from({ length: random.integer(2, 5) }, (): PlannedFault => {
    const kind = random.pick(KINDS);
    return {
      atMs: random.integer(0, activeMs),
      kind,
      ...(OF_GATEWAY.includes(kind) && { who: 'gateway 0' }),
      forMs: Math.round(random.pick([0.3, 1, 2]) * random.fraction() * logAgeMs),
    };
  });
  return {
    ...plan,
    gateway: {
      logAgeMs,
      ...(random.chance(75) && { archiveAfterMs: random.pick([1_000, 3_000, 10_000]) }),
    },
    faults: [...others, ...faults],
  };
};

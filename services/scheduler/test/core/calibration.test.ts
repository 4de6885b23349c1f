import { casesOf, someOf } from '@runledger/testing/random/cases';
import { describe, expect, it } from 'vitest';
import { normalQuantile } from '../../src/core/forecast.ts';
import { executor } from './steps.ts';
import { orgOf, TestBed, type RequestedRun } from './test-bed.ts';

/** mulberry32 */
const seeded = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

interface World {
  readonly slots: number;
  readonly organisations: number;
  /** Runs of each organisation that wait when the forecasts are made. */
  readonly waiting: number;
  /** Of the logarithm of seconds. */
  readonly deviation: number;
  /** What run number `n` of an organisation requests. */
  readonly request?: (org: number, n: number) => RequestedRun;
  /** The most slots of each organisation. */
  readonly orgLimit?: number;
  /** How many slots are taken while all wait; all without limits. */
  readonly taken?: number;
}

/** One history: how many of the forecast starts lay within their intervals. */
const simulate = (world: World, seed: number): [number, number] => {
  const { slots, organisations, waiting, deviation, request, orgLimit, taken = slots } = world;
  const random = seeded(seed);
  const limits = Array.from(
    { length: organisations },
    (_, org) => [orgOf(org), { limit: orgLimit ?? Infinity }] as const,
  );
  const bed = new TestBed(new Map(limits));
  bed.lead();
  executor('box', { gpus: Array.from({ length: slots }, () => 'A10G' as const) })(bed);
  const ends = new Map<string, number>();
  const starts = new Map<string, number>();
  bed.onDecided = (_input, decisions) => {
    for (const decision of decisions) {
      if (decision.type !== 'assign') continue;
      const name = bed.nameOf(decision.key);
      starts.set(name, bed.nowMs);
      ends.set(name, bed.nowMs + 60_000 * Math.exp(deviation * normalQuantile(random())));
    }
  };
  const endNext = (): void => {
    const [name, at] = [...ends].reduce((one, other) => (other[1] < one[1] ? other : one));
    ends.delete(name);
    bed.nowMs = at;
    bed.start(name);
    bed.succeed(name);
    bed.settleAll();
  };
  const queue = (what: string, count: number): void => {
    for (let n = 0; n < count; n += 1) {
      const org = n % organisations;
      bed.queue(`${what} ${n}`, {
        org: orgOf(org),
        deployment: org,
        ...request?.(org, Math.floor(n / organisations)),
      });
      bed.settleAll();
    }
  };
  queue('before', 60 + 10 * slots);
  while (ends.size > taken - 1) endNext();
  queue('waiting', organisations * waiting);
  for (let n = 0; n < 3; n += 1) endNext();
  bed.nowMs += 1;
  bed.take({ type: 'tick', now: bed.nowMs, connectedMs: bed.connectedMs });
  const forecasts = new Map(
    Array.from({ length: organisations * waiting }, (_, n) => `waiting ${n}`).flatMap((name, n) => {
      if (n % Math.ceil(waiting / 10) !== 0) return [];
      const eta = bed.scheduling.queries.waitReason(bed.key(name))?.eta;
      return eta ? [[name, eta] as const] : [];
    }),
  );
  while (ends.size > 0) endNext();
  const within = [...forecasts].filter(([name, { earliest, latest }]) => {
    const started = starts.get(name) ?? NaN;
    return started >= Date.parse(earliest) && started <= Date.parse(latest);
  });
  return [within.length, forecasts.size];
};

const coverage = (world: World, histories: number): number => {
  let [within, all] = [0, 0];
  for (let seed = 1; seed <= histories; seed += 1) {
    const [inside, of] = simulate(world, seed);
    within += inside;
    all += of;
  }
  expect(all).toBeGreaterThan(histories);
  return within / all;
};

const ALL_WORLDS: readonly (readonly [string, World])[] = [
  ['a short queue and one slot', { slots: 1, organisations: 2, waiting: 3, deviation: 0.5 }],
  ['a short queue and several slots', { slots: 4, organisations: 3, waiting: 3, deviation: 0.5 }],
  ['a long queue', { slots: 4, organisations: 3, waiting: 40, deviation: 0.5 }],
  ['durations that vary much', { slots: 3, organisations: 2, waiting: 6, deviation: 1 }],
  ['more slots than are simulated one by one', { slots: 48, organisations: 3, waiting: 40, deviation: 0.5 }],
  [
    'a limit of each deployment, while other slots are free',
    {
      slots: 8,
      organisations: 2,
      waiting: 6,
      deviation: 0.5,
      taken: 4,
      request: () => ({ concurrencyLimit: 2 }),
    },
  ],
  [
    'a limit of one deployment, while another one has the other slots',
    {
      slots: 8,
      organisations: 2,
      waiting: 20,
      deviation: 0.5,
      request: (org) => (org === 0 ? { concurrencyLimit: 2 } : {}),
    },
  ],
  [
    'a limit that the fair share is below',
    {
      slots: 6,
      organisations: 3,
      waiting: 10,
      deviation: 0.5,
      request: () => ({ concurrencyLimit: 3 }),
    },
  ],
  [
    'a limit of organisations',
    { slots: 8, organisations: 2, waiting: 10, deviation: 0.5, taken: 6, orgLimit: 3 },
  ],
  [
    'one concurrency key for each organisation',
    {
      slots: 6,
      organisations: 3,
      waiting: 4,
      deviation: 0.5,
      taken: 3,
      request: () => ({ key: 'one' }),
    },
  ],
  [
    'many concurrency keys and few slots',
    {
      slots: 3,
      organisations: 2,
      waiting: 9,
      deviation: 0.5,
      request: (_org, n) => ({ key: `key ${n % 6}` }),
    },
  ],
];
/** The one with many slots takes half a minute. */
const WORLDS = someOf(ALL_WORLDS, ([, { slots }]) => slots < 40);

describe('a forecast start', () => {
  it.each(WORLDS)('lies within its interval in 8 of 10 cases: %s', (_what, world) => {
    const part = coverage(world, world.waiting >= 10 ? casesOf(4) : 30);
    expect(part).toBeGreaterThan(0.7);
    expect(part).toBeLessThan(0.9);
  });
});

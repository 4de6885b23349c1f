import { partitionOf } from '@runledger/contracts/deliveries/timers';
import type { RunId } from '@runledger/contracts/ids';
import { PositionBeyondEnd } from '@runledger/event-log/follow/follow';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BREAKER_SETTINGS } from '../src/core/breaker.ts';
import { decide } from '../src/core/decide.ts';
import type { NotifierInput } from '../src/core/inputs-and-effects.ts';
import { createNotifierState, hasFinal } from '../src/core/state.ts';
import { reconcile } from '../src/reconciliation.ts';
import { openWebhookTargets } from '../src/webhook-targets.ts';
import { openTestBed, type TestBed } from './fixtures/test-bed.ts';

const ORIGIN = 'https://receiver.example';
const PARTITION = partitionOf(ORIGIN);

let bed: TestBed;
beforeAll(async () => {
  bed = await openTestBed();
});
afterAll(() => bed[Symbol.asyncDispose]());

/** A core that holds the partition, where an earlier holder handled everything that the log has, and so many messages more. */
const aHolder = async (more = 0) => {
  const settings = {
    maxInFlight: 1,
    giveUpAfterMs: 3_600_000,
    breaker: BREAKER_SETTINGS,
    instantOf: Date.parse,
  };
  const state = createNotifierState(settings, 0);
  const input = (one: NotifierInput): void => void decide(state, one, { at: 0, now: Date.now(), chance: 0 });
  const identity = await runsIdentity(bed.log);
  const { created } = identity;
  const lastSequence = identity.lastSequence + more;
  const position = { version: 1, created, runs: lastSequence, activity: 0, swept: 0, left: 0 } as const;
  const gain = (): void =>
    input({
      type: 'partition_gained',
      start: { number: PARTITION, created, lastSequence, lastReport: 0, position },
    });
  const lose = (): void => input({ type: 'partition_lost', partition: PARTITION });
  gain();
  return { state, input, gain, lose };
};

/** The runs that one round finds forgotten. `onLook`: it looks whether one is in memory. */
const forgotten = async (
  { state, input }: Awaited<ReturnType<typeof aHolder>>,
  onLook: () => void = () => undefined,
): Promise<RunId[]> => {
  const found: RunId[] = [];
  await reconcile({
    log: bed.log,
    now: () => new Date(),
    targets: openWebhookTargets(async () => ({ origin: ORIGIN, intermediate: false, oldestFactAt: 0 })),
    partitions: () => state.partitions.values(),
    hasFinal: (run) => {
      const isThere = hasFinal(state, run);
      onLook();
      return isThere;
    },
    waitsInLog: () => false,
    countExpiring: () => 0,
    handle: input,
    onForgotten: (run) => void found.push(run),
    signal: new AbortController().signal,
  });
  return found;
};

describe('a notification that is neither settled, nor in memory, nor in TIMERS', () => {
  it('is forgotten', async () => {
    const { run_id } = await bed.succeed(`${ORIGIN}/hook`);
    expect(await forgotten(await aHolder())).toContain(run_id);
  });

  it('is not, when its partition was lost while it was looked for, and is gained again: it is read again', async () => {
    await bed.succeed(`${ORIGIN}/hook`);
    const holder = await aHolder();
    const loseAndGain = (): void => {
      holder.lose();
      holder.gain();
    };
    expect(await forgotten(holder, loseAndGain)).toEqual([]);
  });

  it('is not passed over when the broker ends before what was read, as a former leader does', async () => {
    await bed.succeed(`${ORIGIN}/hook`);
    const { state, ...holder } = await aHolder(1);
    await expect(forgotten({ state, ...holder })).rejects.toBeInstanceOf(PositionBeyondEnd);
    expect(state.partitions.get(PARTITION)?.sweptUpTo).toBe(0);
  });
});

import { append } from '@runledger/event-log/append/append';
import { readRun, type ReadRun, type WebhookEnd } from '@runledger/event-log/read/read-run';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { redeliveryRequested, webhookGivenUp } from '@runledger/testing/webhook-events';
import { beforeAll, describe, expect, it } from 'vitest';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { openTestBed } from '../fixtures/test-bed.ts';
import { planAttempt, type AttemptPlan, type FinalDelivery } from '../../src/core/delivery.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW = Date.UTC(2026, 0, 10);
const GIVE_UP_AFTER_MS = 3 * DAY_MS;
const hoursAgo = (hours: number): string => new Date(NOW - hours * HOUR_MS).toISOString();
const key = aRun();

let redelivered: ReadRun;
beforeAll(async () => {
  await using bed = await openTestBed();
  redelivered = await aRedeliveredRun(bed.log);
});

/** A run that ended 5 days ago and was given up. Its redelivery was requested an hour ago. */
const aRedeliveredRun = async (log: EventLog): Promise<ReadRun> => {
  const life = [
    queued(key, { webhook: 'https://hooks.example/done' }),
    assigned(key),
    started(key),
    succeeded(key),
  ];
  for (const chain of [life, [webhookGivenUp(key), redeliveryRequested(key)]]) {
    let head = 0;
    for (const event of chain) {
      const appended = await append(log, event, head);
      if (appended.kind !== 'appended') throw new Error('another writer was first');
      head = appended.sequence;
    }
  }
  const read = await readRun(log, key);
  if (read.kind !== 'found') throw new Error(`the run is ${read.kind}`);
  return {
    ...read,
    run: { ...read.run, ended_at: hoursAgo(120) },
    facts: read.facts.map((fact) => ({ ...fact, time: hoursAgo(121) })),
    webhookFacts: read.webhookFacts.map((fact) => ({ ...fact, time: hoursAgo(1) })),
  } as ReadRun;
};

const secondRound = (changes: Partial<FinalDelivery> = {}): FinalDelivery => ({
  key,
  origin: 'https://hooks.example',
  partition: 0,
  round: 2,
  attempts: 0,
  expiresAt: NOW - HOUR_MS + GIVE_UP_AFTER_MS,
  fact: 6,
  source: { kind: 'fact', sequence: 6 },
  mayBeSuperseded: true,
  ...changes,
});

const SECOND_ROUND: WebhookEnd = { head: 6, round: 2, status: 'running' };

const plan = async (delivery: FinalDelivery, now = NOW): Promise<AttemptPlan> =>
  planOf(delivery, { read: redelivered, end: SECOND_ROUND }, now);

const planOf = (
  delivery: FinalDelivery,
  of: Parameters<typeof planAttempt>[1],
  now: number,
  isOver = false,
): AttemptPlan =>
  planAttempt(delivery, of, now, {
    isOver,
    giveUpAfterMs: GIVE_UP_AFTER_MS,
    logAgeMs: 30 * DAY_MS,
    firstSequence: 1,
    instantOf: Date.parse,
  });

describe('a redelivery of a run that ended long ago', () => {
  it('has as much time as the first delivery had, also after failed attempts', async () => {
    expect(await plan(secondRound())).toMatchObject({ kind: 'send', round: 2 });
    expect(await plan(secondRound({ attempts: 3 }))).toMatchObject({ kind: 'send', round: 2, attempts: 3 });
    const later = NOW - HOUR_MS + GIVE_UP_AFTER_MS;
    expect(await plan(secondRound({ attempts: 9 }), later - 1)).toMatchObject({ kind: 'send' });
    expect(await plan(secondRound({ attempts: 9 }), later)).toMatchObject({ kind: 'time_over' });
  });

  it('has it also when a delivery of the first round is found first', async () => {
    const first = secondRound({ round: 1, expiresAt: NOW - DAY_MS });
    expect(await plan(first)).toMatchObject({ kind: 'send', round: 2, attempts: 0 });
  });
});

describe('a delivery that was not attempted in its round before its time was over', () => {
  const LATE = secondRound().expiresAt + HOUR_MS;
  const at = async (delivery: FinalDelivery, now = LATE, isOver = false): Promise<AttemptPlan> =>
    planOf(delivery, { read: redelivered, end: SECOND_ROUND }, now, isOver);

  it('is attempted: attempts of an earlier round are not its own', async () => {
    expect(await at(secondRound())).toMatchObject({ kind: 'send', round: 2, attempts: 0 });
    const first = secondRound({ round: 1, attempts: 7, expiresAt: NOW - DAY_MS });
    expect(await at(first)).toMatchObject({ kind: 'send', round: 2, attempts: 0 });
  });

  it('is given up after its attempt, and when its receiver is known to fail', async () => {
    expect(await at(secondRound({ attempts: 1 }))).toMatchObject({ kind: 'time_over', attempts: 1 });
    expect(await at(secondRound(), LATE, true)).toMatchObject({ kind: 'time_over', attempts: 0 });
  });

  it('is given up when its run leaves the log', async () => {
    expect(await at(secondRound(), NOW + 26 * DAY_MS)).toMatchObject({ kind: 'log_expired' });
  });
});

describe('a redelivery of a run whose first webhook facts have expired', () => {
  const lost = (): ReadRun =>
    ({ ...redelivered, webhook: undefined, webhookExpired: true, webhookFacts: [] }) as ReadRun;
  const at = async (end: Partial<WebhookEnd>, now = NOW): Promise<AttemptPlan> =>
    planOf(secondRound({ attempts: 1 }), { read: lost(), end: { ...SECOND_ROUND, ...end } }, now);

  it('goes on behind the last fact, for as long as any other', async () => {
    expect(await at({})).toMatchObject({ kind: 'send', round: 2, end: { head: 6 } });
    expect(await at({}, secondRound().expiresAt)).toMatchObject({ kind: 'time_over' });
  });

  it('is over when the last fact settles it', async () => {
    expect(await at({ status: 'settled' })).toEqual({ kind: 'nothing' });
  });
});

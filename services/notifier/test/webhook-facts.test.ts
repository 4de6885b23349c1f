import type { EventLog } from '@runledger/event-log/connect/event-log';
import type { RunKey } from '@runledger/contracts/events/subjects';
import { append } from '@runledger/event-log/append/append';
import { readRun, endOf, type ReadRun } from '@runledger/event-log/read/read-run';
import { aRun, assigned, queued, started, succeeded } from '@runledger/testing/run-events';
import { redeliveryRequested } from '@runledger/testing/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { webhookFacts, type WebhookFacts } from '../src/effects/effect-context.ts';
import { openTestBed, type TestBed } from './fixtures/test-bed.ts';

type Found = Extract<ReadRun, { kind: 'found' }>;

const read = async (log: EventLog, key: RunKey): Promise<Found> => {
  const found = await readRun(log, key);
  if (found.kind !== 'found') throw new Error(`the run is ${found.kind}`);
  return found;
};

const anEndedRun = async (log: EventLog): Promise<RunKey> => {
  const key = aRun();
  let head = 0;
  const webhook = 'https://hooks.example/done';
  for (const event of [queued(key, { webhook }), assigned(key), started(key), succeeded(key)]) {
    const appended = await append(log, event, head);
    if (appended.kind !== 'appended') throw new Error('another writer was first');
    head = appended.sequence;
  }
  return key;
};

/** The facts of a notifier that has read the run now. */
const factsOf = async (log: EventLog, key: RunKey): Promise<WebhookFacts> => {
  const { run, webhook } = await read(log, key);
  const context = { log, now: () => new Date(), instance: 'test' };
  const history = webhook ?? { head: 0, state: undefined };
  return webhookFacts(context, run, endOf(history), new AbortController().signal);
};

const typesOf = async (log: EventLog, key: RunKey): Promise<string[]> =>
  (await read(log, key)).webhookFacts.map(({ event }) => event.type);

const delivered = { webhook_id: 'msg_1', tries: 1, status: 200 };

describe('the facts about the notifications of a run', () => {
  let bed: TestBed;
  let log: EventLog;
  beforeAll(async () => {
    bed = await openTestBed();
    ({ log } = bed);
  });
  afterAll(() => bed[Symbol.asyncDispose]());

  it('are appended each on the one before', async () => {
    const key = await anEndedRun(log);
    const facts = await factsOf(log, key);
    await Promise.all([
      facts.append('WebhookStarted', { notification: 'final' }),
      facts.append('WebhookStarted', { notification: 'final' }),
      facts.append('WebhookDelivered', delivered),
    ]);
    expect(await typesOf(log, key)).toEqual(['WebhookStarted', 'WebhookDelivered']);
    expect((await read(log, key)).refused).toEqual([]);
  });

  it('are settled once by two notifiers', async () => {
    const key = await anEndedRun(log);
    const [one, other] = [await factsOf(log, key), await factsOf(log, key)];
    await Promise.all([
      one.append('WebhookDelivered', delivered),
      other.append('WebhookDelivered', delivered),
    ]);
    await other.append('WebhookDelivered', delivered);
    expect(await typesOf(log, key)).toEqual(['WebhookDelivered']);
  });

  it('of an old round are not appended after a redelivery was requested', async () => {
    const key = await anEndedRun(log);
    const old = await factsOf(log, key);
    await old.append('WebhookDelivered', delivered);
    const { webhook } = await read(log, key);
    await append(log, redeliveryRequested(key), webhook?.head ?? 0);
    await old.append('WebhookDelivered', delivered);
    expect(await typesOf(log, key)).toEqual(['WebhookDelivered', 'WebhookRedeliveryRequested']);
    await (await factsOf(log, key)).append('WebhookDelivered', delivered);
    expect(await typesOf(log, key)).toHaveLength(3);
  });
});

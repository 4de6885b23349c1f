import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { webhookDelivered, webhookGivenUp, webhookStarted } from '@runledger/testing/webhook-events';
import { writeSlice } from '@runledger/testing/write-slice';
import { expect, it } from 'vitest';
import { ACCEPTED, REFUSED } from './fixtures/notified-slice.ts';
import { RecordedLog, recordedOptions } from './fixtures/recorded-log.ts';
import { shadowed } from './fixtures/sample-slice.ts';
import { readPlaySettings } from '../src/play-settings.ts';

const shadowOf = async (log: RecordedLog, variables: Readonly<Record<string, string>> = {}) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-receivers-'));
  const file = join(folder.path, 'slice.ndjson.zst');
  await writeSlice(file, log.lines());
  return await shadowed({ ...recordedOptions(file, 'notifier'), settings: readPlaySettings(variables) });
};

/** Two runs end, and the second is attempted first, or while the attempt of the first goes on. */
const twoRuns = (first: readonly [number, number]): RecordedLog => {
  const log = new RecordedLog();
  const [one, other] = [log.ended(10, 'busy'), log.ended(10.1, 'busy')];
  log.attempt(other, [10.11, 10.2], 1, ACCEPTED);
  log.fact(10.21, webhookDelivered(other));
  log.attempt(one, first, 1, ACCEPTED);
  log.fact(first[1] + 0.01, webhookDelivered(one));
  return log;
};

it('the order in which a receiver gets notifications is compared', async () => {
  const { differences } = await shadowOf(twoRuns([10.22, 10.3]));
  expect(differences).toEqual([
    expect.objectContaining({ kind: 'not_decided', why: 'other notifications of its receiver go first' }),
  ]);
});

it('how many attempts a receiver gets at the same time is not compared, since it may have earned them before', async () => {
  const { compared, differences } = await shadowOf(twoRuns([10.01, 10.3]));
  expect(differences).toEqual([]);
  expect([...compared.notCompared.keys()]).toEqual([
    'the slice does not say how many attempts at a time its receiver had earned before',
    'its attempt is one that the code does not make then',
  ]);
});

/** It gets twenty seconds, and the third attempt would come after them. */
const expiring = (givenUpAt: number): RecordedLog => {
  const log = new RecordedLog();
  const run = log.ended(10, 'down');
  log.attempt(run, [10.01, 10.05], 1, REFUSED);
  log.fact(10.06, webhookStarted(run));
  log.attempt(run, [15, 15.1], 2, REFUSED);
  log.state(run, 15.12, 'retrying', 2, 30);
  log.fact(
    givenUpAt,
    webhookGivenUp(run, 1, { tries: 2, reason: 'expired', last_reason: null, status: null }),
  );
  return log;
};

it('a delivery is given up when its time is over, according to the setting', async () => {
  const inTime = { RUNLEDGER_WEBHOOK_GIVE_UP_S: '20' };
  expect((await shadowOf(expiring(30.1), inTime)).differences).toEqual([]);
  expect((await shadowOf(expiring(30.1))).differences).toContainEqual(
    expect.objectContaining({
      kind: 'not_decided',
      recorded: expect.objectContaining({ type: 'WebhookGivenUp' }),
    }),
  );
  expect((await shadowOf(expiring(20), inTime)).differences).toContainEqual(
    expect.objectContaining({ kind: 'not_decided', why: 'the delivery waits for its next attempt' }),
  );
});

it('notifications of receivers with intermediate ones are not compared where those may decide', async () => {
  const log = new RecordedLog();
  log.ended(10, 'busy', { webhook_intermediate_status: true });
  const { compared, differences } = await shadowOf(log);
  expect(differences).toEqual([]);
  expect([...compared.notCompared.keys()]).toEqual([
    'intermediate notifications count for its receiver too, and the slice does not have them',
  ]);
});

import { append } from '@runledger/event-log/append/append';
import type { Appended } from '@runledger/event-log/append/append';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { provision } from '@runledger/event-log/provision/provision';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { aRun, cancelRequested, queued } from '@runledger/testing/events/run-events';
import {
  redeliveryRequested,
  webhookDelivered,
  webhookGivenUp,
  webhookStarted,
} from '@runledger/testing/events/webhook-events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../fixtures/run-cli.ts';

const opened = new AsyncDisposableStack();
let log: EventLog;
let env: Record<string, string>;
beforeAll(async () => {
  const nats = opened.use(await testAccount());
  env = nats.env;
  log = opened.use(await openEventLog({ ...nats.login, name: 'test' }, silentLogger));
  await provision(log);
});
afterAll(() => opened.disposeAsync());

const sequenceOf = async (appended: Promise<Appended>): Promise<number> => {
  const result = await appended;
  if (result.kind !== 'appended') throw new Error('Something else was stored first.');
  return result.sequence;
};

const key = aRun();

describe('runledger history of a run with a webhook', () => {
  beforeAll(async () => {
    const first = await sequenceOf(append(log, queued(key), 0));
    const sent = await sequenceOf(append(log, webhookStarted(key, 'intermediate'), 0));
    await append(log, cancelRequested(key), first);
    const given = await sequenceOf(
      append(log, webhookGivenUp(key, 1, { message: 'evil \u001B[2J answer' }), sent),
    );
    const requested = await sequenceOf(append(log, redeliveryRequested(key), given));
    await append(log, webhookDelivered(key, 2, { tries: 2 }), requested);
  });

  it('shows its webhook facts among its events, in the order of the log', async () => {
    const { code, stdout, stderr } = await runCli(['history', key.run_id], { env });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/Z {2}RunQueued /),
      expect.stringMatching(
        /Z {2}WebhookStarted +notifier \(test\) +webhook not-started -> running {2}an intermediate notification was sent$/,
      ),
      expect.stringMatching(/Z {2}RunCancelRequested .* queued -> cancelled /),
      expect.stringMatching(
        /Z {2}WebhookGivenUp .* webhook running -> failed {2}tries_used_up after 13 attempts with status 503: evil {2}\[2J answer$/,
      ),
      expect.stringMatching(
        /Z {2}WebhookRedeliveryRequested {2}gateway .* webhook failed -> running {2}round 2, requested by user 0192/,
      ),
      expect.stringMatching(
        /Z {2}WebhookDelivered .* webhook running -> success {2}round 2, accepted with status 200 after 2 attempts$/,
      ),
    ]);
  });

  it('prints them unchanged with --json', async () => {
    const { stdout } = await runCli(['history', key.run_id, '--json'], { env });
    const events = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(events[5]).toMatchObject({ type: 'WebhookDelivered', round: 2, data: { tries: 2, status: 200 } });
  });
});

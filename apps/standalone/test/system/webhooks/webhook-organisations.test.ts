import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aReceiver, isSignedWith, type Receiver } from '../../fixtures/webhook-receiver.ts';
import { runApi, type RunApi } from '../../fixtures/run-api.ts';
import { runCli } from '../../fixtures/run-cli.ts';
import { startStandalone, type Standalone } from '../../fixtures/start-standalone.ts';

describe('the webhooks of two organisations', () => {
  let standalone: Standalone;
  let ours: RunApi;
  let theirs: RunApi;
  beforeAll(async () => {
    standalone = await startStandalone();
    const { stdout } = await runCli(['organisations', 'create', 'second', '--json'], standalone.dataFolder);
    const created: { readonly api_key: string; readonly deployment_id: string } = JSON.parse(stdout);
    ours = runApi(standalone);
    theirs = runApi({ ...created, url: standalone.url });
  }, 120_000);
  afterAll(() => standalone.stop());

  const failedDelivery = async (api: RunApi, { url }: Receiver): Promise<string> => {
    const run = await api.queue({ size: 16, seconds: 0 }, { webhook: url });
    await waitFor('its delivery to fail', async () => {
      return (await api.get(run)).webhook_status === 'failed';
    });
    return run;
  };
  const arrivals = (receiver: Receiver, runs: readonly string[]): number[] =>
    runs.map((run) => receiver.finalsOf(run).length);

  it('are signed with the secret of each', async () => {
    await using receiver = await aReceiver();
    const secrets = [await ours.webhookSecret(), await theirs.webhookSecret()];
    expect(secrets[0]).toBe(standalone.webhook_secret);
    expect(secrets[1]).not.toBe(secrets[0]);
    const runs = [
      await ours.queue({ size: 16, seconds: 0 }, { webhook: receiver.url }),
      await theirs.queue({ size: 16, seconds: 0 }, { webhook: receiver.url }),
    ];
    await waitFor('both to arrive', () => receiver.arrived.length === 2);
    const taken = runs.map((run) =>
      secrets.map((secret) => receiver.of(run).every((arrived) => isSignedWith(secret, arrived))),
    );
    expect(taken).toEqual([
      [true, false],
      [false, true],
    ]);
  });

  it('are shown to and redelivered by only their own organisation', async () => {
    await using receiver = await aReceiver(() => 410);
    const run = await failedDelivery(ours, receiver);
    expect((await ours.listDeliveries('status=failed')).map(({ run_id }) => run_id)).toContain(run);
    expect((await theirs.listDeliveries()).map(({ run_id }) => run_id)).not.toContain(run);
    const { origin } = new URL(receiver.url);
    expect(await ours.receivers()).toContain(origin);
    expect(await theirs.receivers()).not.toContain(origin);
    await expect(theirs.deliveries(run)).rejects.toThrow('answered 404');
    await expect(theirs.redeliver(run)).rejects.toThrow('answered 404');
    expect(await ours.deliveries(run)).toMatchObject({
      webhook_status: 'failed',
      round: 1,
      tries: [{ reason: 'gone', status: 410 }],
    });
    expect(arrivals(receiver, [run])).toEqual([1]);
  });
});

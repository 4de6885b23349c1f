import { randomBytes } from 'node:crypto';
import { newUuid } from '@runledger/contracts/ids';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { expect, it } from 'vitest';
import { webhookSecretOf } from '../src/records/webhook-secret.ts';
import { StartRefused } from '../src/settings.ts';

it('a start returns the stored secret, and is refused without the keys that encrypted it', async () => {
  await using nats = await testAccount();
  await using log = await openEventLog({ ...nats.login, name: 'test' }, silentLogger);
  await provision(log);
  const org = newUuid();
  const [key, other] = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64')];
  const secretWith = (...keys: string[]) => webhookSecretOf(log, org, keys, () => new Date());
  const secret = await secretWith(key);
  expect(await secretWith(key)).toBe(secret);
  await expect(secretWith(other)).rejects.toThrow(StartRefused);
  await expect(secretWith(other)).rejects.toThrow(/RUNLEDGER_SECRET_KEYS.* and from secret-keys\.json/);
  expect(await secretWith(other, key)).toBe(secret);
});

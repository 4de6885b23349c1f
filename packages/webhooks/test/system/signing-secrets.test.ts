import { randomBytes } from 'node:crypto';
import { newUuid, orgId } from '@runledger/contracts/ids';
import { LogUnavailable, openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { provision } from '@runledger/event-log/provision/provision';
import { testNats } from '@runledger/testing/servers/nats';
import { expect, it } from 'vitest';
import { secretBox } from '../../src/secret-box.ts';
import { signingSecrets } from '../../src/signing-secrets.ts';

it('reports an unavailable log, caches no failure, and works again afterwards', async () => {
  await using open = new AsyncDisposableStack();
  const nats = open.use(await testNats());
  const log = open.use(await openEventLog({ url: nats.url, name: 'test' }, silentLogger));
  await provision(log);
  const box = secretBox([randomBytes(32).toString('base64')]);
  const signing = signingSecrets(log, box, { now: () => new Date() });
  const org = orgId(newUuid());
  await nats.kill9();
  await expect(signing.valid(org)).rejects.toBeInstanceOf(LogUnavailable);
  await nats.restart();
  expect(await signing.valid(org)).toHaveLength(1);
});

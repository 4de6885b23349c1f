import { testNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { expect, it } from 'vitest';
import { openEventLog } from '../../../src/connect/event-log.ts';
import { silentLogger } from '../../../src/connect/observability.ts';
import { provision } from '../../../src/provision/provision.ts';
import { openServiceLog, type ServiceLogOptions } from '../../../src/provision/service-log.ts';

const beginning = (url: string): ServiceLogOptions => ({
  config: { NATS_URL: url },
  instance: 'service-1',
  logger: silentLogger,
  checks: {},
});

it('a service waits for the broker and provisioning, and reports which of them is missing', async () => {
  await using nats = await testNats();
  await nats.kill9();
  await using open = new AsyncDisposableStack();
  const begun = beginning(nats.url);
  const opening = openServiceLog(begun, open, new AbortController().signal);
  expect(begun.checks['broker']?.()).toEqual({ ok: false, why: 'the broker is unavailable' });

  await nats.restart();
  const provisioned = await waitFor('the broker to be there', () => begun.checks['provisioned']);
  expect(begun.checks['broker']?.()).toEqual({ ok: true });
  expect(provisioned()).toMatchObject({ ok: false, why: expect.stringContaining('runledger provision') });

  await using operator = await openEventLog({ url: nats.url, name: 'operator' }, silentLogger);
  await provision(operator);
  const log = await opening;
  expect(log.connected()).toBe(true);
  expect(begun.checks['provisioned']?.()).toEqual({ ok: true });
});

it('a service that stops waits no longer', async () => {
  await using nats = await testNats();
  await nats.kill9();
  await using open = new AsyncDisposableStack();
  const stopping = new AbortController();
  const opening = openServiceLog(beginning(nats.url), open, stopping.signal);
  stopping.abort(new Error('stopping'));
  await expect(opening).rejects.toThrow('stopping');
});

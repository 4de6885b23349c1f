import { append } from '@runledger/event-log/append/append';
import { openEventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/logger';
import { provision } from '@runledger/event-log/provision/provision';
import { testAccount } from '@runledger/testing/servers/nats-account';
import { aRun, assigned, queued } from '@runledger/testing/events/run-events';
import { expect, it } from 'vitest';
import { runCli } from '../fixtures/run-cli.ts';

it('runledger history shows nothing of a run with a fact of a newer release', async () => {
  await using open = new AsyncDisposableStack();
  const nats = open.use(await testAccount());
  const log = open.use(await openEventLog({ ...nats.login, name: 'test' }, silentLogger));
  await provision(log);
  const key = aRun();
  await append(log, queued(key), 0);
  await append(log, { ...assigned(key), version: 2 }, 1);
  const shown = await runCli(['history', key.run_id], { env: nats.env });
  expect(shown).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(
      'A newer release wrote RunAssigned in version 2 at sequence 2. Use that release of this command.',
    ) as unknown,
  });
});

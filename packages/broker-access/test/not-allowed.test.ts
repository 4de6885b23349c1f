import { aRun, queued } from '@runledger/testing/run-events';
import { testNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newUserKey } from '@runledger/event-log/connect/user-key';
import { append } from '@runledger/event-log/append/append';
import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { NotAllowed } from '@runledger/event-log/connect/connect-broker';
import { provision } from '@runledger/event-log/provision/provision';
import { runsIdentity } from '@runledger/event-log/read/stream-identity';
import { aUser, configured } from './a-user.ts';

const { authorization, keys } = configured(aUser('clerk', ['$JS.RUNLEDGER.API.STREAM.INFO.RUNS']));
const seedOf = (name: string): string => keys.get(name)?.seed ?? '';

await using opened = new AsyncDisposableStack();
let url: string;
let clerk: EventLog;
const errors: string[] = [];
const warnings: string[] = [];
const kept = opened.move();
beforeAll(async () => {
  url = kept.use(await testNats({ authorization })).url;
  const operator = kept.use(
    await openEventLog({ url, name: 'operator', seed: seedOf('operator') }, silentLogger),
  );
  await provision(operator);
  const logger = {
    ...silentLogger,
    error: (fields: object) => void ('err' in fields && errors.push(String(fields.err))),
    warn: (_: object, message: string) => void warnings.push(message),
  };
  clerk = kept.use(await openEventLog({ url, name: 'clerk-1', seed: seedOf('clerk') }, logger));
});
afterAll(() => kept.disposeAsync());

describe('a request that the broker does not allow', () => {
  it('fails at once with the subject and what to do, and is not retried', async () => {
    expect((await runsIdentity(clerk)).stream).toBe('RUNS');
    const run = aRun();
    const refused = append(clerk, queued(run), 0);
    await expect(refused).rejects.toThrow(NotAllowed);
    await expect(refused).rejects.toThrow(`publish to runs.${run.org_id}.${run.run_id}.life.queued`);
    await expect(refused).rejects.toThrow('runledger broker-config');
  });

  it('is logged with the name of the client, also when it needs no response', async () => {
    clerk.nc.publish('runs.nobody.waits');
    clerk.nc.subscribe('runs.>', { callback: () => undefined });
    await waitFor('both refusals', () =>
      ['clerk-1 to publish to runs.nobody.waits', 'clerk-1 to subscribe to runs.>'].every((words) =>
        errors.some((message) => message.includes(words)),
      ),
    );
  });

  it('is no fault when it is a response over another connection than its request', async () => {
    clerk.nc.publish('_R_.LvJ3M8.1muDNe');
    await waitFor('the warning', () => warnings.some((message) => message.includes('came too late')));
    expect(errors.some((message) => message.includes('_R_.'))).toBe(false);
  });

  it('may be the connection itself, with an unknown key', async () => {
    const stranger = openEventLog({ url, name: 'stranger', seed: newUserKey().seed }, silentLogger);
    await expect(stranger).rejects.toThrow(NotAllowed);
    await expect(stranger).rejects.toThrow(/rejected stranger as U/);
  });
});

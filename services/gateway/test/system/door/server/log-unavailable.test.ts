import { openEventLog, type EventLog } from '@runledger/event-log/connect/event-log';
import { silentLogger } from '@runledger/event-log/connect/observability';
import { testNats } from '@runledger/testing/servers/nats';
import { waitFor } from '@runledger/testing/wait-for';
import Koa from 'koa';
import { describe, expect, it } from 'vitest';
import { answerRefusals } from '../../../../src/door/app.ts';
import { openHttpServer } from '../../../../src/door/http-server.ts';
import { Refused } from '../../../../src/door/refusal.ts';
import { cachedAuthentication } from '../../../../src/records/keys/cached-authentication.ts';
import { waitForLog } from '../../../../src/door/edge.ts';
import { openTestBedOnOwnBroker } from '../../../fixtures/gateway/test-bed.ts';
import { anEdge } from '../../../fixtures/gateway/an-edge.ts';
import { aRefusal } from '../../../fixtures/requests/a-refusal.ts';
import { signer } from '@runledger/webhooks/secret-box';
import { runTokens } from '../../../../src/door/credentials.ts';
import { aConfig, aKit } from '../../../fixtures/gateway/a-kit.ts';

// Beside one another: most of it is waiting.
describe.concurrent('while the log is unavailable', { timeout: 60_000 }, () => {
  const disconnected = async (served: EventLog) =>
    waitFor('the connection to be lost', () => !served.connected());

  it('refuses a page that needs the log with Retry-After, and serves others', async () => {
    await using nats = await testNats();
    await using own = await openEventLog({ url: nats.url, name: 'gateway' }, silentLogger);
    await using edge = await anEdge({ log: own });
    const ask = (path: string) => fetch(`${edge.url}${path}`);
    await nats.kill9();
    await disconnected(own);
    const refused = await ask('/outputs/a');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2']);
    expect((await ask('/still')).status).toBe(200);
    expect((await ask('/api/nowhere')).status).toBe(404);
    await nats.restart();
    await waitFor('it to be back', async () => (await ask('/outputs/a')).status === 200);
  });

  it('accepts a key for half a second at most, and then refuses it', async () => {
    await using bed = await openTestBedOnOwnBroker();
    await using own = await openEventLog({ ...bed.nats.login, name: 'gateway' }, silentLogger);
    const asClient = cachedAuthentication(
      aKit({ log: own }),
      runTokens(signer(aConfig().RUNLEDGER_SECRET_KEYS, 'run-token')),
      { find: async () => undefined, isValid: async () => false },
    );
    const authenticate = async (text: string) => (await asClient({ text, from: 'header' }, '10.0.0.1'))?.key;
    const { key, org_id } = bed.tenant;
    expect(await authenticate(key)).toMatchObject({ org_id });
    await bed.nats.kill9();
    const began = performance.now();
    const acceptedFor = await waitFor('it to be refused', () => {
      const at = performance.now();
      return authenticate(key).then(
        () => undefined,
        (error: unknown) => (error instanceof Refused ? at - began : undefined),
      );
    });
    expect(acceptedFor).toBeLessThan(1_000);
    await expect(authenticate(key)).rejects.toThrow(Refused);
    await bed.nats.restart();
    await waitFor('it to be known again', async () => (await authenticate(key))?.org_id === org_id);
  });

  /** Counts what it begins. */
  const aWaiter = async (served: EventLog, patienceMs: number) => {
    const begun = { arrived: 0, count: 0 };
    const app = new Koa();
    app.use(answerRefusals({ logger: silentLogger, headers: {}, failures: [] }));
    app.use((_ctx, next) => {
      begun.arrived += 1;
      return next();
    });
    const logIsThere = waitForLog(served, patienceMs);
    app.use(async (ctx) => {
      await logIsThere();
      begun.count += 1;
      ctx.body = 'done';
    });
    const server = await openHttpServer(app, {
      host: '127.0.0.1',
      port: 0,
      finishWithinMs: 500,
      headers: {},
      onStopping: () => undefined,
    });
    return { server, begun };
  };

  it('holds a request until the broker has restarted, and does nothing for it before', async () => {
    await using nats = await testNats();
    await using own = await openEventLog({ url: nats.url, name: 'gateway' }, silentLogger);
    const { server, begun } = await aWaiter(own, 50_000);
    await using closing = new AsyncDisposableStack();
    closing.use(server);
    // Twice: what was learned of one outage is forgotten in the next.
    for (const outage of [1, 2]) {
      await nats.kill9();
      await disconnected(own);
      const answers = Promise.all([fetch(server.url), fetch(server.url)]);
      await waitFor('both to come', () => begun.arrived === outage * 2);
      expect(begun.count).toBe((outage - 1) * 2);
      await nats.restart();
      expect((await answers).map(({ status }) => status)).toEqual([200, 200]);
    }
  });

  it('refuses a request after a time, and does nothing for it', async () => {
    await using nats = await testNats();
    await using own = await openEventLog({ url: nats.url, name: 'gateway' }, silentLogger);
    const { server, begun } = await aWaiter(own, 100);
    await using closing = new AsyncDisposableStack();
    closing.use(server);
    await nats.kill9();
    await disconnected(own);
    const first = await fetch(server.url);
    expect(await first.json()).toEqual(
      aRefusal('log_unavailable', expect.stringContaining('Nothing was done')),
    );
    const second = await fetch(server.url);
    for (const { status, headers } of [first, second]) {
      expect([status, headers.get('retry-after')]).toEqual([503, '2']);
    }
    expect(begun.count).toBe(0);
    await nats.restart();
    await waitFor('it to be served', async () => (await fetch(server.url)).status === 200);
  });
});

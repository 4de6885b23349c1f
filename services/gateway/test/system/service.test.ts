import { healthPage } from '@runledger/testing/health-pages';
import { describeWithMongo, testMongo } from '@runledger/testing/servers/mongo';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestBed, openTestBedOnOwnBroker } from '../fixtures/gateway/test-bed.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { queueSample } from '../fixtures/runs/queued-runs.ts';
import { call, post } from '../fixtures/requests/requests.ts';
import { startGatewayProcess, type GatewayProcess } from '../fixtures/gateway/a-service.ts';
import { mongoUrl, openViews } from '../fixtures/views/mongo-views.ts';
import { open as openSocket } from '../fixtures/requests/raw-request.ts';
import { assigned, started, succeeded } from '@runledger/testing/run-events';

/** Processes start, and waits for a broker that is unavailable run out. */
const SLOW = { timeout: 90_000 };

const ready = async ({ health }: GatewayProcess) => {
  const response = await healthPage(health, '/readyz');
  return { status: response.status, text: await response.text() };
};

describe('a gateway process', SLOW, () => {
  it('refuses callbacks to its own addresses, also of its health server', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const environment = {
      ...bed.nats.env,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: ':memory:',
      RUNLEDGER_WEBHOOK_ALLOW: 'loopback',
    };
    const gateway = open.use(await startGatewayProcess(environment));
    for (const webhook of [gateway.url, gateway.health]) {
      const asked = { deployment_id: bed.tenant.deployment.id, webhook };
      const { status, body } = await post(`${gateway.api}/run/deployment/queue`, bed.tenant.key, asked);
      expect([status, body.detail]).toMatchObject([
        422,
        [{ loc: ['body', 'webhook'], msg: expect.stringContaining('service of Runledger itself') }],
      ]);
    }
    await queueSample(gateway, bed.tenant, { webhook: 'http://127.0.0.1:9/' });
  });

  it('keeps views in memory, is ready, and finishes requests in progress when it stops', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const environment = { ...bed.nats.env, RUNLEDGER_VIEWS: 'sqlite', RUNLEDGER_VIEWS_FILE: ':memory:' };
    const gateway = open.use(await startGatewayProcess(environment));
    await waitFor('it to be ready', async () => (await ready(gateway)).status === 200);
    const key = await queueSample(gateway, bed.tenant);
    await appendAll(bed.log, assigned(key), started(key), succeeded(key));
    const { body } = await call(`${gateway.api}/run/${key.run_id}`, bed.tenant.key);
    expect(body).toMatchObject({ status: 'success', finished: true, progress: 1 });
    const metrics = await (await healthPage(gateway.health, '/metrics')).text();
    for (const known of [
      'projection_lag_messages{service="gateway"} ',
      'projection_lag_seconds{service="gateway"} ',
      'projecting{service="gateway"} 1',
      'dead_letters{service="gateway"} 0',
      'log_bytes{service="gateway"} ',
      'subscriptions_limit{service="gateway"} 10000',
      'run_reads_total{from="',
    ]) {
      expect(metrics).toContain(`runledger_gateway_${known}`);
    }
    expect(metrics).toMatch(/runledger_gateway_http_request_seconds_count\{.*operation="getRun".*\} [1-9]/);
    expect(metrics).toMatch(/runledger_log_append_seconds_count\{service="gateway"\} 1/);

    const socket = openSocket(gateway.url);
    let answer = '';
    socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
    const text = JSON.stringify({ deployment_id: bed.tenant.deployment.id });
    const head = `POST /api/run/deployment/queue HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${bed.tenant.key}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n`;
    socket.write(head + text.slice(0, 5));
    // Its head has been read once a later request of the same process was answered.
    await call(`${gateway.api}/run/${key.run_id}`, bed.tenant.key);
    gateway.kill('SIGTERM');
    await waitFor('it to take no more', async () =>
      fetch(gateway.url).then(
        () => false,
        () => true,
      ),
    );
    socket.write(text.slice(5));
    expect(await gateway.exit()).toBe(0);
    expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    expect(gateway.output()).not.toContain(bed.tenant.key);
  });

  it('stops in order also while the broker is unavailable', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBedOnOwnBroker());
    const environment = {
      ...bed.nats.env,
      RUNLEDGER_VIEWS: 'sqlite',
      RUNLEDGER_VIEWS_FILE: ':memory:',
      // The request in progress is answered after 3 s.
      RUNLEDGER_STOP_WITHIN_S: '30',
    };
    const gateway = open.use(await startGatewayProcess(environment));
    await waitFor('it to be ready', async () => (await ready(gateway)).status === 200);
    await bed.nats.kill9();
    await waitFor('it to know', async () => (await ready(gateway)).status === 503);
    expect((await ready(gateway)).text).toContain('the broker is unavailable');
    const asked = call(`${gateway.api}/run/${bed.tenant.org_id}`, bed.tenant.key).catch(() => undefined);
    gateway.kill('SIGTERM');
    expect(await gateway.exit()).toBe(0);
    await asked;
  });

  it('serves without its MongoDB, from the log', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const MONGODB_URL = 'mongodb://nobody:secret-word@127.0.0.1:1/runledger';
    const gateway = open.use(await startGatewayProcess({ ...bed.nats.env, MONGODB_URL }));
    const key = await queueSample(gateway, bed.tenant);
    const { status, body } = await call(`${gateway.api}/run/${key.run_id}`, bed.tenant.key);
    expect([status, body.status]).toEqual([200, 'queued']);
    expect((await ready(gateway)).status).toBe(200);
    expect(gateway.output()).toContain('the run views are unavailable');
    expect(gateway.output()).not.toContain('secret-word');
  });
});

describeWithMongo('two gateway processes on one MongoDB', SLOW, () => {
  it('show each other’s runs after every 200, and continue when either is killed', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const MONGODB_URL = mongoUrl(open.use(await testMongo()));
    const views = open.use(openViews(MONGODB_URL));
    const start = () => startGatewayProcess({ ...bed.nats.env, MONGODB_URL });
    const [one, other] = await Promise.all([start(), start()]);
    open.use(one);
    open.use(other);
    const statusAt = async ({ api }: GatewayProcess, run_id: string): Promise<unknown> =>
      (await call(`${api}/run/${run_id}`, bed.tenant.key)).body.status;
    const queueThrough = async (to: GatewayProcess, seen: GatewayProcess) => {
      const key = await queueSample(to, bed.tenant);
      expect(await statusAt(seen, key.run_id)).toBe('queued');
      const { body } = await post(`${seen.api}/run/${key.run_id}/cancel`, bed.tenant.key);
      expect(body.outcome).toBe('cancelled');
      expect(await statusAt(to, key.run_id)).toBe('cancelled');
      return key;
    };
    const runs = await Promise.all([
      ...Array.from({ length: 10 }, () => queueThrough(one, other)),
      ...Array.from({ length: 10 }, () => queueThrough(other, one)),
    ]);
    one.kill('SIGKILL');
    await one.exit();
    const after = await queueThrough(other, other);
    await waitFor('the other to project', async () => {
      const found = await Promise.all([...runs, after].map((key) => views.find(key)));
      return found.every((view) => view?.run.status === 'cancelled');
    });
    expect((await ready(other)).status).toBe(200);
  });
});

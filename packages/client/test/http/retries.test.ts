import { describe, expect, it } from 'vitest';
import { ConnectionFailed, RateLimited, Unavailable } from '../../src/main.ts';
import { aFakeService, json, LOST } from '../fixtures/fake-service.ts';
import { whileTimePasses } from '../fixtures/passing-time.ts';

const QUEUED = json({ run_id: 'r1' });
const busy = (status: number, retryAfter?: string) =>
  json({ detail: 'Not now' }, status, retryAfter === undefined ? {} : { 'retry-after': retryAfter });

describe('queueing a run', () => {
  it('is tried again with one key until it is confirmed', async () => {
    const { client, sent } = aFakeService([LOST, busy(503, '2'), busy(429, '1'), busy(502), QUEUED]);
    expect(await whileTimePasses(() => client.runs.queue('d1', { size: 64 }))).toEqual({ run_id: 'r1' });
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
    expect(keys[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(keys).toEqual(Array(5).fill(keys[0]));
    expect(new Set(sent.map(({ body }) => body))).toEqual(
      new Set(['{"deployment":"d1","inputs":{"size":64}}']),
    );
  });

  it('names its deployment by its id, or by its name', async () => {
    const { client, sent } = aFakeService([QUEUED]);
    const id = '01940000-0000-7000-8000-0000000000D1';
    for (const deployment of [id, 'portrait', 'portrait@12', `${id}@2`]) await client.runs.queue(deployment);
    expect(sent.map(({ body }) => JSON.parse(body))).toEqual([
      { deployment_id: id, inputs: {} },
      { deployment: 'portrait', inputs: {} },
      { deployment: 'portrait@12', inputs: {} },
      { deployment: `${id}@2`, inputs: {} },
    ]);
  });

  it('writes a bigint as a number', async () => {
    const { client, sent } = aFakeService([QUEUED]);
    await client.runs.queue('d1', { seed: 6687881544318117707n, more: [-9007199254740993n, 'a "1"', 4] });
    expect(sent[0]?.body).toBe(
      '{"deployment":"d1","inputs":{"seed":6687881544318117707,"more":[-9007199254740993,"a \\"1\\"",4]}}',
    );
  });

  it('has another key each time, and the one that is given', async () => {
    const { client, sent } = aFakeService([QUEUED]);
    await client.runs.queue('d1');
    await client.runs.queue('d1');
    await client.runs.queue('d1', {}, { idempotencyKey: 'mine', priority: 5 });
    const keys = sent.map(({ headers }) => headers.get('idempotency-key'));
    expect(new Set(keys).size).toBe(3);
    expect(keys[2]).toBe('mine');
    expect(JSON.parse(String(sent[2]?.body))).toEqual({ deployment: 'd1', inputs: {}, priority: 5 });
  });

  it('is given up after so many retries', async () => {
    const { client, sent } = aFakeService([LOST], { retries: 2 });
    const queueing = whileTimePasses(() => client.runs.queue('d1'));
    await expect(queueing).rejects.toThrow(ConnectionFailed);
    await expect(queueing).rejects.toThrow(
      'POST /run/deployment/queue has no whole response from http://runledger.test/api: read ECONNRESET.',
    );
    expect(sent).toHaveLength(3);
  });
});

describe('a request that changes something', () => {
  const rotate = (service: ReturnType<typeof aFakeService>) =>
    whileTimePasses(() => service.client.request('POST', '/webhooks/secret', { body: {} }));

  it.each([
    ['a lost connection', LOST, ConnectionFailed],
    ['a 503', busy(503), Unavailable],
  ])('is never sent again after %s', async (_, step, error) => {
    const service = aFakeService([step, json({})]);
    await expect(rotate(service)).rejects.toThrow(error);
    expect(service.sent).toHaveLength(1);
  });

  it('is sent again when the rate limit refused it', async () => {
    const service = aFakeService([busy(429, '1'), json({ secret: 's' })]);
    await rotate(service);
    expect(service.sent).toHaveLength(2);
  });

  it('is sent again when its caller says that it may be', async () => {
    const { client, sent } = aFakeService([LOST, json({ outcome: 'cancelled' })]);
    await whileTimePasses(() => client.runs.cancel('r1'));
    expect(sent.map(({ method, path }) => `${method} ${path}`)).toEqual(Array(2).fill('POST /run/r1/cancel'));
  });
});

it('a service that wants more than a minute is not waited for', async () => {
  const { client, sent } = aFakeService([busy(429, '3600')]);
  await expect(client.runs.get('r1')).rejects.toMatchObject({
    name: 'RateLimited',
    status: 429,
    retryAfter: 3_600,
  });
  await expect(client.runs.get('r1')).rejects.toThrow(RateLimited);
  expect(sent).toHaveLength(2);
});

it('a try without a response in time counts as a lost connection', async () => {
  const silent = (_: unknown, signal: AbortSignal): Promise<Response> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const { client, sent } = aFakeService([silent, json({ id: 'r1' })], { timeoutMs: 2_000 });
  expect(await whileTimePasses(() => client.runs.get('r1'))).toEqual({ id: 'r1' });
  expect(sent).toHaveLength(2);
});

it('an aborted signal ends a request, and the waiting between two tries, with its reason', async () => {
  const abort = new AbortController();
  const { client, sent } = aFakeService([LOST]);
  const reading = client.runs.get('r1', { signal: abort.signal });
  abort.abort(new Error('no longer wanted'));
  await expect(reading).rejects.toThrow('no longer wanted');
  await expect(client.runs.get('r1', { signal: abort.signal })).rejects.toThrow('no longer wanted');
  expect(sent.length).toBeLessThanOrEqual(1);
});

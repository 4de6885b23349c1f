import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { healthPage } from '@runledger/testing/health-pages';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGatewayProcess, type GatewayProcess } from '../../fixtures/gateway/a-service.ts';
import { openTestBedOnOwnBroker, type TestBed } from '../../fixtures/gateway/test-bed.ts';

const MiB = 1024 ** 2;
const SIZE = 100 * MiB;
const PIECE = randomBytes(MiB);
const SHA256 = (() => {
  const hash = createHash('sha256');
  for (let sent = 0; sent < SIZE; sent += MiB) hash.update(PIECE);
  return hash.digest('hex');
})();

let bed: TestBed;
let gateways: GatewayProcess[];
beforeAll(async () => {
  bed = await openTestBedOnOwnBroker();
  gateways = [];
});
afterAll(async () => {
  for (const gateway of gateways) await gateway[Symbol.asyncDispose]();
  await bed[Symbol.asyncDispose]();
});

const aGateway = async (): Promise<GatewayProcess> => {
  const { url } = bed.nats.login;
  const gateway = await startGatewayProcess({
    NATS_URL: url,
    RUNLEDGER_VIEWS: 'sqlite',
    RUNLEDGER_VIEWS_FILE: ':memory:',
  });
  gateways.push(gateway);
  return gateway;
};

/** The bytes of a file behind an offset, as they are needed. */
const bytesFrom = (offset: number, size: number): Readable =>
  Readable.from(
    (function* () {
      for (let at = offset; at < size;) {
        const piece = PIECE.subarray(at % MiB);
        yield piece;
        at += piece.byteLength;
      }
    })(),
  );

/** The status; rejects when the connection breaks. */
const send = async (
  url: string,
  method: string,
  [offset, size]: readonly [number, number],
  headers: Record<string, string>,
) => {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sending = request(url, {
    method,
    headers: {
      authorization: `Bearer ${bed.tenant.key}`,
      'content-length': String(size - offset),
      ...headers,
    },
  });
  sending.on('error', reject).on('response', (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  await pipeline(bytesFrom(offset, size), sending).catch(() => undefined);
  return promise;
};

const json = async (url: string, method = 'GET', given: Record<string, string> = {}) => {
  const headers = { ...given, authorization: `Bearer ${bed.tenant.key}` };
  const response = await fetch(url, { method, headers });
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of any form
  return (await response.json()) as any;
};

const memoryOf = async ({ health }: GatewayProcess): Promise<number> => {
  const text = await (await healthPage(health, '/metrics')).text();
  return Number(/^process_resident_memory_bytes\S* (\S+)/m.exec(text)?.[1]);
};

// A slow disk takes a few MiB a second.
describe('a large file', { timeout: 240_000 }, () => {
  it('passes through a gateway that keeps little of it', async () => {
    const size = 2.5 * SIZE;
    const gateway = await aGateway();
    const before = await memoryOf(gateway);
    let most = before;
    const watching = setInterval(() => {
      void memoryOf(gateway).then(
        (bytes) => (most = Math.max(most, bytes)),
        () => undefined,
      );
    }, 100);
    const url = `${gateway.api}/files?filename=film.mp4`;
    const status = await send(url, 'POST', [0, size], { 'content-type': 'video/mp4' });
    clearInterval(watching);
    expect(status).toBe(201);
    expect(most - before).toBeLessThan(size / 2);
  });

  it('is continued at another gateway after kill -9 of the one that received it', async () => {
    const [first, second] = [await aGateway(), await aGateway()];
    const upload = await json(`${first.api}/files/uploads`, 'POST', { 'upload-length': String(SIZE) });
    const at = (gateway: GatewayProcess): string => `${gateway.api}/files/uploads/${upload.id}`;
    const patch = { 'content-type': 'application/offset+octet-stream' };
    const sending = send(at(first), 'PATCH', [0, SIZE], { ...patch, 'upload-offset': '0' }).catch(
      () => 'broken',
    );
    const offset = async (): Promise<number> => (await json(at(second))).offset;
    await waitFor('some of it is stored', async () => (await offset()) > 0, { withinMs: 60_000 });
    first.kill('SIGKILL');
    expect(await sending).toBe('broken');
    const kept = await offset();
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(SIZE);
    // The second gateway first has to learn that the first one is silent.
    await waitFor(
      'the rest is stored',
      async () => {
        const from = await offset();
        return (
          (await send(at(second), 'PATCH', [from, SIZE], { ...patch, 'upload-offset': String(from) })) === 204
        );
      },
      { withinMs: 180_000 },
    );
    const { file } = await json(at(second));
    expect(file).toMatchObject({ bytes: SIZE, sha256: SHA256 });
  });
});

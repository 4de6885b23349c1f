import { createHash, randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { waitFor } from '@runledger/testing/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startGatewayProcess, type GatewayProcess } from '../../fixtures/gateway/a-service.ts';
import { openTestBedOnOwnBroker, type TestBed } from '../../fixtures/gateway/test-bed.ts';

const MiB = 1024 ** 2;
/** Some parts, each of which is stored completely or not at all. */
const SIZE = 32 * MiB;
/** After so much the client waits, so that the gateway is killed in the middle of a part. */
const SENT_BEFORE_KILL = 20 * MiB;
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

/** Continues an upload behind an offset. The status; rejects when the connection breaks. */
const send = async (url: string, offset: number, bytes = bytesFrom(offset, SIZE)): Promise<number> => {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sending = request(url, {
    method: 'PATCH',
    headers: {
      authorization: `Bearer ${bed.tenant.key}`,
      'content-length': String(SIZE - offset),
      'content-type': 'application/offset+octet-stream',
      'upload-offset': String(offset),
    },
  });
  sending.on('error', reject).on('response', (response) => {
    response.resume();
    resolve(response.statusCode ?? 0);
  });
  await pipeline(bytes, sending).catch(() => undefined);
  return promise;
};

const json = async (url: string, method = 'GET', given: Record<string, string> = {}) => {
  const headers = { ...given, authorization: `Bearer ${bed.tenant.key}` };
  const response = await fetch(url, { method, headers });
  // oxlint-disable-next-line typescript/no-explicit-any -- JSON of any form
  return (await response.json()) as any;
};

// A slow disk takes a few MiB a second.
describe('a large file', { timeout: 240_000 }, () => {
  it('is continued at another gateway after kill -9 of the one that received it', async () => {
    const [first, second] = [await aGateway(), await aGateway()];
    const upload = await json(`${first.api}/files/uploads`, 'POST', { 'upload-length': String(SIZE) });
    const at = (gateway: GatewayProcess): string => `${gateway.api}/files/uploads/${upload.id}`;
    const killed = Promise.withResolvers<void>();
    const begun = Readable.from(
      (async function* () {
        yield* bytesFrom(0, SENT_BEFORE_KILL);
        await killed.promise;
      })(),
    );
    const sending = send(at(first), 0, begun).catch(() => 'broken');
    const offset = async (): Promise<number> => (await json(at(second))).offset;
    await waitFor('some of it is stored', async () => (await offset()) > 0, { withinMs: 60_000 });
    first.kill('SIGKILL');
    killed.resolve();
    expect(await sending).toBe('broken');
    const kept = await offset();
    expect(kept).toBeGreaterThan(0);
    expect(kept).toBeLessThan(SIZE);
    // The second gateway first has to learn that the first one is silent.
    await waitFor(
      'the rest is stored',
      async () => {
        const from = await offset();
        return (await send(at(second), from)) === 204;
      },
      { withinMs: 180_000 },
    );
    const { file } = await json(at(second));
    expect(file).toMatchObject({ bytes: SIZE, sha256: SHA256 });
  });
});

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { healthPage } from '@runledger/testing/health-pages';
import { expect, it } from 'vitest';
import { startGatewayProcess, type GatewayProcess } from '../../fixtures/gateway/a-service.ts';
import { openTestBedOnOwnBroker } from '../../fixtures/gateway/test-bed.ts';

const MiB = 1024 ** 2;
const SIZE = 250 * MiB;
const PIECE = randomBytes(MiB);

const pieces = function* (): Generator<Buffer> {
  for (let sent = 0; sent < SIZE; sent += MiB) yield PIECE;
};

/** The status of the response. */
const upload = async (url: string, headers: Record<string, string>): Promise<number | undefined> => {
  const sending = request(url, { method: 'POST', headers: { ...headers, 'content-length': String(SIZE) } });
  const responded: Promise<[IncomingMessage]> = once(sending, 'response') as Promise<[IncomingMessage]>;
  await pipeline(pieces(), sending);
  const [response] = await responded;
  response.resume();
  return response.statusCode;
};

const memoryOf = async ({ health }: GatewayProcess): Promise<number> => {
  const text = await (await healthPage(health, '/metrics')).text();
  return Number(/^process_resident_memory_bytes\S* (\S+)/m.exec(text)?.[1]);
};

// A slow disk takes a few MiB a second. Beside other tests, a gateway that waits for the processor gives memory back later.
it('a large file passes through a gateway that keeps little of it', { timeout: 240_000 }, async () => {
  await using bed = await openTestBedOnOwnBroker();
  await using gateway = await startGatewayProcess({
    NATS_URL: bed.nats.login.url,
    RUNLEDGER_VIEWS: 'sqlite',
    RUNLEDGER_VIEWS_FILE: ':memory:',
  });
  const before = await memoryOf(gateway);
  let most = before;
  const watching = setInterval(() => {
    void memoryOf(gateway).then(
      (bytes) => (most = Math.max(most, bytes)),
      () => undefined,
    );
  }, 100);
  const status = await upload(`${gateway.api}/files?filename=film.mp4`, {
    authorization: `Bearer ${bed.tenant.key}`,
    'content-type': 'video/mp4',
  });
  clearInterval(watching);
  expect(status).toBe(201);
  expect(most - before).toBeLessThan(SIZE / 2);
});

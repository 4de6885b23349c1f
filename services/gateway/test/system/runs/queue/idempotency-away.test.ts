import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openTestBed } from '../../../fixtures/gateway/test-bed.ts';
import { factsOf, queueKeyed, runIn } from '../../../fixtures/runs/queued-runs.ts';
import { startGatewayProcess } from '../../../fixtures/gateway/a-service.ts';

/** A process starts. */
const SLOW = { timeout: 90_000 };

interface Silencer extends AsyncDisposable {
  readonly url: string;
}

/** Stands between a gateway and its broker: once a fact of a run went to the broker, nothing comes back. */
const silencer = async (url: string): Promise<Silencer> => {
  const sockets = new Set<Socket>();
  let unresponsive = false;
  const server = createServer((client) => {
    const upstream = connect(Number(new URL(url).port), '127.0.0.1');
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
    client.on('data', (chunk: Buffer) => {
      unresponsive ||= chunk.includes('HPUB runs.');
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!unresponsive) client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  // A TCP server has an address object, no path.
  const { port } = server.address() as AddressInfo;
  return {
    url: `nats://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

describe('a request with an idempotency key', SLOW, () => {
  it('finds its run at another gateway when the first was killed between storing it and its response', async () => {
    await using open = new AsyncDisposableStack();
    const bed = open.use(await openTestBed());
    const { tenant } = bed;
    const between = open.use(await silencer(bed.nats.url));
    const killed = open.use(
      await startGatewayProcess({
        ...bed.nats.env,
        NATS_URL: between.url,
        RUNLEDGER_VIEWS: 'sqlite',
        RUNLEDGER_VIEWS_FILE: ':memory:',
      }),
    );
    const answer = queueKeyed(killed, tenant, 'k').catch((error: unknown) => error);
    await waitFor('the run to be stored', async () => (await factsOf(bed, tenant)) === 1);
    killed.kill('SIGKILL');
    expect(await answer).toBeInstanceOf(Error);
    const other = await bed.gateway();
    const run = runIn(tenant, await queueKeyed(other, tenant, 'k'));
    expect(runIn(tenant, await queueKeyed(other, tenant, 'k'))).toEqual(run);
    expect(await factsOf(bed, tenant)).toBe(1);
  });
});

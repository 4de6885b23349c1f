import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AckPolicy, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { findNatsServer } from '@runledger/local-servers/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats-server';
import type { StandaloneRequest } from '../system/measured-standalone.ts';
import { deliveredAs, STORED } from './subjects.ts';

export type BareLogRequest = Pick<StandaloneRequest, 'syncInterval' | 'environment'>;

/** A process that stores a message of each kind in `to` for each one of the kind `from`. */
export interface Relay {
  readonly from: string;
  readonly to: readonly string[];
}

/** A broker with one stream, and processes that do nothing but what a log makes them do. */
export interface BareLog extends AsyncDisposable {
  /** The connection of this process, to which `delivered` is delivered. */
  readonly broker: NatsConnection;
}

/** `delivered`: the kind that this process gets, or `>` for all. */
export const openBareLog = async (
  { syncInterval, environment: env }: BareLogRequest,
  relays: readonly Relay[],
  delivered: string,
): Promise<BareLog> => {
  await using open = new AsyncDisposableStack();
  const folder = open.use(await mkdtempDisposable(join(tmpdir(), 'runledger-floor-')));
  const { path: binary } = await findNatsServer({ env });
  const server = await startNatsServer({ binary, storeDir: folder.path, syncInterval, env });
  open.defer(async () => void (await server.stop()));
  const broker = await connect({ servers: server.url });
  open.defer(() => broker.close());
  await makeStream(broker, [...relays.map(({ from }) => from), delivered]);
  for (const relay of relays) {
    const child = startRelay(server.url, relay);
    open.defer(() => void child.kill());
    await once(child, 'message');
  }
  const kept = open.move();
  return { broker, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};

const startRelay = (url: string, { from, to }: Relay): ChildProcess =>
  fork(fileURLToPath(new URL('relay.ts', import.meta.url)), [url, from, ...to]);

const makeStream = async (broker: NatsConnection, followed: readonly string[]): Promise<void> => {
  const manager = await jetstreamManager(broker);
  const name = 'FLOOR';
  await manager.streams.add({ name, subjects: [`${STORED}.>`], storage: StorageType.File });
  for (const [at, fact] of followed.entries())
    await manager.consumers.add(name, {
      durable_name: `reader-${at}`,
      ack_policy: AckPolicy.None,
      filter_subject: fact === '>' ? `${STORED}.>` : `${STORED}.${fact}.>`,
      deliver_subject: deliveredAs(fact),
    });
};

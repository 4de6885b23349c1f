import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AckPolicy, jetstreamManager, StorageType } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { findNatsServer } from '@runledger/local-servers/nats/find-nats-server';
import { startNatsServer } from '@runledger/local-servers/nats/nats-server';
import { quantile } from '@runledger/testing/measuring/quantile';
import { waitFor } from '@runledger/testing/time/wait-for';
import { DELIVERED, FIRST, SECOND } from '../floor/subjects.ts';
import type { StandaloneRequest } from '../system/measured-standalone.ts';
import type { Readings } from './figures.ts';
import { RUNS_PER_SECOND } from './steady-rate.ts';

const STREAM = 'FLOOR';
const SEEN = 'seen';
/** About as large as a fact. */
const MESSAGE = new Uint8Array(900);

/**
 * A bare broker under the load of the open loop: the time for two messages that are stored one after the other, the second by a process that
 * gets the first. A run waits for as much between queued and started, whatever else the services do.
 */
export const logFloor = async (
  { syncInterval, environment: env }: Pick<StandaloneRequest, 'syncInterval' | 'environment'>,
  seconds: number,
): Promise<Readings> => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'runledger-floor-'));
  const { path: binary } = await findNatsServer({ env });
  const server = await startNatsServer({ binary, storeDir: folder.path, syncInterval, env });
  const follower = fork(fileURLToPath(new URL('../floor/follower.ts', import.meta.url)), [server.url]);
  const followed = once(follower, 'message');
  try {
    const broker = await connect({ servers: server.url });
    await makeStream(broker);
    await followed;
    // The first second is slower: code that has just been loaded.
    const times = await storeTwice(broker, RUNS_PER_SECOND * (1 + seconds));
    const measured = times.slice(RUNS_PER_SECOND);
    await broker.close();
    return { 'floor.log.p50': quantile(measured, 0.5), 'floor.log.p99': quantile(measured, 0.99) };
  } finally {
    follower.kill();
    await server.stop();
  }
};

const makeStream = async (broker: NatsConnection): Promise<void> => {
  const manager = await jetstreamManager(broker);
  const subjects = [FIRST, SECOND].map((subject) => `${subject}.>`);
  await manager.streams.add({ name: STREAM, subjects, storage: StorageType.File });
  for (const [name, deliverTo] of Object.entries({ [FIRST]: DELIVERED, [SECOND]: SEEN }))
    await manager.consumers.add(STREAM, {
      durable_name: name,
      ack_policy: AckPolicy.None,
      filter_subject: `${name}.>`,
      deliver_subject: deliverTo,
    });
};

/** The milliseconds from the sending of each first message until its second one has come. */
const storeTwice = async (broker: NatsConnection, count: number): Promise<number[]> => {
  const sent: number[] = [];
  const times: number[] = [];
  broker.subscribe(SEEN, {
    callback: (_, { subject }) => {
      times.push(performance.now() - (sent[Number(subject.slice(SECOND.length + 1))] ?? 0));
    },
  });
  const began = performance.now();
  for (let n = 0; n < count; n += 1) {
    sent.push(performance.now());
    broker.publish(`${FIRST}.${n}`, MESSAGE);
    await pause(Math.max(began + ((n + 1) * 1_000) / RUNS_PER_SECOND - performance.now(), 1));
  }
  await waitFor('the last message', () => times.length === count);
  return times;
};

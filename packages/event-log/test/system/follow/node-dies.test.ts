import { connect } from '@nats-io/transport-node';
import { ALL_LIFECYCLES } from '@runledger/contracts/events/subjects';
import { aRun, queued } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { describe, expect, it } from 'vitest';
import { openEventLog, type EventLog } from '../../../src/connect/event-log.ts';
import { silentLogger, type Logger } from '../../../src/connect/observability.ts';
import { consume, done, type Consumption } from '../../../src/follow/consume.ts';
import { follow } from '../../../src/follow/follow.ts';
import { aClusterLog } from '../../fixtures/cluster-log.ts';
import { stored } from '../../fixtures/stored.ts';

/** The system account says which server leads the cluster. */
const ACCOUNTS =
  'accounts { SYS { users: [{user: sys, password: sys}] }, LOG { jetstream: enabled, users: [{user: log, password: log}] } }\n' +
  'system_account: SYS';

const LOGIN = { user: 'log', password: 'log' };

const logAt = (url: string, logger: Logger): Promise<EventLog> =>
  openEventLog({ url, name: 'test', ...LOGIN }, logger);

/** Its name; it places consumers. */
const clusterLeader = async (url: string): Promise<string> => {
  const nc = await connect({ servers: url.split(','), user: 'sys', pass: 'sys' });
  try {
    const answer = await nc.request('$SYS.REQ.SERVER.PING.JSZ', '', { timeout: 5_000 });
    return answer.json<{ data: { meta_cluster: { leader: string } } }>().data.meta_cluster.leader;
  } finally {
    await nc.close();
  }
};

interface Scene extends AsyncDisposable {
  /** A server whose death needs no election for what a follower needs. */
  readonly victim: string;
  kill(): Promise<void>;
  /** Connected to another server. */
  readonly log: EventLog;
  /** What the reader logged of its interruptions since the kill. */
  readonly interruptions: readonly string[];
}

const aScene = async (): Promise<Scene> => {
  await using opened = new AsyncDisposableStack();
  const cluster = opened.use(await aClusterLog({ authorization: ACCOUNTS, ...LOGIN }));
  const { servers, url } = cluster.brokers;
  const victim = await waitFor('leaders of the cluster and of RUNS', async () => {
    const leaders = [await clusterLeader(url), (await cluster.log.jsm.streams.info('RUNS')).cluster?.leader];
    return leaders.every(Boolean) && ['n0', 'n1', 'n2'].find((name) => !leaders.includes(name));
  });
  const interruptions: string[] = [];
  const warn = (fields: object, message: string): void =>
    void interruptions.push(`${message}: ${'err' in fields ? String(fields.err) : ''}`);
  const [other] = servers.filter((_, n) => `n${n}` !== victim);
  const log = opened.use(await logAt(other?.url ?? '', { ...silentLogger, warn }));
  const kept = opened.move();
  return {
    victim,
    kill: async () => {
      // A machine that stalls may have interrupted the reader before.
      interruptions.length = 0;
      await servers[Number(victim.slice(1))]?.kill9();
    },
    log,
    interruptions,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};

interface FollowerAt extends AsyncDisposable {
  /** Resolves with the next message. */
  readonly read: Promise<void>;
}

/** The broker chooses the server of a consumer at random: this follower is opened again until it is the wanted one. */
const followerWithConsumerAt = async (server: string, log: EventLog): Promise<FollowerAt> => {
  for (;;) {
    const read = Promise.withResolvers<void>();
    const following = await follow(log, {
      stream: 'RUNS',
      subjects: [ALL_LIFECYCLES],
      after: 0,
      onBatch: async () => read.resolve(),
    });
    const consumers = await log.jsm.consumers.list('RUNS').next();
    const latest = consumers.toSorted((one, other) => (one.created < other.created ? -1 : 1)).at(-1);
    if (latest?.cluster?.leader === server) {
      return { read: read.promise, [Symbol.asyncDispose]: () => following[Symbol.asyncDispose]() };
    }
    await following[Symbol.asyncDispose]();
  }
};

/** The durable consumer of a reader, at the wanted server. */
const consumerAt = async (server: string, log: EventLog, onRead: () => void): Promise<Consumption> => {
  const options = { name: 'reader', stream: 'RUNS', subjects: [ALL_LIFECYCLES], deliver: 'all' } as const;
  const open = (): Promise<Consumption> =>
    consume(log, options, async () => {
      onRead();
      return done;
    });
  await (await open())[Symbol.asyncDispose]();
  await waitFor(`the consumer to be at ${server}`, async () => {
    const { cluster } = await log.jsm.consumers.info(options.stream, options.name);
    if (cluster?.leader === server) return true;
    const wanted = JSON.stringify({ placement: { preferred: server } });
    await log.nc.request(`$JS.API.CONSUMER.LEADER.STEPDOWN.${options.stream}.${options.name}`, wanted);
    return false;
  });
  return open();
};

/** How soon depends on the machine. That the broker says it, before heartbeats are missed for four to six seconds, does not. */
describe('a reader whose consumer is at another server than its connection', { timeout: 120_000 }, () => {
  it('opens another consumer as soon as that server is killed', async () => {
    await using scene = await aScene();
    await using follower = await followerWithConsumerAt(scene.victim, scene.log);
    await scene.kill();
    await stored(scene.log, queued(aRun()), 0);
    await follower.read;
    expect(scene.interruptions.slice(0, 1)).toEqual([
      expect.stringContaining('the broker of the connection or of the consumer was lost'),
    ]);
  });

  it('pulls from a durable consumer again as soon as that server is killed', async () => {
    await using scene = await aScene();
    const read = Promise.withResolvers<void>();
    await using opened = new AsyncDisposableStack();
    opened.use(await consumerAt(scene.victim, scene.log, read.resolve));
    await scene.kill();
    await stored(scene.log, queued(aRun()), 0);
    await read.promise;
    expect(scene.interruptions.slice(0, 1)).toEqual([expect.stringContaining('a consumer was interrupted')]);
  });
});

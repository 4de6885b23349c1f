import { connect } from '@nats-io/transport-node';
import { ALL_LIFECYCLES } from '@runledger/contracts/subjects/run-subjects';
import { aRun, queued } from '@runledger/testing/events/run-events';
import type { TestNats } from '@runledger/testing/servers/nats';
import { testNatsCluster } from '@runledger/testing/servers/nats-cluster';
import { waitFor } from '@runledger/testing/time/wait-for';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEventLog, type EventLog } from '../../../src/connect/event-log.ts';
import { silentLogger } from '../../../src/connect/logger.ts';
import { follow } from '../../../src/follow/follow.ts';
import { awaitProvisioned, provision } from '../../../src/provision/provision.ts';
import { stored } from '../../fixtures/stored.ts';

/** The system account says which server leads the cluster. */
const ACCOUNTS =
  'accounts { SYS { users: [{user: sys, password: sys}] }, LOG { jetstream: enabled, users: [{user: log, password: log}] } }\n' +
  'system_account: SYS';

const opened = new AsyncDisposableStack();
let servers: readonly TestNats[];
let url: string;

beforeAll(async () => {
  const cluster = opened.use(await testNatsCluster({ authorization: ACCOUNTS }));
  ({ servers, url } = cluster);
  await using log = await logAt(url);
  await provision(log, { replicas: 3 });
  await awaitProvisioned(log);
}, 120_000);
afterAll(() => opened.disposeAsync());

const logAt = (at: string): Promise<EventLog> =>
  openEventLog({ url: at, name: 'test', user: 'log', password: 'log' }, silentLogger);

/** Its name; it places consumers. */
const clusterLeader = async (): Promise<string> => {
  const nc = await connect({ servers: url.split(','), user: 'sys', pass: 'sys' });
  try {
    const answer = await nc.request('$SYS.REQ.SERVER.PING.JSZ', '', { timeout: 5_000 });
    return answer.json<{ data: { meta_cluster: { leader: string } } }>().data.meta_cluster.leader;
  } finally {
    await nc.close();
  }
};

/** Missed heartbeats would tell after four to six seconds. */
const WITHIN_MS = 3_000;

/** A server whose death needs no election for what a follower needs. */
const expendable = (): Promise<string> =>
  waitFor('leaders of the cluster and of RUNS', async () => {
    await using log = await logAt(url);
    const leaders = [await clusterLeader(), (await log.jsm.streams.info('RUNS')).cluster?.leader];
    return leaders.every(Boolean) && ['n0', 'n1', 'n2'].find((name) => !leaders.includes(name));
  });

interface FollowerAt extends AsyncDisposable {
  /** When the next message was read. */
  readonly read: Promise<number>;
}

/** The broker chooses the server of a consumer at random: this follower is opened again until it is the wanted one. */
const followerWithConsumerAt = async (server: string, log: EventLog): Promise<FollowerAt> => {
  for (;;) {
    const read = Promise.withResolvers<number>();
    const following = await follow(log, {
      stream: 'RUNS',
      subjects: [ALL_LIFECYCLES],
      after: 0,
      onBatch: async () => read.resolve(performance.now()),
    });
    const consumers = await log.jsm.consumers.list('RUNS').next();
    const latest = consumers.toSorted((one, other) => (one.created < other.created ? -1 : 1)).at(-1);
    if (latest?.cluster?.leader === server) {
      return { read: read.promise, [Symbol.asyncDispose]: () => following[Symbol.asyncDispose]() };
    }
    await following[Symbol.asyncDispose]();
  }
};

describe('a follower whose consumer is at another server than its connection', () => {
  it('reads on as soon as that server is killed', { timeout: 120_000 }, async () => {
    const victim = await expendable();
    const [other] = servers.filter((_, n) => `n${n}` !== victim);
    await using log = await logAt(other?.url ?? '');
    await using follower = await followerWithConsumerAt(victim, log);
    await servers[Number(victim.slice(1))]?.kill9();
    const killedAt = performance.now();
    await stored(log, queued(aRun()), 0);
    expect((await follower.read) - killedAt).toBeLessThan(WITHIN_MS);
  });
});

import { setTimeout as pause } from 'node:timers/promises';
import { StoreCompression, type StreamConfig } from '@nats-io/jetstream';
import { headers, TimeoutError } from '@nats-io/transport-node';
import { MAX_FACT_BYTES, FACT_OVERHEAD_BYTES } from '@runledger/contracts/fold/log-capacity';
import { describe, expect, it } from 'vitest';
import { append } from '../../src/append/append.ts';
import { awaitProvisioned, ForbiddenConfiguration, provision } from '../../src/provision/provision.ts';
import { aLog, aLogOnOwnBroker, anEmptyLog, anEmptyLogOnOwnBroker } from '../fixtures/test-log.ts';
import { aRun, queued } from '@runledger/testing/run-events';

describe('provision', () => {
  it('creates every stream, bucket and object store, and changes nothing the second time', async () => {
    await using test = await aLog();
    const list = async () =>
      (await test.log.jsm.streams.list().next()).map(({ config, created }) => ({ config, created }));
    const first = await list();
    expect(first.map(({ config }) => config.name).sort()).toEqual([
      'ACTIVITY',
      'AUDIT',
      'AUDIT_RIGHTS',
      'BLOBS',
      'DEAD_LETTERS',
      'DELIVERY_ATTEMPTS',
      'FLEET',
      'KV_ACCOUNTS',
      'KV_ARCHIVE',
      'KV_CATALOGUE',
      'KV_EXECUTORS',
      'KV_FILES',
      'KV_KEYS',
      'KV_LEASES',
      'KV_RATES',
      'KV_SCHEDULES',
      'KV_WEBHOOK_SECRETS',
      'LOGS',
      'OBJ_ARCHIVE',
      'OBJ_MODELS',
      'OBJ_OUTPUTS',
      'OBJ_SNAPSHOTS',
      'RUNS',
      'TIMERS',
      'WORKFLOWS',
    ]);
    await provision(test.log);
    expect(await list()).toEqual(first);
  });

  it('asks again within seconds while brokers have no leader yet, and drop the request', async () => {
    await using test = await anEmptyLog();
    const { nc } = test.log;
    const request = nc.request.bind(nc);
    let dropped = 0;
    nc.request = async (subject, payload, options) => {
      if (!subject.endsWith('.STREAM.INFO.RUNS') || dropped > 0) return request(subject, payload, options);
      dropped += 1;
      await pause(options?.timeout);
      throw new TimeoutError();
    };
    const began = performance.now();
    await provision(test.log);
    expect(dropped).toBe(1);
    // Less than a change of a stream may take, which is ten seconds.
    expect(performance.now() - began).toBeLessThan(9_000);
  });

  it('is needed once: everything exists after the broker was killed and restarted', async () => {
    await using test = await aLogOnOwnBroker();
    await test.nats.kill9();
    await test.nats.restart();
    await expect(awaitProvisioned(test.log, AbortSignal.timeout(10_000))).resolves.toBeUndefined();
  });

  it('creates RUNS so that no message can be removed from it', async () => {
    await using test = await aLog();
    const { config } = await test.log.jsm.streams.info('RUNS');
    expect(config).toMatchObject({
      deny_delete: true,
      deny_purge: true,
      discard: 'new',
      storage: 'file',
      allow_rollup_hdrs: false,
      allow_msg_ttl: false,
      max_consumers: 20_000,
      max_age: 7 * 86_400 * 1e9,
    });
    await append(test.log, queued(aRun()), 0);
    await expect(test.log.jsm.streams.deleteMessage('RUNS', 1)).rejects.toThrow(/delete/);
    await expect(test.log.jsm.streams.purge('RUNS')).rejects.toThrow(/purge/);
    const rollUp = headers();
    rollUp.set('Nats-Rollup', 'all');
    await expect(test.log.js.publish('runs.a.b.life.x', '', { headers: rollUp })).rejects.toThrow(/rollup/);
    expect((await test.log.jsm.streams.info('RUNS')).state.messages).toBe(1);
  });

  it('does not let the broker compress RUNS, also one that was created so', async () => {
    await using test = await aLog();
    const compression = async () => (await test.log.jsm.streams.info('RUNS')).config.compression;
    expect(await compression()).toBe('none');
    await test.log.jsm.streams.update('RUNS', { compression: StoreCompression.S2 });
    await append(test.log, queued(aRun()), 0);
    await provision(test.log);
    expect(await compression()).toBe('none');
    expect((await test.log.jsm.streams.info('RUNS')).state.messages).toBe(1);
  });

  it('allows batches in RUNS, also in one that was created without, and no large messages', async () => {
    await using test = await aLog();
    const batches = async () => {
      const { allow_atomic, max_msg_size } = (await test.log.jsm.streams.info('RUNS')).config;
      return { allow_atomic, max_msg_size };
    };
    const wanted = { allow_atomic: true, max_msg_size: 32 * 1024 };
    expect(await batches()).toEqual(wanted);
    expect(Math.max(...Object.values(MAX_FACT_BYTES)) + FACT_OVERHEAD_BYTES).toBeLessThan(
      wanted.max_msg_size / 2,
    );
    await test.log.jsm.streams.update('RUNS', { allow_atomic: false, max_msg_size: -1 });
    await expect(awaitProvisioned(test.log)).resolves.toBeUndefined();
    await append(test.log, queued(aRun()), 0);
    await provision(test.log);
    expect(await batches()).toEqual(wanted);
    expect((await test.log.jsm.streams.info('RUNS')).state.messages).toBe(1);
  });

  it('refuses other subjects of a stream', async () => {
    await using test = await aLog();
    await test.log.jsm.streams.update('FLEET', { subjects: ['fleet.*'] });
    await expect(provision(test.log)).rejects.toThrow(/Stream FLEET has subjects = \["fleet\.\*"\]/);
    await expect(awaitProvisioned(test.log)).rejects.toBeInstanceOf(ForbiddenConfiguration);
  });

  it('looks at all streams before it changes one', async () => {
    await using test = await aLog();
    await test.log.jsm.streams.update('OBJ_SNAPSHOTS', { subjects: ['elsewhere'] });
    await test.log.jsm.streams.delete('FLEET');
    const before = (await test.log.jsm.streams.info('RUNS')).config;
    await expect(provision(test.log, { runsMaxBytes: 5_000_000 })).rejects.toThrow(/Stream OBJ_SNAPSHOTS/);
    expect((await test.log.jsm.streams.info('RUNS')).config).toEqual(before);
    await expect(test.log.jsm.streams.info('FLEET')).rejects.toThrow(/not found/);
  });

  it('refuses more copies before it changes one, and says which streams to delete for them', async () => {
    await using test = await aLog();
    await expect(provision(test.log, { replicas: 3, runsMaxBytes: 5_000_000 })).rejects.toThrow(
      /Stream ACTIVITY has persist_mode = "async".*.*nats stream rm ACTIVITY/,
    );
    expect((await test.log.jsm.streams.info('RUNS')).config.max_bytes).not.toBe(5_000_000);
  });

  it('updates limits to the settings and keeps stored messages', async () => {
    await using test = await aLog();
    await append(test.log, queued(aRun()), 0);
    await provision(test.log, { runsMaxBytes: 5_000_000, activityMaxPerAttempt: 7 });
    const { config, state } = await test.log.jsm.streams.info('RUNS');
    expect(config.max_bytes).toBe(5_000_000);
    expect(state.messages).toBe(1);
    expect((await test.log.jsm.streams.info('ACTIVITY')).config.max_msgs_per_subject).toBe(7);
  });

  it('may be run by several processes at once', async () => {
    await using test = await anEmptyLog();
    const logs = await Promise.all(Array.from({ length: 4 }, () => test.open()));
    await Promise.all(logs.map((log) => provision(log)));
    await expect(awaitProvisioned(test.log)).resolves.toBeUndefined();
  });

  it('refuses settings with which the first events of runs would expire', async () => {
    await using test = await anEmptyLog();
    await expect(provision(test.log, { runsMaxAgeMs: 60_000 })).rejects.toThrow('runsMaxAgeMs');
    await expect(provision(test.log, { runsMaxBytes: -1 })).rejects.toThrow('runsMaxBytes');
  });

  it('explains what to do when there are too few brokers', async () => {
    await using test = await anEmptyLog();
    await expect(provision(test.log, { replicas: 3 })).rejects.toThrow(
      /not enough brokers for 3 copies of stream RUNS .* Start all brokers of the cluster/,
    );
  });

  it('explains what to do when the broker has no room', async () => {
    await using test = await anEmptyLogOnOwnBroker();
    await expect(provision(test.log, { runsMaxBytes: 1024 ** 5 })).rejects.toThrow('max_file_store');
  });
});

describe('a RUNS stream with another configuration', () => {
  const safe: Partial<StreamConfig> = {
    subjects: ['runs.>'],
    discard: 'new',
    deny_delete: true,
    deny_purge: true,
    allow_direct: true,
    max_consumers: 20_000,
  };
  const forbidden: [keyof StreamConfig, Partial<StreamConfig>][] = [
    ['allow_rollup_hdrs', { deny_purge: false, allow_rollup_hdrs: true }],
    ['allow_msg_ttl', { deny_purge: false, allow_msg_ttl: true }],
    ['deny_delete', { deny_delete: false }],
    ['deny_purge', { deny_purge: false }],
    ['discard', { discard: 'old' }],
    ['storage', { storage: 'memory' }],
    ['max_consumers', { max_consumers: 1_000 }],
    ['max_msgs_per_subject', { max_msgs_per_subject: 1 }],
    ['subjects', { subjects: ['runs.*.*.life.>'] }],
    ['sources', { sources: [{ name: 'ELSEWHERE' }] }],
  ];

  it.each(forbidden)('is refused for its %s, and not changed', async (setting, change) => {
    await using test = await anEmptyLog();
    await test.log.jsm.streams.add({ name: 'ELSEWHERE', subjects: ['elsewhere'] });
    await test.log.jsm.streams.add({ name: 'RUNS', ...safe, ...change });
    const before = (await test.log.jsm.streams.info('RUNS')).config;

    const error = await provision(test.log).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ForbiddenConfiguration);
    expect(error).toMatchObject({ stream: 'RUNS' });
    // The broker turns roll-up on together with some other settings: either is named.
    expect([setting, 'allow_rollup_hdrs', 'deny_purge']).toContain((error as ForbiddenConfiguration).setting);
    expect(String(error)).toMatch(
      /^ForbiddenConfiguration: Stream RUNS has .* is needed: .*nats stream edit RUNS/,
    );
    expect((await test.log.jsm.streams.info('RUNS')).config).toEqual(before);
  });
});

describe('awaitProvisioned', () => {
  it('reads only the named streams', async () => {
    await using test = await anEmptyLog();
    await expect(awaitProvisioned(test.log, undefined, [])).resolves.toBeUndefined();
  });

  it('waits until all streams exist', async () => {
    await using test = await anEmptyLog();
    const waiting = awaitProvisioned(test.log);
    await provision(await test.open(), { runsMaxConsumers: 30_000 });
    await expect(waiting).resolves.toBeUndefined();
  });

  it('throws when a stream has a forbidden configuration', async () => {
    await using test = await anEmptyLog();
    const waiting = awaitProvisioned(test.log);
    await test.log.jsm.streams.add({ name: 'RUNS', subjects: ['runs.>'], allow_direct: true });
    await expect(waiting).rejects.toBeInstanceOf(ForbiddenConfiguration);
  });

  it('stops waiting on a signal', async () => {
    await using test = await anEmptyLog();
    const stop = new AbortController();
    const waiting = awaitProvisioned(test.log, stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow('abort');
  });
});

import { openBlobStores } from '@runledger/blob-store/blob-stores';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import { partitionOf } from '@runledger/contracts/deliveries/timers';
import { polledClock } from '@runledger/coordination/broker-clock';
import { newUuid } from '@runledger/contracts/ids';
import { readAuditBackwards } from '@runledger/event-log/streams/audit-records';
import { recordsLeft, ringUse } from '@runledger/event-log/streams/audit-ring';
import { actionRecorder } from '@runledger/event-log/streams/record-action';
import { openBucket } from '@runledger/event-log/streams/bucket';
import { openTable } from '@runledger/event-log/table/table';
import { eraseSubjects } from '@runledger/event-log/streams/erase-messages';
import { readDeliveries, recordDeliveryState } from '@runledger/event-log/streams/delivery-attempts';
import { acquireLease, LEASE_TTL_MS } from '@runledger/coordination/lease';
import { holdPartitions } from '@runledger/coordination/hold-partitions';
import { loadSnapshot, saveSnapshot } from '@runledger/scheduler/snapshot/snapshot-store';
import { followDue } from '@runledger/notifier/follow-timers';
import {
  countDeferred,
  findPending,
  readOpenings,
  readPosition,
  removePending,
  storePosition,
  scheduleDelivery,
} from '@runledger/notifier/timers';
import { aRun } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { Type } from 'typebox';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aGuardedBroker, type GuardedBroker } from './a-guarded-broker.ts';

let broker: GuardedBroker;
beforeAll(async () => {
  broker = await aGuardedBroker();
});
afterAll(() => broker[Symbol.asyncDispose]());

describe('with only its own key', () => {
  it('the gateway keeps its records', async () => {
    const log = await broker.open('gateway');
    for (const name of [
      'ACCOUNTS',
      'ARCHIVE',
      'CATALOGUE',
      'FILES',
      'KEYS',
      'RATES',
      'SCHEDULES',
      'WEBHOOK_SECRETS',
    ] as const) {
      const bucket = openBucket(log, name, Type.String());
      const revision = await bucket.create('one.two', 'first');
      expect(revision).not.toBe(false);
      expect(await bucket.update('one.two', 'second', Number(revision))).not.toBe(false);
      const third = await bucket.put('one.three', 'third');
      expect(await bucket.putWhile('one.three', 'fourth', { key: 'one.three', revision: third })).not.toBe(
        false,
      );
      expect(await bucket.get('one.two')).toMatchObject({ value: 'second' });
      expect(await bucket.nextWrite('one', 0)).toBeDefined();
      await openTable(log, {
        bucket: name,
        prefix: 'one',
        schema: Type.String(),
        keep: (text) => text,
        sortKey: (text) => text,
      }).erase('one.three');
      if (name === 'RATES' || name === 'WEBHOOK_SECRETS') continue;
      expect(await bucket.list('one')).toHaveLength(1);
      await bucket.erase('one.two');
    }
    expect(await polledClock(log, 'KV_RATES')()).toBeGreaterThan(0);
    expect(await readDeliveries(log, aRun())).toMatchObject({ attempts: [] });
  });

  it('the gateway erases what an organisation has', async () => {
    const log = await broker.open('gateway');
    await openBucket(log, 'WEBHOOK_SECRETS', Type.String()).erase('one.two');
    const subjects = { BLOBS: 'blobs', WORKFLOWS: 'workflows', ACTIVITY: 'activity', TIMERS: 'timers' };
    for (const [stream, first] of Object.entries({ ...subjects, DELIVERY_ATTEMPTS: 'delivery_attempts' }))
      expect(await eraseSubjects(log, stream, `${first}.${newUuid()}.>`), stream).toBe(0);
  });

  it('the gateway records what is done, and reads it', async () => {
    const log = await broker.open('gateway');
    const org_id = newUuid();
    const record = actionRecorder({ log });
    await record(
      {
        action: 'secret.rotated',
        org_id,
        actor: { kind: 'unknown', network: 'a test' },
        target: { kind: 'secret', id: null },
        request_id: null,
      },
      async () => undefined,
    );
    let records = 0;
    for await (const span of readAuditBackwards(log, { org_id })) records += span.records.length;
    expect(records).toBe(2);
    expect(await ringUse(log, org_id, 'given', new Date(0))).toMatchObject({ recent: 1, most: 1_365 });
    expect(await recordsLeft(log, org_id, undefined)).toEqual([]);
  });

  it('the gateway stores blobs, and the notifier reads inputs and outputs', async () => {
    const { workflows, blobs } = openBlobStores(await broker.open('gateway'));
    const ofNotifier = openBlobStores(await broker.open('notifier'));
    const org = newUuid();
    const bytes = jsonBlob({ seed: 1 });
    for (const store of [workflows, blobs]) {
      const { sha256 } = await store.put(org, bytes);
      expect(await store.get(org, sha256)).toEqual(Buffer.from(bytes));
      expect(await store.get(org, 'a'.repeat(64))).toBeUndefined();
      expect(await store.renew(org, sha256)).toBe(true);
    }
    const { sha256 } = await blobs.put(org, bytes);
    expect(await ofNotifier.blobs.get(org, sha256)).toEqual(Buffer.from(bytes));
  });

  it('the scheduler keeps snapshots', async () => {
    const log = await broker.open('scheduler');
    const bytes = new Uint8Array(300_000).fill(7);
    await saveSnapshot(log, 'scheduler', () => [bytes]);
    await saveSnapshot(log, 'scheduler', () => [bytes]);
    const stored = await loadSnapshot(log, 'scheduler');
    expect(stored && new Uint8Array(await buffer(stored))).toEqual(bytes);
  });

  it.each([
    ['gateway', 'projection.v2'],
    ['gateway', 'schedules'],
    ['scheduler', 'scheduler'],
  ] as const)('the %s holds its lease and gives it back', async (user, name) => {
    const lease = await acquireLease(
      await broker.open(user),
      { name, holder: user, ttlMs: LEASE_TTL_MS },
      AbortSignal.timeout(5_000),
    );
    expect(lease.lost.aborted).toBe(false);
    await lease.release();
  });

  it('notifiers divide the partitions', async () => {
    const log = await broker.open('notifier');
    const other = await broker.open('notifier');
    const hold = (_share: number, over: AbortSignal): Promise<void> =>
      new Promise((resolve) => over.addEventListener('abort', () => resolve(), { once: true }));
    await using first = holdPartitions(
      log,
      { name: 'notifier', partitions: 4, holder: 'one', ttlMs: 600 },
      hold,
    );
    await waitFor('all partitions', () => first.held().length === 4);
    await using second = holdPartitions(
      other,
      { name: 'notifier', partitions: 4, holder: 'two', ttlMs: 600 },
      hold,
    );
    await waitFor('half of the partitions', () => second.held().length === 2);
  });

  it('the notifier stores timers and delivery attempts', async () => {
    const log = await broker.open('notifier');
    const key = aRun();
    const delivery = {
      version: 1,
      ...key,
      origin: 'https://example.com',
      round: 1,
      tries: 1,
      due_at: '2026-01-01T00:00:00.000Z',
      expires_at: '2099-01-01T00:00:00.000Z',
      sequence: 7,
    } as const;
    const due: string[] = [];
    await using following = await followDue(
      log,
      partitionOf(delivery.origin),
      async (found) => void due.push(...found.map(({ kind }) => kind)),
      () => undefined,
    );
    expect(following.state()).toEqual({ ok: true });
    await scheduleDelivery(log, delivery, new Date(Date.now() + 200));
    expect(await findPending(log, delivery)).toBeDefined();
    await waitFor('the delivery', () => due.includes('delivery'));
    await removePending(log, delivery);
    expect(await countDeferred(log)).toBe(0);
    expect(await readOpenings(log, 1)).toEqual([]);
    await storePosition(log, 1, { version: 1, created: 'then', runs: 1, activity: 1, swept: 1, left: 0 });
    expect(await readPosition(log, 1)).toMatchObject({ runs: 1 });
    await recordDeliveryState(log, key, {
      version: 1,
      round: 1,
      state: 'deferred',
      tries: 1,
      next_try_at: null,
      last_reason: null,
      message: null,
      at: '2026-01-01T00:00:00.000Z',
    });
    const secrets = openBucket(log, 'WEBHOOK_SECRETS', Type.String());
    expect(await secrets.create('an-organisation', 'sealed')).not.toBe(false);
  });

  it('nothing was refused', () => {
    expect(broker.refusals).toEqual([]);
  });
});

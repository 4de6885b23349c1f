import type { AuditRecord } from '@runledger/contracts/audit-record';
import { AUDIT_STREAMS } from '@runledger/contracts/audit-actions';
import { newUuid } from '@runledger/contracts/ids';
import { describe, expect, it } from 'vitest';
import { readAuditBackwards, storeAuditRecord } from '../../src/streams/audit-records.ts';
import { recordsLeft, ringUse } from '../../src/streams/audit-ring.ts';
import { actionRecorder, AuditNotStored, type AuditedAction } from '../../src/streams/record-action.ts';
import type { EventLog } from '../../src/connect/event-log.ts';
import { provision } from '../../src/provision/provision.ts';
import { aLog } from '../fixtures/test-log.ts';

const org_id = newUuid();
const done = (action: AuditedAction['action']): AuditedAction => ({
  action,
  org_id,
  actor: { kind: 'operator' },
  target: { kind: 'key', id: null },
  request_id: null,
});
const aRecord = (changes: Partial<AuditRecord> = {}): AuditRecord => ({
  ...done('key.created'),
  version: 1,
  id: newUuid(),
  stage: 'completed',
  outcome: 'done',
  ...changes,
});

const stored = async (log: EventLog, range = {}): Promise<AuditRecord[]> => {
  const found: AuditRecord[] = [];
  for await (const { records } of readAuditBackwards(log, range)) found.push(...records);
  return found;
};

describe('an action', () => {
  it('has its first record in the log before it begins, and its last one before its result', async () => {
    await using test = await aLog();
    const record = actionRecorder({ log: test.log });
    const result = await record(done('key.created'), async () => {
      expect(await stored(test.log)).toMatchObject([{ stage: 'requested', outcome: null }]);
      return 'made';
    });
    expect(result).toBe('made');
    const [last, first] = await stored(test.log);
    expect([last?.stage, last?.outcome, last?.id]).toEqual(['completed', 'done', first?.id]);
  });

  it('that fails has the outcome unknown, and one that is refused says so', async () => {
    await using test = await aLog();
    const record = actionRecorder({ log: test.log, isRefusal: (error) => error instanceof RangeError });
    const outcomes = async () => (await stored(test.log)).flatMap(({ outcome }) => outcome ?? []);
    const failing = async (how: Error): Promise<void> =>
      expect(record(done('key.created'), () => Promise.reject(how))).rejects.toBe(how);
    await failing(new Error('cut off'));
    expect(await outcomes()).toEqual(['unknown']);
    await failing(new RangeError('no'));
    // They are in two streams, and may be of one millisecond: either is read first then.
    expect((await outcomes()).toSorted()).toEqual(['refused', 'unknown']);
  });

  it('is not carried out without its record if it gives rights, and is if it takes them away, and then it is logged', async () => {
    await using test = await aLog();
    let lost = 0;
    const record = actionRecorder({ log: test.log, onLost: () => (lost += 1) });
    for (const stream of AUDIT_STREAMS) await test.log.jsm.streams.delete(stream);
    let made = false;
    const making = record(done('key.created'), async () => (made = true));
    await expect(making).rejects.toBeInstanceOf(AuditNotStored);
    expect([made, lost]).toEqual([false, 1]);
    expect(await record(done('key.revoked'), async () => 'revoked')).toBe('revoked');
    expect(lost).toBe(3);
    await provision(test.log);
    await expect(record(done('key.created'), async () => 'made')).resolves.toBe('made');
  });
});

describe('a ring', () => {
  it('keeps its newest records; what is beyond leaves, and only of this ring and organisation', async () => {
    await using test = await aLog({ auditMaxBytes: 16 * 3 * 1024 * 20 });
    const other = newUuid();
    const first = aRecord({ action: 'run.deleted', org_id: other });
    await storeAuditRecord(test.log, first);
    await storeAuditRecord(test.log, aRecord({ action: 'credential.refused' }));
    const ids: string[] = [];
    for (let count = 0; count < 30; count += 1) {
      const record = aRecord({ action: count % 2 === 0 ? 'run.deleted' : 'schedule.changed' });
      ids.push(record.id);
      await storeAuditRecord(test.log, record);
    }
    const kept = (await stored(test.log, { org_id })).filter(({ action }) => action !== 'credential.refused');
    expect(kept.map(({ id }) => id)).toEqual(ids.slice(10).toReversed());
    expect(await stored(test.log, { org_id, action: 'credential.refused' })).toHaveLength(1);
    expect(await stored(test.log, { org_id: other })).toMatchObject([{ id: first.id }]);
    expect(await recordsLeft(test.log, other, undefined)).toEqual([]);
    expect(await recordsLeft(test.log, org_id, 'schedule.changed')).toMatchObject([{ ring: 'work' }]);
    expect(await recordsLeft(test.log, org_id, 'key.created')).toEqual([]);
    expect(await ringUse(test.log, org_id, 'work', new Date(0))).toMatchObject({ most: 20, recent: 20 });
    const later = new Date(Date.now() + 60_000);
    expect(await ringUse(test.log, org_id, 'work', later)).toMatchObject({ recent: 0 });
  });
});

describe('a record', () => {
  it('can neither be deleted, purged nor rolled up, also not by the operator', async () => {
    await using test = await aLog();
    const { jsm } = test.log;
    await storeAuditRecord(test.log, aRecord());
    await storeAuditRecord(test.log, aRecord({ stage: 'requested', outcome: null }));
    for (const stream of AUDIT_STREAMS) {
      await expect(jsm.streams.deleteMessage(stream, 1)).rejects.toThrow(/delete/);
      await expect(jsm.streams.purge(stream)).rejects.toThrow(/purge/);
      const { config, state } = await jsm.streams.info(stream);
      expect(config).toMatchObject({
        deny_delete: true,
        deny_purge: true,
        allow_rollup_hdrs: false,
        allow_msg_ttl: false,
      });
      expect(state.messages).toBe(1);
    }
  });

  it('is kept for a year, or for what the settings say', async () => {
    await using test = await aLog();
    const ageOf = async () => (await test.log.jsm.streams.info('AUDIT')).config.max_age / 1e6;
    expect(await ageOf()).toBe(365 * 86_400_000);
    await provision(test.log, { auditMaxAgeMs: 86_400_000 });
    expect(await ageOf()).toBe(86_400_000);
  });

  it('that another writer forged under the subject of another organisation is left out', async () => {
    await using test = await aLog();
    await test.log.js.publish(`audit.${org_id}.given`, JSON.stringify(aRecord({ org_id: newUuid() })));
    expect(await stored(test.log)).toEqual([]);
  });
});

describe('reading backwards', () => {
  it('finds each record of a filter once, newest first, among many others', { timeout: 20_000 }, async () => {
    await using test = await aLog();
    const [rare, other] = [newUuid(), newUuid()];
    const expected: string[] = [];
    for (let batch = 0; batch < 20; batch += 1) {
      const isDense = batch === 3 || batch === 4;
      const records = Array.from({ length: 80 }, (_none, at) =>
        aRecord({
          org_id: isDense || at === 7 ? rare : other,
          action: at % 2 === 0 ? 'key.created' : 'key.revoked',
          // In another stream than the outcomes.
          ...(at % 3 === 0 ? { stage: 'requested', outcome: null } : {}),
        }),
      );
      await Promise.all(records.map((record) => storeAuditRecord(test.log, record)));
      expected.push(...records.flatMap(({ org_id: of, id }) => (of === rare ? id : [])));
    }
    const found = (await stored(test.log, { org_id: rare })).map(({ id }) => id);
    expect(found.toSorted()).toEqual(expected.toSorted());
    const all = await Array.fromAsync(readAuditBackwards(test.log, {}));
    const records = all.flatMap((span) => span.records);
    expect(records).toHaveLength(1_600);
    expect(records.map(({ time }) => time)).toEqual(
      records
        .map(({ time }) => time)
        .toSorted()
        .toReversed(),
    );
    for (const stream of AUDIT_STREAMS) {
      const sequences = records.flatMap((one) => (one.stream === stream ? one.sequence : []));
      expect(sequences).toEqual(Array.from(sequences, (_none, at) => sequences.length - at));
    }
    // What is stored meanwhile is above the position, also in a stream of which nothing was given yet.
    await storeAuditRecord(test.log, aRecord());
    const [first] = all;
    const rest = await Array.fromAsync(readAuditBackwards(test.log, { below: first?.below }));
    expect(rest.flatMap((span) => span.records)).toEqual(records.slice(first?.records.length));
    const revoked = await stored(test.log, { org_id: rare, action: 'key.revoked' });
    expect(new Set(revoked.map(({ action }) => action))).toEqual(new Set(['key.revoked']));
    expect(revoked.length).toBeLessThan(found.length);
  });
});

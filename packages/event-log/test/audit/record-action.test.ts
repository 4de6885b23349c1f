import type { AuditRecord } from '@runledger/contracts/audit/audit-record';
import { newUuid } from '@runledger/contracts/ids';
import { waitFor } from '@runledger/testing/time/wait-for';
import { describe, expect, it } from 'vitest';
import { readAuditBackwards, storeAuditRecord } from '../../src/audit/audit-records.ts';
import { actionRecorder, AuditNotStored, type AuditedAction } from '../../src/audit/record-action.ts';
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
const messagesIn = async (log: EventLog): Promise<number> =>
  (await log.jsm.streams.info('AUDIT')).state.messages;

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
    for (const error of [new Error('cut off'), new RangeError('no')])
      await expect(record(done('key.created'), () => Promise.reject(error))).rejects.toBe(error);
    const outcomes = (await stored(test.log)).flatMap(({ outcome }) => outcome ?? []);
    expect(outcomes).toEqual(['refused', 'unknown']);
  });

  it('is not carried out while AUDIT is full if it gives rights, and is if it takes them away, and then it is logged', async () => {
    await using test = await aLog({ auditMaxBytes: 2_000 });
    let lost = 0;
    const record = actionRecorder({ log: test.log, onLost: () => (lost += 1) });
    await waitFor('AUDIT to be full', async () =>
      storeAuditRecord(test.log, aRecord()).then(
        () => false,
        () => true,
      ),
    );
    const before = await messagesIn(test.log);
    let made = false;
    const making = record(done('key.created'), async () => (made = true));
    await expect(making).rejects.toBeInstanceOf(AuditNotStored);
    expect([made, lost]).toEqual([false, 1]);
    expect(await record(done('key.revoked'), async () => 'revoked')).toBe('revoked');
    expect([lost, await messagesIn(test.log)]).toEqual([3, before]);
    await provision(test.log, { auditMaxBytes: 200_000 });
    await expect(record(done('key.created'), async () => 'made')).resolves.toBe('made');
  });
});

describe('a record', () => {
  it('can neither be deleted, purged nor rolled up, also not by the operator', async () => {
    await using test = await aLog();
    await storeAuditRecord(test.log, aRecord());
    const { jsm } = test.log;
    await expect(jsm.streams.deleteMessage('AUDIT', 1)).rejects.toThrow(/delete/);
    await expect(jsm.streams.purge('AUDIT')).rejects.toThrow(/purge/);
    expect((await jsm.streams.info('AUDIT')).config).toMatchObject({
      deny_delete: true,
      deny_purge: true,
      allow_rollup_hdrs: false,
      allow_msg_ttl: false,
      discard: 'new',
    });
    expect(await messagesIn(test.log)).toBe(1);
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
    await test.log.js.publish(
      `audit.${org_id}.key.created.completed`,
      JSON.stringify(aRecord({ org_id: newUuid() })),
    );
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
        }),
      );
      await Promise.all(records.map((record) => storeAuditRecord(test.log, record)));
      expected.push(...records.flatMap(({ org_id: of, id }) => (of === rare ? id : [])));
    }
    const found = (await stored(test.log, { org_id: rare })).map(({ id }) => id);
    expect(found.toSorted()).toEqual(expected.toSorted());
    const sequences: number[] = [];
    for await (const { records } of readAuditBackwards(test.log, {}))
      sequences.push(...records.map((one) => one.sequence));
    expect(sequences).toEqual(Array.from({ length: 1_600 }, (_none, at) => 1_600 - at));
    const revoked = await stored(test.log, { org_id: rare, action: 'key.revoked' });
    expect(new Set(revoked.map(({ action }) => action))).toEqual(new Set(['key.revoked']));
    expect(revoked.length).toBeLessThan(found.length);
  });
});

import { deleted, outputsDeleted, succeeded } from '@runledger/testing/run-events';
import { describe, expect, it } from 'vitest';
import { deletions } from '../../src/checks/deletions.ts';
import { readsNeverGoBack } from '../../src/checks/reads-never-go-back.ts';
import type { CreatedRecord, Exchange } from '../../src/clients/client-records.ts';
import type { ShownFile, ShownRecord } from '../../src/evidence/evidence.ts';
import { aSoak, EVENTS, exchange, RUN, second, shownAfter, wasShown } from '../fixtures/a-soak.ts';

const DELETED = [...EVENTS, deleted(RUN)];
const WITHOUT_OUTPUTS = [...EVENTS, outputsDeleted(RUN)];

const was = (at: number, kind: 'delete_run' | 'delete_outputs'): Exchange =>
  exchange(at, { kind: 'deleted', outcome: 'deleted' }, { kind });
const refused = (at: number, status: number, more: Partial<Exchange> = {}): Exchange =>
  exchange(at, { kind: 'refused', status, why: 'no' }, more);
const listed = (at: number): Exchange =>
  exchange(at, { kind: 'listed', runs: [{ run: RUN.run_id, shown: shownAfter(4) }] }, { kind: 'list' });

const messages = (events: typeof DELETED, ...exchanges: readonly Exchange[]): string[] =>
  deletions(aSoak({ events, records: { exchanges } })).map(({ message }) => message);

describe('a deletion', () => {
  const deletion = was(6.1, 'delete_run');

  it('is followed by nothing but 404', () => {
    const after = { kind: 'after_deletion', what: 'GET events' } as const;
    expect(messages(DELETED, deletion, refused(7, 404, after), refused(7, 503, after))).toEqual([]);
    expect(messages(DELETED, deletion, refused(7, 409, after))).toEqual([
      'http://127.0.0.1:1/api answered with 409: no: GET events.',
    ]);
  });

  it('takes the run out of reads and lists', () => {
    expect(messages(DELETED, listed(5), wasShown(5, 4), deletion)).toEqual([]);
    expect(messages(DELETED, deletion, listed(7))).toEqual([expect.stringContaining('showed a deleted run')]);
    expect(messages(DELETED, deletion, wasShown(7, 4))).toHaveLength(1);
  });

  it('is never undone, whoever saw it first', () => {
    const seen = (...exchanges: readonly Exchange[]) =>
      readsNeverGoBack(aSoak({ events: DELETED, records: { streams: [], received: [], exchanges } }));
    expect(seen(wasShown(5, 4), deletion, refused(7, 404))).toEqual([]);
    expect(seen(refused(6.5, 404), wasShown(7, 4))).toMatchObject([
      { message: expect.stringContaining('showed less of its lifecycle') as unknown },
    ]);
    expect(seen(refused(5, 404))).toHaveLength(1);
  });

  it('takes the outputs out of reads and lists', () => {
    const ofOutputs = was(6.1, 'delete_outputs');
    const without = exchange(7, { kind: 'shown', shown: { ...shownAfter(4), texts: [] } });
    expect(messages(WITHOUT_OUTPUTS, ofOutputs, without)).toEqual([]);
    expect(messages(WITHOUT_OUTPUTS, ofOutputs, listed(7))).toEqual([
      expect.stringContaining('showed deleted outputs'),
    ]);
  });

  it('is in the log, and was requested', () => {
    expect(messages(EVENTS, deletion)).toEqual([expect.stringContaining('stored nothing')]);
    expect(messages(DELETED)).toEqual([expect.stringContaining('no client asked for it')]);
  });

  it('keeps the key from queueing another run, also when the log has forgotten it', () => {
    const again = exchange(60, { kind: 'queued', run: 'another' }, { kind: 'queue_deleted', run: null });
    expect(messages(DELETED, deletion, again)).toHaveLength(1);
    const forgetful = {
      store: 'RUNS',
      kind: 'forgetful',
      lost: 9,
      hadEffect: true,
      from: second(10),
      to: second(55),
    } as const;
    const records = { exchanges: [deletion, again] };
    expect(deletions(aSoak({ events: DELETED, records, limits: [forgetful] }))).toHaveLength(1);
  });
});

describe('files', () => {
  const file = {
    key: 'k'.repeat(30),
    filename: 'result.txt',
    subfolder: '',
    content_type: 'text/plain',
    bytes: 1,
    sha256: 'a'.repeat(64),
    type: 'output',
    upload_duration: 0,
  } as const;
  const output = { id: RUN.run_id, output_id: 'o', node_id: null, node_meta: null, type: null };
  const events = [...EVENTS.slice(0, 3), succeeded(RUN, [{ ...output, data: { files: [file] } }])];
  const shown = (status: number, sha256: string = file.sha256): ShownFile => ({
    gateway: 'one',
    run: RUN.run_id,
    key: file.key,
    status,
    sha256,
  });

  it('of deleted runs and outputs are gone', () => {
    for (const [deletion, kind] of [
      [deleted(RUN), 'delete_run'],
      [outputsDeleted(RUN), 'delete_outputs'],
    ] as const) {
      const soak = { events: [...events, deletion], records: { exchanges: [was(5.5, kind)] } };
      expect(deletions(aSoak({ ...soak, files: [shown(404)] }))).toEqual([]);
      expect(deletions(aSoak({ ...soak, files: [shown(200)] }))).toHaveLength(1);
    }
  });

  it('of other runs are as they were stored', () => {
    expect(deletions(aSoak({ events, files: [shown(200)] }))).toEqual([]);
    expect(deletions(aSoak({ events, files: [shown(404)] }))).toHaveLength(1);
    expect(deletions(aSoak({ events, files: [shown(200, 'another')] }))).toHaveLength(1);
  });
});

describe('records of the catalogue', () => {
  const record = (state: CreatedRecord['state']): CreatedRecord => ({
    path: '/deployments/1',
    members: { id: '1', name: 'one' },
    state,
  });
  const found = (state: CreatedRecord['state'], shown: Partial<ShownRecord>) =>
    deletions(
      aSoak({
        records: { catalogue: [record(state)] },
        catalogue: [
          {
            gateway: 'one',
            path: '/deployments/1',
            status: 200,
            body: { id: '1', name: 'one', more: true },
            isListed: true,
            ...shown,
          },
        ],
      }),
    ).map(({ message }) => message);

  it('are gone when they were deleted', () => {
    expect(found('deleted', { status: 404, isListed: false })).toEqual([]);
    expect(found('deleted', { status: 404 })).toHaveLength(1);
    expect(found('deleted', { isListed: false })).toHaveLength(1);
    expect(found('deleting', {})).toEqual([]);
  });

  it('are as they were created otherwise', () => {
    expect(found('kept', {})).toEqual([]);
    expect(found('kept', { status: 404 })).toHaveLength(1);
    expect(found('kept', { body: { id: '1', name: 'two' } })).toHaveLength(1);
  });
});

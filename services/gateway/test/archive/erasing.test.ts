import { newUuid } from '@runledger/contracts/ids';
import type { RunKey } from '@runledger/contracts/events/subjects';
import {
  aRun,
  assigned,
  deleted,
  outputsDeleted,
  queued,
  started,
  succeeded,
} from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eraseArchived, noteErasure } from '../../src/archive/erase-archived.ts';
import { removeAllSegments, removeOldSegments } from '../../src/archive/archive.ts';
import { archiveRecords } from '../../src/archive/archive-records.ts';
import { aKey } from '../fixtures/gateway/a-tenant.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';
import { anOutput } from '../fixtures/runs/an-output.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../fixtures/runs/forgotten-log.ts';
import {
  archiveAll,
  ARCHIVES_AT_ONCE,
  objectsIn,
  objectsOf,
  segmentsIn,
  textOfSegments,
} from './archived-runs.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await openTestBed();
});
afterEach(() => bed[Symbol.asyncDispose]());

/** Its outputs have a text that nothing else has. */
const anEndedRun = async (): Promise<{ readonly run: RunKey; readonly secret: string }> => {
  const run = aRun(bed.tenant.org_id);
  const secret = newUuid();
  const outputs = [{ ...anOutput, data: { text: [secret] } }];
  await appendAll(bed.log, queued(run), assigned(run), started(run), succeeded(run, outputs));
  return { run, secret };
};

/** As the gateway that projects does, when the files of the run are erased. */
const eraseInArchive = async (
  ...noted: readonly (readonly [RunKey, 'run' | 'outputs', number])[]
): Promise<void> => {
  const records = archiveRecords(bed.log);
  const erasing = { records, objects: objectsOf(bed.log), onRewritten: () => undefined };
  for (const note of noted) await noteErasure(bed.log, records)(...note);
  await eraseArchived(bed.log, erasing, new AbortController().signal);
};

describe('a run that was deleted', () => {
  it('is never shown from the archive, and loses its content in the segment of its deletion', async () => {
    const [gone, kept] = [await anEndedRun(), await anEndedRun()];
    const deletion = await appendAll(bed.log, deleted(gone.run));
    await archiveAll(bed.log);
    // It names the files, which may not be erased yet.
    expect(await textOfSegments(bed.log)).toContain(gone.secret);
    await eraseInArchive([gone.run, 'run', deletion]);
    const text = await textOfSegments(bed.log);
    expect(text).not.toContain(gone.secret);
    expect(text).toContain(kept.secret);
    await forgetAll(bed.log);
    const { api } = await bed.gateway();
    expect((await call(`${api}/run/${gone.run.run_id}`, bed.tenant.key)).status).toBe(404);
    expect((await call(`${api}/run/${gone.run.run_id}/history`, bed.tenant.key)).status).toBe(404);
    expect((await call(`${api}/run/${kept.run.run_id}`, bed.tenant.key)).body.status).toBe('success');
  });

  it('loses its content in earlier segments, and their roots stay', async () => {
    const [gone, kept] = [await anEndedRun(), await anEndedRun()];
    await archiveAll(bed.log);
    const [before] = await segmentsIn(bed.log);
    expect(await textOfSegments(bed.log)).toContain(gone.secret);
    await forgetAll(bed.log);
    const deletion = await appendAll(bed.log, { ...deleted(gone.run) });
    await archiveAll(bed.log);
    await eraseInArchive([gone.run, 'run', deletion]);
    const text = await textOfSegments(bed.log);
    expect(text).not.toContain(gone.secret);
    expect(text).toContain(kept.secret);
    const segments = await segmentsIn(bed.log);
    const after = segments.find(({ first_sequence }) => first_sequence === before?.first_sequence);
    expect(after).toMatchObject({ root: before?.root, messages: before?.messages, erased: 4, former: [] });
    expect(after?.object).not.toBe(before?.object);
    expect(await objectsIn(bed.log)).toBe(segments.length);
  });

  it('by a client is erased in the archive', { timeout: 60_000 }, async () => {
    const { run, secret } = await anEndedRun();
    await archiveAll(bed.log);
    await forgetAll(bed.log);
    const { api } = await bed.gateway();
    expect((await call(`${api}/run/${run.run_id}`, bed.tenant.key)).body.outputs).toHaveLength(1);
    expect((await call(`${api}/run/${run.run_id}`, bed.tenant.key, { method: 'DELETE' })).status).toBe(200);
    expect((await call(`${api}/run/${run.run_id}`, bed.tenant.key)).status).toBe(404);
    await bed.gateway({ projecting: true, environment: ARCHIVES_AT_ONCE });
    const isGone = async (): Promise<boolean> =>
      !(await textOfSegments(bed.log).catch(() => secret)).includes(secret);
    // Each look reads all segments.
    await waitFor('the erasure', isGone, { everyMs: 250 });
    expect((await call(`${api}/run/${run.run_id}`, bed.tenant.key)).status).toBe(404);
  });

  it('is erased in the archive before its deletion is archived, and again in what is archived until then', async () => {
    const { run, secret } = await anEndedRun();
    await archiveAll(bed.log);
    const records = archiveRecords(bed.log);
    const erasing = {
      records,
      objects: objectsOf(bed.log),
      onRewritten: () => undefined,
    };
    const erase = () => eraseArchived(bed.log, erasing, new AbortController().signal);
    const pending = () => records.erasures.list('erasures');
    const sequence = await appendAll(bed.log, deleted(run));
    await noteErasure(bed.log, records)(run, 'run', sequence);
    await erase();
    expect(await textOfSegments(bed.log)).not.toContain(secret);
    expect(await pending()).toHaveLength(1);
    await forgetAll(bed.log);
    const { api } = await bed.gateway();
    // The log has lost the deletion before it was archived, and the note still says it.
    expect((await call(`${api}/run/${run.run_id}`, bed.tenant.key)).status).toBe(404);
    await appendAll(bed.log, queued(aRun(bed.tenant.org_id)));
    await archiveAll(bed.log);
    await erase();
    expect(await pending()).toHaveLength(0);
  });
});

describe('outputs that were deleted', () => {
  it('are in no segment, and the run is still read, with its receipt', async () => {
    const [early, late] = [await anEndedRun(), await anEndedRun()];
    const first = await appendAll(bed.log, outputsDeleted(early.run));
    await archiveAll(bed.log);
    const second = await appendAll(bed.log, outputsDeleted(late.run));
    await archiveAll(bed.log);
    await eraseInArchive([early.run, 'outputs', first], [late.run, 'outputs', second]);
    const text = await textOfSegments(bed.log);
    for (const { secret } of [early, late]) expect(text).not.toContain(secret);
    await forgetAll(bed.log);
    const { api } = await bed.gateway();
    const admin = await aKey(bed.log, bed.tenant, { scopes: ['admin', 'runs:read'] });
    for (const { run } of [early, late]) {
      const { body } = await call(`${api}/run/${run.run_id}`, bed.tenant.key);
      expect(body).toMatchObject({ status: 'success', outputs: [] });
      const receipt = await call(`${api}/run/${run.run_id}/receipt`, admin);
      const { facts } = receipt.body;
      const at = facts.findIndex(({ content }: { content: unknown }) => content === null);
      // What follows it has the hash of what was stored.
      expect(JSON.parse(facts[at + 1].content).previous_sha256).toBe(facts[at].sha256);
    }
  });
});

describe('segments that are older than their organisation keeps runs', () => {
  it('are removed, and others stay', async () => {
    const other = await bed.newTenant();
    await anEndedRun();
    const kept = aRun(other.org_id);
    await appendAll(bed.log, queued(kept), assigned(kept), started(kept), succeeded(kept));
    await archiveAll(bed.log);
    const options = {
      records: archiveRecords(bed.log),
      objects: objectsOf(bed.log),
      onRewritten: () => undefined,
    };
    const keptSince = async (org_id: string) => (org_id === other.org_id ? 0 : Date.now() + 1_000);
    await removeOldSegments(options, keptSince, new AbortController().signal);
    expect((await segmentsIn(bed.log)).map(({ org_id }) => org_id)).toEqual([other.org_id]);
    expect(await objectsIn(bed.log)).toBe(1);
  });
});

describe('an organisation that is erased', () => {
  it('has nothing in the archive, and nothing of it is archived again', async () => {
    const { run } = await anEndedRun();
    await archiveAll(bed.log);
    const [records, objects] = [archiveRecords(bed.log), objectsOf(bed.log)];
    const store = { records, objects, onRewritten: () => undefined };
    await noteErasure(bed.log, records)(run, 'run', 1);
    expect(await removeAllSegments(bed.log, store, bed.tenant.org_id)).toBe(2);
    await appendAll(bed.log, deleted(run));
    await archiveAll(bed.log, { isErased: async () => true });
    expect(await segmentsIn(bed.log)).toEqual([]);
    expect(await objectsIn(bed.log)).toBe(0);
    expect(await removeAllSegments(bed.log, store, bed.tenant.org_id)).toBe(0);
  });
});

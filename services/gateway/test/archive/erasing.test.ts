import { EMPTY_HISTORY } from '@runledger/contracts/fold/chain';
import { newUuid, orgId } from '@runledger/contracts/ids';
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
import { removeAllRuns, removeOldRuns } from '../../src/archive/archive.ts';
import { erasureRecords } from '../../src/records/erasure.ts';
import { aConfig, aKit } from '../fixtures/gateway/a-kit.ts';
import { openTestBed, type TestBed } from '../fixtures/gateway/test-bed.ts';
import { call } from '../fixtures/requests/requests.ts';
import { anOutput } from '../fixtures/runs/an-output.ts';
import { appendAll } from '../fixtures/runs/appended-facts.ts';
import { forgetAll } from '../fixtures/runs/forgotten-log.ts';
import { sqliteViews } from '../fixtures/views/sqlite-views.ts';
import {
  archiveAll,
  ARCHIVES_AT_ONCE,
  archivedIn,
  archivedOf,
  archiving,
  objectsOf,
  textOfArchive,
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
const eraseInArchive = (run: RunKey, erased: 'run' | 'outputs'): Promise<void> =>
  archiving(bed.log).erase(run, erased, async () => undefined);

describe('a run that was deleted', () => {
  it('is never shown from the archive, which names its files until they are erased', async () => {
    const [gone, kept] = [await anEndedRun(), await anEndedRun()];
    await appendAll(bed.log, deleted(gone.run));
    await archiveAll(bed.log);
    expect(await textOfArchive(bed.log)).toContain(gone.secret);
    await forgetAll(bed.log);
    const { api } = await bed.gateway();
    const isVisible = async (): Promise<void> => {
      expect((await call(`${api}/run/${gone.run.run_id}`, bed.tenant.key)).status).toBe(404);
      expect((await call(`${api}/run/${gone.run.run_id}/history`, bed.tenant.key)).status).toBe(404);
      expect((await call(`${api}/run/${kept.run.run_id}`, bed.tenant.key)).body.status).toBe('success');
    };
    await isVisible();
    await eraseInArchive(gone.run, 'run');
    expect(await archivedIn(bed.log)).toEqual([kept.run]);
    await isVisible();
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
      !(await textOfArchive(bed.log).catch(() => secret)).includes(secret);
    // Each look reads the whole archive.
    await waitFor('the erasure', isGone, { everyMs: 250 });
    expect((await call(`${api}/run/${run.run_id}`, bed.tenant.key)).status).toBe(404);
  });

  it('is not archived again by who had read it before', async () => {
    const { run } = await anEndedRun();
    const objects = objectsOf(bed.log);
    let isDeleted = false;
    const slow = {
      ...objects,
      put: async (key: RunKey, bytes: Buffer) => {
        // Meanwhile another gateway erases it.
        if (!isDeleted) {
          isDeleted = true;
          await appendAll(bed.log, deleted(run));
          await eraseInArchive(run, 'run');
        }
        await objects.put(key, bytes);
      },
    };
    const views = sqliteViews();
    const view = { head: 5, webhook: EMPTY_HISTORY, run: { ...run, status: 'deleted', to_erase: null } };
    const kit = aKit({ log: bed.log, views: { ...views, find: async () => view as never } });
    await archiving(bed.log, { kit, objects: slow }).archive(run);
    expect(await archivedIn(bed.log)).toEqual([]);
  });
});

describe('outputs that were deleted', () => {
  it('are in no object, whenever it is written, and the run is still read', async () => {
    const [early, late] = [await anEndedRun(), await anEndedRun()];
    await appendAll(bed.log, outputsDeleted(early.run));
    await archiveAll(bed.log);
    await appendAll(bed.log, outputsDeleted(late.run));
    await archiveAll(bed.log);
    for (const { run } of [early, late]) await eraseInArchive(run, 'outputs');
    const text = await textOfArchive(bed.log);
    for (const { secret } of [early, late]) expect(text).not.toContain(secret);
    const hashes = [];
    for (const { run } of [early, late]) {
      const { life = [] } = (await archivedOf(bed.log, run)) ?? {};
      const at = life.findIndex((message) => 'withheld' in message);
      // What follows it has the hash of what was stored.
      expect(life[at + 1]?.body).toMatchObject({ previous_sha256: Object(life[at]).withheld });
      hashes.push(at);
    }
    expect(hashes).toEqual([3, 3]);
    await forgetAll(bed.log);
    const { api } = await bed.gateway();
    for (const { run } of [early, late]) {
      const { body } = await call(`${api}/run/${run.run_id}`, bed.tenant.key);
      expect(body).toMatchObject({ status: 'success', outputs: [] });
    }
  });
});

describe('objects that were written longer ago than their organisation keeps runs', () => {
  it('are removed, and others stay', async () => {
    const other = await bed.newTenant();
    await anEndedRun();
    const kept = aRun(other.org_id);
    await appendAll(bed.log, queued(kept), assigned(kept), started(kept), succeeded(kept));
    await archiveAll(bed.log);
    const retentionCutoff = async (org_id: string) => (org_id === other.org_id ? 0 : Date.now() + 1_000);
    const config = aConfig();
    await removeOldRuns({ config }, objectsOf(bed.log), retentionCutoff, new AbortController().signal);
    expect(await archivedIn(bed.log)).toEqual([kept]);
  });
});

describe('an organisation that is erased', () => {
  it('has nothing in the archive, and nothing of it is archived again', async () => {
    const { run } = await anEndedRun();
    await archiveAll(bed.log);
    const objects = objectsOf(bed.log);
    const org_id = orgId(bed.tenant.org_id);
    expect(await removeAllRuns(bed, objects, org_id)).toBe(1);
    await erasureRecords(bed.log).begin({
      org_id,
      requested_at: '2026-01-01T00:00:00.000Z',
      requested_by: { org_id, user_id: org_id, key_id: org_id },
      quiet_at: null,
      erased_at: null,
      erases: { keys: 0, runs: 0, files: 0 },
    });
    await appendAll(bed.log, deleted(run));
    await archiveAll(bed.log);
    expect(await archivedIn(bed.log)).toEqual([]);
    expect(await removeAllRuns(bed, objects, org_id)).toBe(0);
  });
});

/** What stops a process in the middle. */
class Killed extends Error {}

describe('an erasure that is killed between any two steps', () => {
  it.each(['run', 'outputs'] as const)('of a %s is done when it is repeated', async (erased) => {
    const { run, secret } = await anEndedRun();
    await archiveAll(bed.log);
    await appendAll(bed.log, erased === 'run' ? deleted(run) : outputsDeleted(run));
    const objects = objectsOf(bed.log);
    let isSaid = false;
    let wrong = false;
    for (let step = 1; ; step += 1) {
      let steps = 0;
      const dying =
        <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
        async (...given: Given): Promise<Result> => {
          const result = await work(...given);
          steps += 1;
          if (steps === step) throw new Killed();
          return result;
        };
      const dies = {
        ...objects,
        put: dying(objects.put),
        get: dying(objects.get),
        remove: dying(objects.remove),
      };
      const done = archiving(bed.log, { objects: dies }).erase(run, erased, async () => {
        isSaid = true;
      });
      const isKilled = await done.then(
        () => false,
        () => true,
      );
      // The view says that it is erased only when it is.
      wrong ||= isSaid && (await textOfArchive(bed.log)).includes(secret);
      if (!isKilled) break;
    }
    expect([isSaid, wrong]).toEqual([true, false]);
    expect(await textOfArchive(bed.log)).not.toContain(secret);
  });
});

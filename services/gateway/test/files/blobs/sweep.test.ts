import { jetStreamBlobStore } from '@runledger/blob-store/jetstream-blob-store';
import { jsonBlob } from '@runledger/blob-store/json-blob';
import type { BlobRef } from '@runledger/contracts/blobs';
import { newUuid, orgId } from '@runledger/contracts/ids';
import type { EventLog } from '@runledger/event-log/connect/event-log';
import { aRun, assigned, started, succeeded } from '@runledger/testing/run-events';
import { waitFor } from '@runledger/testing/wait-for';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/records/catalogue/catalogue.ts';
import { beginningOf } from '../../../src/views/projection-start.decide.ts';
import type { RunViews } from '../../../src/views/run-views.ts';
import { clock } from '../../../src/kit.ts';
import { freshViews, type FreshViews } from '../../../src/views/fresh-views.ts';
import { unreferencedByRuns, unreferencedWorkflows } from '../../../src/files/blobs.ts';
import { aLog } from '../../fixtures/gateway/a-log.ts';
import { appendAll } from '../../fixtures/runs/appended-facts.ts';
import { project } from '../../fixtures/views/a-projection.ts';
import { copyOf } from '../../fixtures/views/copied-views.ts';
import { sqliteViews } from '../../fixtures/views/sqlite-views.ts';
import { aSweep, queuedWith, type Sweep } from './a-sweep.ts';

let open: AsyncDisposableStack;
let log: EventLog;
let views: RunViews;
beforeEach(async () => {
  open = new AsyncDisposableStack();
  ({ log } = open.use(await aLog()));
  views = open.use(sqliteViews());
  open.use(project(log, views));
  await waitFor('the projection', () => views.position());
});
afterEach(() => open.disposeAsync());

const ORG = orgId(newUuid());
const someInputs = () => jsonBlob({ id: newUuid(), prompt: 'x'.repeat(5_000) });
const present = async ({ store }: Sweep, { sha256 }: BlobRef, org = ORG): Promise<boolean> =>
  (await store.get(org, sha256)) !== undefined;
/** Sweeps until all copies are old enough. */
const sweepUntil = (what: string, { round }: Sweep, fact: () => Promise<boolean>) =>
  waitFor(what, async () => {
    await round();
    return fact();
  });

describe('a sweep of inputs and lists of outputs', () => {
  it('erases what no run refers to, and nothing else', async () => {
    const sweep = aSweep(log, views, 1_000);
    const put = (org = ORG) => sweep.store.put(org, someInputs());
    const [inputs, outputs, free, ofAnother] = [
      await put(),
      await put(),
      await put(),
      await put(orgId(newUuid())),
    ];
    const [queued, ended] = [aRun(ORG), aRun(ORG)];
    await appendAll(log, queuedWith(queued, inputs));
    await appendAll(
      log,
      queuedWith(ended, inputs),
      assigned(ended),
      started(ended),
      succeeded(ended, [], outputs),
    );
    await sweepUntil('the others to be erased', sweep, async () => sweep.erased() === 2);
    expect([await present(sweep, inputs), await present(sweep, outputs)]).toEqual([true, true]);
    expect(await present(sweep, free)).toBe(false);
    expect((await log.jsm.streams.info('BLOBS')).state.messages).toBe(2);
    expect(ofAnother.bytes).toBeGreaterThan(5_000);
  });

  it('leaves a blob that was stored a moment ago', async () => {
    const sweep = aSweep(log, views, 600_000);
    const ref = await sweep.store.put(ORG, someInputs());
    await sweep.round();
    expect(await present(sweep, ref)).toBe(true);
  });

  it('erases nothing while the views lack facts of the log', async () => {
    await using behind = sqliteViews();
    const { created } = await log.jsm.streams.info('RUNS');
    await behind.resetTo(beginningOf({ created, since: created }, 1));
    const sweep = aSweep(log, behind, 200);
    const ref = await sweep.store.put(ORG, someInputs());
    await appendAll(log, queuedWith(aRun(ORG), ref));
    await waitFor('the blob to be old', async () => {
      const { blobs, now } = await sweep.store.list(0, 10);
      return blobs.every(({ storedAt }) => now.getTime() - storedAt.getTime() > 400);
    });
    await sweep.round();
    expect([await present(sweep, ref), sweep.erased()]).toEqual([true, 0]);
  });

  it('erases nothing when the views are emptied while it asks them', async () => {
    const emptied: RunViews = {
      ...views,
      referredBlobs: async () => {
        const { created } = await log.jsm.streams.info('RUNS');
        await views.resetTo(beginningOf({ created, since: created }, 2));
        return new Set();
      },
    };
    const sweep = aSweep(log, emptied, 200);
    const ref = await sweep.store.put(ORG, someInputs());
    await waitFor('the blob to be old', async () => {
      const { blobs, now } = await sweep.store.list(0, 10);
      return blobs.every(({ storedAt }) => now.getTime() - storedAt.getTime() > 400);
    });
    await sweep.round();
    expect([await present(sweep, ref), sweep.erased()]).toEqual([true, 0]);
  });

  it('erases nothing when an older copy takes the place of the views just after they were fresh', async () => {
    await using older = await copyOf(views);
    const store = jetStreamBlobStore(log, { stream: 'BLOBS', youngForMs: 1_800_000 });
    const ref = await store.put(ORG, someInputs());
    await appendAll(log, queuedWith(aRun(ORG), ref));
    let live = views;
    const replaced: RunViews = {
      ...views,
      position: () => live.position(),
      referredBlobs: (...asked) => live.referredBlobs(...asked),
    };
    const fresh = freshViews({ log, views, timeoutMs: 5_000, clock });
    const freshAt: FreshViews['freshAt'] = async (whose) => {
      const at = await fresh.freshAt(whose);
      live = older;
      return at;
    };
    const find = unreferencedByRuns(replaced, { ...fresh, freshAt });
    const copy = await store.find(ORG, ref.sha256);
    expect(await find(copy ? [copy] : [])).toBeUndefined();
  });

  it('does not judge blobs from before the log that the views were derived from', async () => {
    await using derived = sqliteViews();
    const sweep = aSweep(log, derived, 200);
    const before = await sweep.store.put(ORG, someInputs());
    const key = aRun(ORG);
    await appendAll(log, queuedWith(key, before));
    const { created, state } = await log.jsm.streams.info('RUNS');
    const later = new Date(Date.parse(state.last_ts) + 1).toISOString();
    await derived.resetTo(beginningOf({ created, since: later }, 2));
    await derived.advance([], beginningOf({ created, since: later }, 2), {
      ...beginningOf({ created, since: later }, 2),
      sequence: state.last_seq,
    });
    await waitFor('a moment after it', () => Date.now() > Date.parse(later));
    const after = await sweep.store.put(ORG, someInputs());
    await sweepUntil('the later one to be erased', sweep, async () => !(await present(sweep, after)));
    expect(await present(sweep, before)).toBe(true);
  });

  it('beside requests never loses a blob that a run refers to', { timeout: 90_000 }, async () => {
    const ERASED_AFTER_MS = 3_000;
    const sweep = aSweep(log, views, ERASED_AFTER_MS);
    const other = aSweep(log, views, ERASED_AFTER_MS);
    const values = Array.from({ length: 40 }, someInputs);
    const NEVER_REFERRED_FROM = 35;
    const referred = new Set<string>();
    const until = performance.now() + 12_000;
    let late = 0;
    const requests = async (seed: number): Promise<void> => {
      for (let turn = seed; performance.now() < until; turn += 7) {
        const bytes = values[turn % values.length];
        if (bytes === undefined) continue;
        const begun = performance.now();
        const ref = await [sweep, other][turn % 2]?.store.put(ORG, bytes);
        // Two of three requests are refused after they stored their inputs, and all with the last of them.
        if (!ref || turn % 3 !== 0 || turn % values.length >= NEVER_REFERRED_FROM) continue;
        await new Promise((resolve) => setTimeout(resolve, (turn * 37) % 400));
        await appendAll(log, queuedWith(aRun(ORG), ref));
        if (performance.now() - begun < ERASED_AFTER_MS / 2) referred.add(ref.sha256);
        else late += 1;
      }
    };
    const sweeping = async (): Promise<void> => {
      // What no run refers to is old a while after the last request.
      while (performance.now() < until || (sweep.erased() === 0 && performance.now() < until + 30_000)) {
        await sweep.round();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    await Promise.all([sweeping(), requests(0), requests(1), requests(2)]);
    expect([sweep.erased() > 0, referred.size > 0, late < 10]).toEqual([true, true, true]);
    for (const sha256 of referred)
      expect([sha256, await present(sweep, { sha256, bytes: 1 })]).toEqual([sha256, true]);
  });
});

describe('a sweep of workflows', () => {
  const find = () => {
    const { versions } = catalogue(log);
    return unreferencedWorkflows(
      views,
      freshViews({ log, views, timeoutMs: 5_000, clock }),
      (org_id) => versions.hashes(org_id),
      async () => (await log.jsm.streams.info('KV_CATALOGUE')).created,
    );
  };
  const stored = (sha256: string, storedAt = new Date()) => ({
    org_id: ORG,
    sha256,
    bytes: 10,
    storedAt,
    copy: 1,
  });

  it('finds those that no version has and that no unfinished run needs', async () => {
    const { versions } = catalogue(log);
    const version = {
      id: newUuid(),
      org_id: ORG,
      workflow_id: newUuid(),
      created_at: '',
      workflow: { a: 1 },
      inputs: [],
    };
    const added = await versions.add({ ...version, created_at: new Date().toISOString() });
    if (added.kind !== 'added') throw new Error('too busy');
    const needed = 'b'.repeat(64);
    const key = aRun(ORG);
    const event = queuedWith(key, { sha256: 'c'.repeat(64), bytes: 1 });
    await appendAll(log, event);
    const run = event.data.workflow_sha256;
    const all = [added.version.sha256, run, needed];
    const free = await find()(all.map((sha256) => stored(sha256)));
    expect(free?.map(({ sha256 }) => sha256)).toEqual([needed]);
    expect(await find()([stored(needed, new Date(0))])).toEqual([]);
  });
});
